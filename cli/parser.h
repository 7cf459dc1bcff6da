// What a command accepts on its command line. A front of CLI11: each file that includes its headers needs ten seconds
// of a compiler, so only parser.cpp and the files of the program's start do. Names are those of CLI11.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dcmt::cli {

/// Thrown by callbacks: the words cannot mean anything. The message is printed with a hint at --help.
struct UsageError {
  std::string message;
};

/// An option or a positional argument. A handle: copies stand for the same option.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  /// True if the command line has it. To ask in the command's callback.
  [[nodiscard]] bool given() const;

  Option required() const;
  /// So many words.
  Option expected(int least, int most) const;
  /// Of a list: one value each time, so that positional arguments can follow.
  Option one_at_a_time() const;
  Option needs(Option other) const;
  Option excludes(Option other) const;
  /// The value if the command line has none is that of this variable of the environment.
  Option envname(const std::string& variable) const;

  Option positive() const;
  Option not_negative() const;
  Option range(std::int64_t least, std::int64_t most) const;
  Option range_unsigned(std::uint64_t least, std::uint64_t most) const;
  Option one_of(const std::vector<std::string>& words) const;
  /// `wrong` returns what is wrong with a value; "" if nothing is.
  Option check(const std::function<std::string(const std::string&)>& wrong) const;
  /// Bytes may be written with a unit, such as 5GiB.
  Option byte_size() const;

  /// The name of the value in the help.
  Option type_name(const std::string& name) const;
  /// The default in the help: this text, or the variable's present value.
  Option default_str(const std::string& text) const;
  Option capture_default_str() const;

 private:
  CLI::Option* option_;
};

/// The parser of one command, or of the program. A handle: copies stand for the same parser.
class Parser {
 public:
  explicit Parser(CLI::App* app) : app_(app) {}

  Parser add_subcommand(const std::string& name, const std::string& description) const;
  /// `value` must outlive the parsing. T is std::string, an integer, an optional of these, or a vector of strings.
  template <typename T>
  Option add_option(const std::string& names, T& value, const std::string& description) const;
  template <typename T>
  Option add_option_function(const std::string& names, const std::function<void(const T&)>& store,
                             const std::string& description) const;
  /// "!--no-x" sets `value` to false.
  Option add_flag(const std::string& names, bool& value, const std::string& description) const;
  void footer(const std::string& text) const;
  /// Called if the command line names this command, after all of it was read.
  void callback(const std::function<void()>& run) const;
  /// Subcommands must be named so often.
  void require_subcommand(int least, int most) const;
  /// The first word that is no option, and all words after it, are remaining().
  void prefix_command() const;

  [[nodiscard]] std::vector<std::string> remaining() const;
  [[nodiscard]] std::string version() const;
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string description() const;
  /// All of them; and whether the command line names one.
  [[nodiscard]] std::vector<Parser> subcommands() const;
  [[nodiscard]] bool subcommand_given() const;

 private:
  CLI::App* app_;
};

/// "60s" with {"s", 1} is 60. nullopt if the text is no number with one of the units.
std::optional<double> number_with_unit(std::string text, const std::map<std::string, double>& units);

}  // namespace dcmt::cli

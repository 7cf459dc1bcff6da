// The lines of a Python file, as far as rules read them: without texts, and with the functions that they are in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dcmt::analyzer {

inline constexpr std::size_t npos = std::string_view::npos;

[[nodiscard]] bool is_of_name(char letter);
/// True for "losses"; false for "", "2", "a.b".
[[nodiscard]] bool is_name(std::string_view text);
/// `text` without spaces at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);
/// The parts between separators that are in no brackets.
[[nodiscard]] std::vector<std::string_view> parts_of(std::string_view text, std::string_view separators);
/// True if is(the code before it, the code behind it) holds where the code has the name as a whole word.
template <class Is>
[[nodiscard]] bool any_place_of(std::string_view code, std::string_view name, Is is) {
  for (std::size_t at = code.find(name); at != npos; at = code.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool is_whole = (at == 0 || !is_of_name(code[at - 1])) && (end == code.size() || !is_of_name(code[end]));
    if (is_whole && is(code.substr(0, at), code.substr(end))) return true;
  }
  return false;
}
/// True if the code has the name as a whole word, and not as an attribute.
[[nodiscard]] bool has_name(std::string_view code, std::string_view name);
/// The variables to which a line of code gives values, by `=` or as a loop's variable.
[[nodiscard]] std::set<std::string_view> names_given_by(std::string_view code);
/// The attributes to which a line of code gives values, "last" of `self.last = x`.
[[nodiscard]] std::set<std::string_view> attributes_given_by(std::string_view code);
/// The position of the next `=` that gives a value, outside of brackets; npos: none.
[[nodiscard]] std::size_t equal_sign(std::string_view text, std::size_t from);
/// The position behind the brackets that open at `at`; npos if they do not close.
[[nodiscard]] std::size_t behind_brackets(std::string_view code, std::size_t at);

/// Not Python's grammar: strings, comments, brackets and indentation suffice. Code that is none is read to its end.
/// Thread-safe after construction.
class PythonSource {
 public:
  struct Line {
    std::size_t number = 0;     ///< from 1
    std::string_view bare;      ///< with spaces in place of what comments and strings contain
    std::string_view text;      ///< trimmed, without a comment behind it
    std::size_t function = 0;   ///< the innermost one that has the line, itself included; 0: none
    std::size_t statement = 0;  ///< index of the line with which its statement begins
  };

  /// What becomes of what a statement makes.
  struct Fate {
    enum class Kind : std::uint8_t {
      kUnknown,
      kNamed,     ///< its value is that of one variable
      kReturned,  ///< the calling statement has the value
      kDropped,   ///< nothing has it but what the statement gave it to: `rows.append(x.clone())`
    };
    Kind kind = Kind::kUnknown;
    std::string_view name = {};  ///< of the variable

    friend bool operator==(const Fate&, const Fate&) = default;
  };

  /// `code` must outlive it.
  explicit PythonSource(std::string_view code);
  PythonSource(const PythonSource&) = delete;
  PythonSource& operator=(const PythonSource&) = delete;

  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }
  /// The code of the whole statement that has this line, as `bare`.
  [[nodiscard]] std::string_view statement_of(const Line& line) const;
  /// The name of the innermost function that has this line; empty: none.
  [[nodiscard]] std::string_view function_of(const Line& line) const { return functions_[line.function].name; }
  /// The function around the innermost one that has this line, as Line::function.
  [[nodiscard]] std::size_t function_around(const Line& line) const { return functions_[line.function].around; }
  /// The names of all its functions.
  [[nodiscard]] std::set<std::string_view> functions() const;
  /// True if a function of this name has the line, directly or in a function within it.
  [[nodiscard]] bool is_within(const Line& line, std::string_view function) const;
  /// True if the statement that has this line gives a variable a value, and its function deletes that variable by
  /// `del`.
  [[nodiscard]] bool deletes_what_is_made_at(std::size_t number) const;
  /// The variables to which the statement that has this line gives values. Empty for a loop or comprehension, which
  /// makes several. What the statement makes is a variable's until it runs again.
  [[nodiscard]] std::set<std::string_view> given_values_at(std::size_t number) const;
  [[nodiscard]] Fate fate_of_what_is_made_at(std::size_t number) const;
  /// The variables that are deleted together with this one by a `del` of the function that has this line, itself
  /// included. Without those that several `del` delete. Empty if none deletes it.
  [[nodiscard]] std::set<std::string_view> deleted_with(std::size_t number, std::string_view variable) const;
  /// True if the function that has this line gives the variable's value to another variable, `b = a`, or to its caller.
  [[nodiscard]] bool gives_to_another(std::size_t number, std::string_view variable) const;
  /// True if that function gives the variable's value to its caller, `return a`, and to nothing else.
  [[nodiscard]] bool returns(std::size_t number, std::string_view variable) const;
  /// True if one statement alone of that function gives the variable a value.
  [[nodiscard]] bool gives_once(std::size_t number, std::string_view variable) const;
  /// True if the statement that has this line gives an entry a value, `seen[key] = x`, that its function gives to its
  /// caller, `return seen[key]`.
  [[nodiscard]] bool returns_entry(std::size_t number) const;
  /// The number of the line with which the innermost loop begins that has both lines; 0: there is none.
  [[nodiscard]] std::size_t loop_around(std::size_t first, std::size_t last) const;
  /// True if the line begins a loop: its body may be in the same line.
  [[nodiscard]] bool is_loop(std::size_t number) const;
  /// The number of the last line of the block that a line begins.
  [[nodiscard]] std::size_t end_of_block(std::size_t number) const;
  /// The line with which the statement begins that has this line; 0: there is none.
  [[nodiscard]] std::size_t statement_at(std::size_t number) const;

 private:
  struct Function {
    std::string_view name;
    std::size_t around = 0;              ///< 0: none
    std::set<std::string_view> deleted;  ///< variables in its `del` statements
  };
  void add_line(std::size_t number, std::string_view bare, std::string_view text);
  /// True if one of the statements of the function that has this line is such.
  [[nodiscard]] bool any_statement(std::size_t number, const std::function<bool(std::string_view)>& is) const;
  /// Indentation of the statement that begins at a line; npos: none begins there.
  [[nodiscard]] std::size_t indent_at(std::size_t number) const;
  static void note_deleted(std::string_view statements, Function& function);

  const std::string bare_;
  std::vector<Line> lines_;
  std::vector<Function> functions_{1};  ///< the first one stands for the file
  struct Open {
    std::size_t indent = 0, function = 0;
  };
  std::vector<Open> open_;  ///< functions that have not ended, while lines are added
  int depth_ = 0;           ///< of brackets
};

}  // namespace dcmt::analyzer

#include "cli/parser.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "cli/text.h"
#include "trace/base/closest_word.h"

namespace dcmt::cli {
namespace {

std::function<std::string(const std::string&)> whole_number_from(std::int64_t least) {
  return [least](const std::string& text) -> std::string {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_whole = error == std::errc() && end == text.data() + text.size();
    return is_whole && number >= least ? "" : "'" + text + "' is no whole number from " + std::to_string(least) + " on";
  };
}

}  // namespace

bool Option::given() const { return !option_->empty(); }

Option Option::required() const { return Option(option_->required()); }
Option Option::expected(int least, int most) const { return Option(option_->expected(least, most)); }
Option Option::one_at_a_time() const { return Option(option_->allow_extra_args(false)); }
Option Option::needs(Option other) const { return Option(option_->needs(other.option_)); }
Option Option::excludes(Option other) const { return Option(option_->excludes(other.option_)); }
Option Option::envname(const std::string& variable) const { return Option(option_->envname(variable)); }

Option Option::positive() const { return Option(option_->check(whole_number_from(1), "POSITIVE")); }
Option Option::not_negative() const { return Option(option_->check(whole_number_from(0), "NONNEGATIVE")); }
Option Option::range(std::int64_t least, std::int64_t most) const {
  return Option(option_->check(CLI::Range(least, most)));
}
Option Option::range_unsigned(std::uint64_t least, std::uint64_t most) const {
  return Option(option_->check(CLI::Range(least, most)));
}
Option Option::one_of(const std::vector<std::string>& words) const {
  const auto wrong = [words](const std::string& given) -> std::string {
    if (std::ranges::find(words, given) != words.end()) return {};
    return "'" + given + "' is none of " + joined(words, ", ") + "." + did_you_mean(given, words);
  };
  return Option(option_->check(wrong, "{" + joined(words, ",") + "}"));
}
Option Option::check(const std::function<std::string(const std::string&)>& wrong) const {
  return Option(option_->check(wrong));
}
Option Option::byte_size() const { return Option(option_->transform(CLI::AsSizeValue(false))); }

Option Option::type_name(const std::string& name) const { return Option(option_->type_name(name)); }
Option Option::default_str(const std::string& text) const { return Option(option_->default_str(text)); }
Option Option::capture_default_str() const { return Option(option_->capture_default_str()); }

Parser Parser::add_subcommand(const std::string& name, const std::string& description) const {
  return Parser(app_->add_subcommand(name, description));
}

template <typename T>
Option Parser::add_option(const std::string& names, T& value, const std::string& description) const {
  return Option(app_->add_option(names, value, description));
}
template <typename T>
Option Parser::add_option_function(const std::string& names, const std::function<void(const T&)>& store,
                                   const std::string& description) const {
  return Option(app_->add_option_function<T>(names, store, description));
}
template Option Parser::add_option(const std::string&, std::string&, const std::string&) const;
template Option Parser::add_option(const std::string&, std::int32_t&, const std::string&) const;
template Option Parser::add_option(const std::string&, std::int64_t&, const std::string&) const;
template Option Parser::add_option(const std::string&, std::uint32_t&, const std::string&) const;
template Option Parser::add_option(const std::string&, std::uint64_t&, const std::string&) const;
template Option Parser::add_option(const std::string&, std::optional<std::string>&, const std::string&) const;
template Option Parser::add_option(const std::string&, std::optional<std::int64_t>&, const std::string&) const;
template Option Parser::add_option(const std::string&, std::vector<std::string>&, const std::string&) const;
template Option Parser::add_option_function(const std::string&, const std::function<void(const std::string&)>&,
                                            const std::string&) const;
template Option Parser::add_option_function(const std::string&, const std::function<void(const std::int32_t&)>&,
                                            const std::string&) const;
template Option Parser::add_option_function(const std::string&, const std::function<void(const std::int64_t&)>&,
                                            const std::string&) const;

Option Parser::add_flag(const std::string& names, bool& value, const std::string& description) const {
  return Option(app_->add_flag(names, value, description));
}
void Parser::footer(const std::string& text) const { app_->footer(text); }
void Parser::callback(const std::function<void()>& run) const { app_->callback(run); }
void Parser::require_subcommand(int least, int most) const {
  app_->require_subcommand(static_cast<std::size_t>(least), static_cast<std::size_t>(most));
}
void Parser::prefix_command() const { app_->prefix_command(); }

std::vector<std::string> Parser::remaining() const { return app_->remaining(); }
std::string Parser::version() const { return app_->version(); }
std::string Parser::name() const { return app_->get_name(); }
std::string Parser::description() const { return app_->get_description(); }
std::vector<Parser> Parser::subcommands() const {
  std::vector<Parser> all;
  for (CLI::App* const each : app_->get_subcommands(nullptr)) all.emplace_back(each);
  return all;
}
bool Parser::subcommand_given() const { return !app_->get_subcommands().empty(); }

std::optional<double> number_with_unit(std::string text, const std::map<std::string, double>& units) {
  const CLI::AsNumberWithUnit convert(units, CLI::AsNumberWithUnit::UNIT_REQUIRED);
  return convert(text).empty() ? std::optional(std::stod(text)) : std::nullopt;
}

}  // namespace dcmt::cli

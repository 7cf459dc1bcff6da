#include "cli/lint_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "cli/json_values.h"

namespace dcmt::cli {
namespace {

using analyzer::AliasConsequence;
using analyzer::AliasFact;
using analyzer::name_of;

constexpr std::size_t kStatement = 80;  // characters of a source line

std::string storage_text(const UndeletedStorage& storage, const Style& style) {
  std::string text = fmt::format("{:>6}  {}\n", storage.line, cut(storage.statement, kStatement));
  text += fmt::format("        last used line {}{}; kept to the return, line {}, past {}\n", storage.last_use,
                      storage.release_line ? fmt::format(", released line {}", *storage.release_line) : "",
                      storage.return_line, counted(storage.calls_after, "call"));
  for (const UndeletedName& name : storage.names) {
    text += fmt::format("{:>6}  {}   {}\n", name.line, left(cut(name.statement, kStatement), 30),
                        style.bad(fmt::format("no `del {}` after line {}", name.name, name.delete_line)));
  }
  if (!storage.deleted.empty()) text += fmt::format("        deleted: {}\n", fmt::join(storage.deleted, ", "));
  return text;
}

Json name_json(const UndeletedName& name) {
  return {{"name", name.name},
          {"line", name.line},
          {"statement", name.statement},
          {"aliases", name.aliases.empty() ? Json() : Json(name.aliases)},
          {"missing_delete_after", name.delete_line}};
}

Json storage_json(const UndeletedStorage& storage) {
  Json names = Json::array();
  for (const UndeletedName& name : storage.names) names.push_back(name_json(name));
  return {{"function", storage.function},       {"line", storage.line},
          {"statement", storage.statement},     {"operator", storage.call.empty() ? Json() : Json(storage.call)},
          {"names", std::move(names)},          {"deleted_names", storage.deleted},
          {"last_use_line", storage.last_use},  {"release_line", optional_json(storage.release_line)},
          {"return_line", storage.return_line}, {"calls_after", storage.calls_after}};
}

Json operator_json(const LintedOperator& one) {
  Json facts = Json::array();
  for (const AliasFact& fact : one.aliases.facts) {
    facts.push_back({{"output", fact.output},
                     {"argument", fact.argument},
                     {"argument_name", fact.argument_name},
                     {"declared", fact.declared},
                     {"observed", fact.observed},
                     {"consequence", name_of(fact.consequence())}});
  }
  return {
      {"trace", one.trace}, {"name", one.aliases.name}, {"schema", one.aliases.schema}, {"aliases", std::move(facts)}};
}

std::string fact_text(const AliasFact& fact, const Style& style) {
  const std::string argument =
      fact.argument_name.empty() ? fmt::format("argument {}", fact.argument) : fact.argument_name;
  switch (fact.consequence()) {
    case AliasConsequence::kEarly:
      return style.bad(fmt::format("output {} is {} in memory, the schema hides it", fact.output, argument)) +
             fmt::format("\n        early: a compiler deletes or reuses {} while the output is still to be read\n",
                         argument);
    case AliasConsequence::kLate:
      return style.bad(fmt::format("output {} is said to be {}, and never was", fact.output, argument)) +
             fmt::format("\n        late: a compiler keeps {} as long as the output\n", argument);
    case AliasConsequence::kNone:
      break;
  }
  return fmt::format("output {} is {}, as declared\n", fact.output, argument);
}

/// All that were looked at: that they agree is worth a line too.
std::string operators_text(const std::vector<LintedOperator>& operators, const Style& style) {
  if (operators.empty()) return {};
  const auto wrong = std::count_if(operators.begin(), operators.end(),
                                   [](const LintedOperator& one) { return !one.aliases.agrees(); });
  std::string text =
      style.bold(wrong == 0 ? fmt::format("{}: what they share with their arguments is what their schemas say.",
                                          counted(static_cast<std::int64_t>(operators.size()), "operator"))
                            : fmt::format("{} of {} {} not with the arguments that the schema says.", wrong,
                                          counted(static_cast<std::int64_t>(operators.size()), "operator"),
                                          wrong == 1 ? "shares memory" : "share memory"));
  text += "\n\n";
  for (const LintedOperator& one : operators) {
    text += fmt::format("{}\n", one.aliases.schema);
    if (one.aliases.facts.empty()) text += "    shares nothing, as declared\n";
    for (const AliasFact& fact : one.aliases.facts) text += "    " + fact_text(fact, style);
  }
  return text + "\n";
}

}  // namespace

bool Linted::found() const {
  return std::any_of(files.begin(), files.end(), [](const LintedFile& file) { return !file.storages.empty(); }) ||
         std::any_of(operators.begin(), operators.end(),
                     [](const LintedOperator& one) { return !one.aliases.agrees(); });
}

std::string lint_text(const Linted& linted, const Style& style) {
  const std::vector<LintedFile>& files = linted.files;
  const std::string operators = operators_text(linted.operators, style);
  std::int64_t storages = 0;
  std::set<std::tuple<std::string, std::int64_t, std::string>> distinct;  // a tuple's name keeps several storages
  std::string body;
  std::string errors;
  for (const LintedFile& file : files) {
    if (!file.error.empty()) {
      errors += fmt::format("note: {} cannot be parsed by this Python: {}; name a newer one with --python\n", file.path,
                            file.error);
    }
    std::string function;
    for (const UndeletedStorage& storage : file.storages) {
      ++storages;
      for (const UndeletedName& name : storage.names) distinct.emplace(file.path, name.line, name.name);
      if (storage.function != function) {
        function = storage.function;
        const std::string copy = file.trace.empty() ? "" : "   copied in " + file.trace;
        body += fmt::format("\n{}  {}{}\n", style.bold(file.path), function, copy);
      }
      body += storage_text(storage, style);
    }
  }
  const auto names = static_cast<std::int64_t>(distinct.size());
  const std::string looked = counted(static_cast<std::int64_t>(files.size()), "generated file");
  if (storages == 0) {
    // Of a trace without generated code there is nothing to say of that.
    return operators + (files.empty() && !operators.empty() ? "" : fmt::format("No finding in {}.\n", looked)) + errors;
  }
  return operators +
         style.bold(fmt::format("{} never deleted, though what {} is dead: {} in {}.",
                                names == 1 ? "1 name is" : grouped(names) + " names are",
                                names == 1 ? "it names" : "they name", counted(storages, "storage"), looked)) +
         "\n" + body + errors;
}

Json lint_json(const Linted& linted) {
  Json list = Json::array();
  for (const LintedFile& file : linted.files) {
    Json storages = Json::array();
    for (const UndeletedStorage& storage : file.storages) storages.push_back(storage_json(storage));
    list.push_back({{"path", file.path},
                    {"trace", file.trace.empty() ? Json() : Json(file.trace)},
                    {"error", file.error.empty() ? Json() : Json(file.error)},
                    {"storages", std::move(storages)}});
  }
  Json operators = Json::array();
  for (const LintedOperator& one : linted.operators) operators.push_back(operator_json(one));
  return {
      {"version", kJsonVersion}, {"command", "lint"}, {"operators", std::move(operators)}, {"files", std::move(list)}};
}

}  // namespace dcmt::cli

#include "cli/lint_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dcmt::cli {
namespace {

using analyzer::AliasConsequence;
using analyzer::AliasFact;
using analyzer::Linted;
using analyzer::LintedFile;
using analyzer::LintedOperator;
using analyzer::UndeletedName;
using analyzer::UndeletedStorage;

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

/// All inspected operators. Agreement is also reported.
std::string operators_text(const Linted& linted, const Style& style) {
  const std::vector<LintedOperator>& operators = linted.operators;
  if (operators.empty()) return {};
  const std::int64_t wrong = linted.disagreeing();
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

std::string lint_text(const Linted& linted, const Style& style) {
  const std::vector<LintedFile>& files = linted.files;
  const std::string operators = operators_text(linted, style);
  const std::int64_t storages = linted.storages();
  std::string body;
  std::string errors;
  for (const LintedFile& file : files) {
    if (!file.error.empty()) {
      errors += fmt::format("note: {} cannot be parsed by this Python: {}; name a newer one with --python\n", file.path,
                            file.error);
    }
    std::string function;
    for (const UndeletedStorage& storage : file.storages) {
      if (storage.function != function) {
        function = storage.function;
        const std::string copy = file.trace.empty() ? "" : "   copied in " + file.trace;
        body += fmt::format("\n{}  {}{}\n", style.bold(file.path), function, copy);
      }
      body += storage_text(storage, style);
    }
  }
  const std::int64_t names = linted.names();
  const std::string checked = counted(static_cast<std::int64_t>(files.size()), "generated file");
  if (storages == 0) {
    // A trace without generated code gets no line about generated code.
    return operators + (files.empty() && !operators.empty() ? "" : fmt::format("No finding in {}.\n", checked)) +
           errors;
  }
  return operators +
         style.bold(fmt::format("{} never deleted, though what {} is dead: {} in {}.",
                                names == 1 ? "1 name is" : grouped(names) + " names are",
                                names == 1 ? "it names" : "they name", counted(storages, "storage"), checked)) +
         "\n" + body + errors;
}

}  // namespace dcmt::cli

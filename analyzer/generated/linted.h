// The result of `lint`: names in generated wrappers that are never deleted, and operators whose schemas do not declare
// what they share with their arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/generated/operator_aliases.h"

namespace dcmt::analyzer {

/// The text, or nullopt if it is empty.
[[nodiscard]] inline std::optional<std::string_view> not_empty(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

/// A name that is not deleted between the last use of its object and the return.
struct UndeletedName {
  std::string name;
  std::int64_t line = 0;         ///< the line of its assignment
  std::string statement;         ///< the assignment
  std::string aliases;           ///< the name that it is a copy of; empty: it is the first name
  std::int64_t delete_line = 0;  ///< the line of its last use, after which it could be deleted

  static constexpr std::string_view kShape = "undeleted_name";
  static void describe(auto&& field) {
    field("name", &UndeletedName::name, "");
    field("line", &UndeletedName::line, "");
    field("statement", &UndeletedName::statement, "");
    field(
        "aliases", [](const UndeletedName& name) { return not_empty(name.aliases); },
        "the name that it repeats; null: it is the first");
    field("missing_delete_after", &UndeletedName::delete_line, "line of its own last use");
  }
};

/// One storage that is kept until the return by such names.
struct UndeletedStorage {
  std::string function;  ///< "Runner.call"
  std::int64_t line = 0;
  std::string statement;             ///< the statement that made it; for an argument: the line that unpacks it
  std::string call;                  ///< the operator that made it, "mylib::allgather_param", if there is one
  std::vector<std::string> deleted;  ///< its names that are deleted
  std::vector<UndeletedName> names;
  std::int64_t last_use = 0;  ///< last use of any of its names
  std::int64_t return_line = 0;
  std::int64_t calls_after = 0;              ///< between last use and return
  std::optional<std::int64_t> release_line;  ///< the first call with "release" in its name and the same numbers

  static constexpr std::string_view kShape = "undeleted_storage";
  static void describe(auto&& field) {
    field("function", &UndeletedStorage::function, "\"Runner.call\"");
    field("line", &UndeletedStorage::line, "where it got its first name, or the tuple that it is an element of");
    field("statement", &UndeletedStorage::statement, "");
    field(
        "operator", [](const UndeletedStorage& storage) { return not_empty(storage.call); },
        "that made it; null: an argument, or no operator");
    field("names", &UndeletedStorage::names, "");
    field("deleted_names", &UndeletedStorage::deleted, "");
    field("last_use_line", &UndeletedStorage::last_use, "of any of its names");
    field("release_line", &UndeletedStorage::release_line,
          "of the release with the same two first numbers among its arguments");
    field("return_line", &UndeletedStorage::return_line, "");
    field("calls_after", &UndeletedStorage::calls_after, "between last use and return");
  }
};

/// One generated file that was inspected.
struct LintedFile {
  std::string path;
  std::string trace;  ///< the trace that has a copy of it; empty: the file itself was read
  std::string error;  ///< why the file cannot be parsed; empty: it was parsed
  std::vector<UndeletedStorage> storages;

  static constexpr std::string_view kShape = "linted_file";
  static void describe(auto&& field) {
    field("path", &LintedFile::path, "");
    field(
        "trace", [](const LintedFile& file) { return not_empty(file.trace); },
        "that has a copy of it; null: it was read itself");
    field(
        "error", [](const LintedFile& file) { return not_empty(file.error); },
        "why Python cannot parse it; null: it can");
    field("storages", &LintedFile::storages, "in order of the lines");
  }
};

/// An operator that has calls in a trace.
struct LintedOperator {
  std::string trace;
  OperatorAliases aliases;

  static constexpr std::string_view kShape = "linted_operator";
  static void describe(auto&& field) {
    field("trace", &LintedOperator::trace, "");
    field(
        "name", [](const LintedOperator& one) { return one.aliases.name; }, "with its overload");
    field(
        "schema", [](const LintedOperator& one) { return one.aliases.schema; }, "");
    field(
        "aliases", [](const LintedOperator& one) { return one.aliases.facts; }, "declared or observed; none: neither");
  }
};

struct Linted {
  std::vector<LintedFile> files;
  std::vector<LintedOperator> operators;

  [[nodiscard]] bool found() const;
  /// Number of storages that are kept until the return by names that are never deleted.
  [[nodiscard]] std::int64_t storages() const;
  /// Number of those names; a name that keeps several storages counts once.
  [[nodiscard]] std::int64_t names() const;
  /// Number of operators whose schema and calls disagree.
  [[nodiscard]] std::int64_t disagreeing() const;

  static constexpr std::string_view kShape = "lint";
  static void describe(auto&& field) {
    field("operators", &Linted::operators,
          "of traces: those of the tables and, with `--detail full`, all that are not torch's own, by name");
    field("files", &Linted::files, "generated ones; other files are not in it");
  }
};

}  // namespace dcmt::analyzer

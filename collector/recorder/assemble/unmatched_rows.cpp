#include "collector/recorder/assemble/unmatched_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "trace/sql/database.h"

namespace dcmt::recorder {
namespace {

/// An event in the traces: an operator or a function, and its recorded role.
struct Seen {
  bool function = false;
  std::string role, name;
  friend auto operator<=>(const Seen&, const Seen&) = default;  // NOLINT(modernize-use-nullptr)
};

constexpr char kMarks[] =
    "SELECT DISTINCT m.kind, s.text, instr(',' || coalesce(m.flags, '') || ',', ',function,') > 0"
    " FROM mark m JOIN string s ON s.id = m.name WHERE m.kind IN ('gather', 'wait', 'persist', 'release')";
constexpr char kObserved[] = "SELECT DISTINCT s.text FROM operator_alias a JOIN string s ON s.id = a.name";

Status add_seen(const std::string& trace, std::set<Seen>& seen) {
  DCMT_ASSIGN_OR_RETURN(Database database, Database::open(trace, OpenMode::kRead));
  DCMT_RETURN_IF_ERROR(each_row(database, kMarks, [&](const Statement& row) {
    seen.insert({row.integer(2) != 0, std::string(row.text(0)), std::string(row.text(1))});
  }));
  return each_row(database, kObserved, [&](const Statement& row) {
    seen.insert({false, "observe", std::string(row.text(0))});
  });
}

/// The name without its overload: "mylib::wait" of "mylib::wait.default".
std::string plain(const std::string& name) {
  const std::size_t colons = name.find("::");
  return colons == std::string::npos ? name : name.substr(0, name.find('.', colons));
}

bool matches(const TableRow& row, const Seen& seen) {
  if (row.function) return seen.function && seen.role == row.role && seen.name == row.pattern;
  return !seen.function && seen.role == row.role &&
         (fnmatch(row.pattern.c_str(), seen.name.c_str(), 0) == 0 ||
          fnmatch(row.pattern.c_str(), plain(seen.name).c_str(), 0) == 0);
}

/// Other roles that the run has for the row's name; empty: none.
std::string other_roles(const TableRow& row, const std::set<Seen>& seen) {
  std::set<std::string> roles;
  for (const Seen& one : seen) {
    TableRow other = row;
    other.role = one.role;
    if (one.role != "observe" && matches(other, one)) roles.insert(one.role);
  }
  return fmt::format("{}", fmt::join(roles, " and "));
}

}  // namespace

Expected<std::vector<std::string>> unmatched_rows(const std::vector<TableRow>& rows,
                                                  const std::vector<std::string>& traces) {
  std::vector<std::string> lines;
  if (rows.empty() || traces.empty()) return lines;
  std::set<Seen> seen;
  for (const std::string& trace : traces) DCMT_RETURN_IF_ERROR(add_seen(trace, seen));
  for (const TableRow& row : rows) {
    if (std::any_of(seen.begin(), seen.end(), [&](const Seen& one) { return matches(row, one); })) continue;
    const std::string other = other_roles(row, seen);
    lines.push_back(fmt::format("{}:{}: no {} of the run matched '{}' as {}{}", row.path, row.line,
                                row.function ? "function" : "operator", row.pattern, row.role,
                                other.empty() ? ": is it spelt as it is registered, and was it called?"
                                              : fmt::format("; it was recorded as {}", other)));
  }
  return lines;
}

}  // namespace dcmt::recorder

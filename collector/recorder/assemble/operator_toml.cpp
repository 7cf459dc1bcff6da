#include "collector/recorder/assemble/operator_toml.h"

#include <fnmatch.h>
#include <toml++/toml.h>
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>

#include "collector/agent/environment.h"
#include "trace/base/read_file.h"

namespace dcmt::recorder {
namespace {

Error bad(const std::string& path, const toml::source_region& where, const std::string& what) {
  return {ErrorCode::kBadInput, path + ":" + std::to_string(where.begin.line) + ": " + what};
}

using Fields = std::set<std::string_view>;

/// Fails unless every field of the row is a known one and a text.
Status check_fields(const std::string& path, const toml::table& row, const Fields& known) {
  for (const auto& [name, value] : row) {
    if (!known.contains(name.str())) {
      std::string fields;
      for (const std::string_view field : known) fields.append(fields.empty() ? "" : ", ").append(field);
      return bad(path, name.source(),
                 "unknown field '" + std::string(name.str()) + "'; the fields of this row are " + fields);
    }
    if (!value.is_string()) return bad(path, value.source(), "'" + std::string(name.str()) + "' must be a string");
    const auto& text = value.as_string()->get();
    if (text.empty() || text.find_first_of("\t\n") != std::string::npos) {
      return bad(path, value.source(), "'" + std::string(name.str()) + "' is empty or has a tab or line break");
    }
  }
  return {};
}

std::string field(const toml::table& row, std::string_view name) { return row[name].value_or(std::string()); }

std::string line_of(const toml::table& row, std::initializer_list<const char*> names) {
  std::string line;
  for (const char* name : names) line += field(row, name) + '\t';
  line.back() = '\n';
  return line;
}

/// Fails if an earlier row of the same file matches everything that this row would match: earlier rows have priority.
Status check_reached(const std::string& path, const toml::table& row, const OperatorTables& tables) {
  const std::string pattern = field(row, "pattern");
  for (const TableRow& earlier : tables.rows) {
    if (earlier.function || earlier.path != path || fnmatch(earlier.pattern.c_str(), pattern.c_str(), 0) != 0) continue;
    return bad(path, row.source(),
               "'" + pattern + "' is never reached: the row of line " + std::to_string(earlier.line) + " ('" +
                   earlier.pattern + "') comes first and matches it; put this row before that one");
  }
  return {};
}

Status add_operator(const std::string& path, const toml::table& row, OperatorTables& tables) {
  DCMT_RETURN_IF_ERROR(check_fields(path, row, {"pattern", "role", "graph", "key", "count", "tensor"}));
  const std::string role = field(row, "role");
  if (field(row, "pattern").find("::") == std::string::npos) {
    return bad(path, row.source(), "'pattern' must be namespace::name, for example \"dc::release_param\"");
  }
  if (role != "gather" && role != "wait" && role != "persist" && role != "release" && role != "observe") {
    return bad(path, row.source(), "'role' must be gather, wait, persist, release or observe");
  }
  if (role != "observe" && field(row, "key").empty()) {
    return bad(path, row.source(), "'key' (the argument that names the parameter) is missing");
  }
  if (role != "release" && !field(row, "count").empty()) return bad(path, row.source(), "only a release has a 'count'");
  DCMT_RETURN_IF_ERROR(check_reached(path, row, tables));
  tables.agent += line_of(row, {"pattern", "role", "graph", "key", "count", "tensor"});
  tables.rows.push_back({path, row.source().begin.line, false, field(row, "pattern"), role});
  if (role == "wait" || role == "release") tables.waits_and_releases.push_back(field(row, "pattern"));
  return {};
}

Status add_function(const std::string& path, const toml::table& row, OperatorTables& tables) {
  DCMT_RETURN_IF_ERROR(check_fields(
      path, row, {"file", "function", "role", "event", "mechanism", "key", "persistent", "owner", "name"}));
  const std::string role = field(row, "role");
  const std::string event = field(row, "event");
  for (const char* name : {"file", "function", "mechanism"}) {
    if (field(row, name).empty()) return bad(path, row.source(), "'" + std::string(name) + "' is missing");
  }
  if (role != "gather" && role != "release") return bad(path, row.source(), "'role' must be gather or release");
  if (event != "move" && event != "resize" && event != "birth") {
    return bad(path, row.source(), "'event' must be move, resize or birth");
  }
  if (event == "birth" && role == "release") return bad(path, row.source(), "a birth releases nothing");
  if (event == "move" && field(row, "key").empty()) {
    return bad(path, row.source(), "'key' (the tensor's attribute that numbers the parameter) is missing");
  }
  if (field(row, "owner").empty() != field(row, "name").empty()) {
    return bad(path, row.source(), "'owner' (a variable) and 'name' (its attribute) come together");
  }
  ++tables.functions;
  tables.rows.push_back({path, row.source().begin.line, true, field(row, "function"), role});
  tables.agent += "function\t" + line_of(row, {"file", "function", "role", "event", "mechanism", "key", "persistent",
                                               "owner", "name"});
  return {};
}

Status add_origin(const std::string& path, const toml::table& row, OperatorTables& tables) {
  DCMT_RETURN_IF_ERROR(check_fields(path, row, {"origin", "operator", "file", "function", "purpose"}));
  if (field(row, "origin").empty()) return bad(path, row.source(), "'origin' (what it is called) is missing");
  if (field(row, "operator").empty() == field(row, "file").empty()) {
    return bad(path, row.source(), "an origin is known by its 'operator' or by a 'file'");
  }
  if (field(row, "file").empty() && !field(row, "function").empty()) {
    return bad(path, row.source(), "'function' needs its 'file'");
  }
  if (const std::string purpose = field(row, "purpose"); !purpose.empty() && purpose != "trial") {
    return bad(path, row.source(), "'purpose' must be trial, or be left out");
  }
  tables.origins += line_of(row, {"origin", "operator", "file", "function", "purpose"});
  return {};
}

/// Fails if the tables exceed the agent's limits; the agent would silently ignore the rest.
Status check_fits(const std::string& path, const OperatorTables& tables) {
  if (tables.functions <= agent::kMaxTableFunctions && tables.agent.size() <= agent::kMaxTableBytes) return {};
  return Error{ErrorCode::kBadInput, path + ": too many rows, with those known out of the box: at most " +
                                         std::to_string(agent::kMaxTableFunctions) + " functions and " +
                                         std::to_string(agent::kMaxTableBytes) +
                                         " bytes of operators and functions are taken"};
}

using AddRow = Status (*)(const std::string&, const toml::table&, OperatorTables&);
const std::map<std::string_view, AddRow> kKinds = {
    {"operator", add_operator}, {"function", add_function}, {"origin", add_origin}};

}  // namespace

Expected<OperatorTables> compile_operator_tables(const std::vector<std::string>& paths) {
  OperatorTables tables;
  for (const std::string& path : paths) {
    const std::optional<std::string> text = read_file(path);
    if (!text) return Error{ErrorCode::kBadInput, path + ": the table of operators cannot be read"};
    const auto rows_before = static_cast<std::ptrdiff_t>(tables.rows.size());
    toml::table document;
    try {
      document = toml::parse(*text, path);
    } catch (const toml::parse_error& error) {
      return bad(path, error.source(), std::string(error.description()));
    }
    for (const auto& [name, value] : document) {
      const auto kind = kKinds.find(name.str());
      if (kind == kKinds.end() || !value.is_array_of_tables()) {
        return bad(path, name.source(),
                   "expected [[operator]], [[function]] or [[origin]] tables, found '" + std::string(name.str()) + "'");
      }
      for (const auto& row : *value.as_array()) {
        DCMT_RETURN_IF_ERROR(kind->second(path, *row.as_table(), tables));
      }
    }
    std::sort(tables.rows.begin() + rows_before, tables.rows.end(),
              [](const TableRow& a, const TableRow& b) { return a.line < b.line; });
  }
  if (!paths.empty()) DCMT_RETURN_IF_ERROR(check_fits(paths.front(), tables));
  return tables;
}

}  // namespace dcmt::recorder

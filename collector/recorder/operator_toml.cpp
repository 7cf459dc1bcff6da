#include "collector/recorder/operator_toml.h"

#include <toml++/toml.h>
#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

namespace dcmt::recorder {
namespace {

Error bad(const std::string& path, const toml::source_region& where, const std::string& what) {
  return {ErrorCode::kBadInput, path + ":" + std::to_string(where.begin.line) + ": " + what};
}

Expected<std::string> line_of(const std::string& path, const toml::table& row) {
  static const std::set<std::string_view> kKnown = {"pattern", "role", "graph", "key", "count", "tensor"};
  for (const auto& [name, value] : row) {
    if (!kKnown.contains(name.str()))
      return bad(path, name.source(), "unknown field '" + std::string(name.str()) + "'");
    if (!value.is_string()) return bad(path, value.source(), "'" + std::string(name.str()) + "' must be a string");
    const auto& text = value.as_string()->get();
    if (text.empty() || text.find_first_of("\t\n") != std::string::npos) {
      return bad(path, value.source(), "'" + std::string(name.str()) + "' is empty or has a tab or line break");
    }
  }
  const auto field = [&](const char* name) { return row[name].value_or(std::string()); };
  const std::string role = field("role");
  if (field("pattern").find("::") == std::string::npos) {
    return bad(path, row.source(), "'pattern' must be namespace::name, for example \"dc::release_param\"");
  }
  if (role != "gather" && role != "wait" && role != "persist" && role != "release") {
    return bad(path, row.source(), "'role' must be gather, wait, persist or release");
  }
  if (field("key").empty()) return bad(path, row.source(), "'key' (the argument that names the parameter) is missing");
  if (role != "release" && !field("count").empty()) return bad(path, row.source(), "only a release has a 'count'");
  return field("pattern") + '\t' + role + '\t' + field("graph") + '\t' + field("key") + '\t' + field("count") + '\t' +
         field("tensor") + '\n';
}

}  // namespace

Expected<std::string> compile_operator_tables(const std::vector<std::string>& paths) {
  std::string lines;
  for (const std::string& path : paths) {
    std::ifstream file(path);
    if (!file) return Error{ErrorCode::kBadInput, path + ": the table of operators cannot be read"};
    std::stringstream text;
    text << file.rdbuf();
    toml::table table;
    try {
      table = toml::parse(text.str(), path);
    } catch (const toml::parse_error& error) {
      return bad(path, error.source(), std::string(error.description()));
    }
    for (const auto& [name, value] : table) {
      if (name.str() != "operator" || !value.is_array_of_tables()) {
        return bad(path, name.source(), "expected [[operator]] tables, found '" + std::string(name.str()) + "'");
      }
      for (const auto& row : *value.as_array()) {
        Expected<std::string> line = line_of(path, *row.as_table());
        if (!line.ok()) return line.error();
        lines += *line;
      }
    }
  }
  return lines;
}

}  // namespace dcmt::recorder

// The text of a baseline.
#include <nlohmann/json.hpp>

#include <limits>
#include <utility>

#include "analyzer/gate/baseline.h"
#include "analyzer/gate/day.h"
#include "analyzer/gate/judge.h"
#include "trace/base/printable.h"

namespace dcmt::gate {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

std::string one_line(const Json& json) {
  // Adds a space after each comma and colon, as people write it, but not within strings.
  const std::string dense = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string text;
  bool quoted = false;
  for (std::size_t i = 0; i < dense.size(); ++i) {
    text += dense[i];
    if (quoted && dense[i] == '\\') {
      text += dense[++i];
    } else if (dense[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && (dense[i] == ',' || dense[i] == ':')) {
      text += ' ';
    }
  }
  return text;
}

Json fact_json(const BaselineFact& fact) {
  Json json;
  json[fact.unit == Unit::kBytes ? "bytes" : "count"] = fact.value;
  if (fact.tolerance != 0) json["tolerance"] = fact.tolerance;
  if (fact.optional) json["optional"] = true;
  json["anchor"] = fact.anchor;
  json["since"] = fact.since;
  if (!fact.composition.empty()) json["of"] = fact.composition;
  return json;
}

Json workload_json(const Section& section) {
  Json json{{"arguments", section.arguments}, {"ranks", section.ranks}, {"steps", section.steps}};
  json["sizes"] = Json::array();
  for (const Bytes size : section.sizes) json["sizes"].push_back(size.value);
  return json;
}

/// Reads values of a document that people may have edited.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] Status wrong(const std::string& where, const std::string& what) const {
    return {ErrorCode::kBadInput, path_ + ": " + printable(where) + " " + what + ". See docs/check.md."};
  }
  Status integer(const Json& json, const std::string& where, const char* key, std::int64_t& value) const {
    const auto found = json.find(key);
    return found != json.end() ? integer(*found, where + "." + key, value) : Status();
  }
  Status integer(const Json& json, const std::string& where, std::int64_t& value) const {
    const bool large = json.is_number_unsigned() &&
                       json.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())
                                                       << 20;
    if (!json.is_number_integer() || large) return wrong(where, "is not a whole number");
    value = json.get<std::int64_t>();
    if (value < -(std::int64_t{1} << 50) || value > std::int64_t{1} << 51) return wrong(where, "is too large");
    return {};
  }
  Status text(const Json& json, const std::string& where, const char* key, std::string& value) const {
    const auto found = json.find(key);
    if (found == json.end()) return {};
    if (!found->is_string()) return wrong(where + "." + key, "is not a text");
    value = printable(found->get<std::string>());
    return {};
  }
  Status yes_or_no(const Json& json, const std::string& where, const char* key, bool& value) const {
    const auto found = json.find(key);
    if (found == json.end()) return {};
    if (!found->is_boolean()) return wrong(where + "." + key, "is neither true nor false");
    value = found->get<bool>();
    return {};
  }
  Status texts(const Json& json, const char* key, std::vector<std::string>& values) const {
    const auto found = json.find(key);
    if (found == json.end()) return {};
    if (!found->is_array()) return wrong(key, "is not a list of texts");
    for (const Json& each : *found) {
      if (!each.is_string()) return wrong(key, "is not a list of texts");
      values.push_back(each.get<std::string>());
    }
    return {};
  }

  Status fact(const std::string& name, const Json& json, BaselineFact& fact) const {
    fact.name = printable(name);
    if (!json.is_object() || (!json.contains("bytes") && !json.contains("count"))) {
      return wrong(name, "has neither \"bytes\" nor \"count\"");
    }
    if (json.contains("bytes") && json.contains("count")) return wrong(name, "has both \"bytes\" and \"count\"");
    fact.unit = json.contains("bytes") ? Unit::kBytes : Unit::kCount;
    DCMT_RETURN_IF_ERROR(integer(json, name, fact.unit == Unit::kBytes ? "bytes" : "count", fact.value));
    DCMT_RETURN_IF_ERROR(integer(json, name, "tolerance", fact.tolerance));
    if (fact.tolerance < 0) return wrong(name + ".tolerance", "is below 0");
    DCMT_RETURN_IF_ERROR(yes_or_no(json, name, "optional", fact.optional));
    fact.anchor = fact.value;
    DCMT_RETURN_IF_ERROR(integer(json, name, "anchor", fact.anchor));
    DCMT_RETURN_IF_ERROR(text(json, name, "since", fact.since));
    const auto of = json.find("of");
    if (of == json.end()) return {};
    if (!of->is_object()) return wrong(name + ".of", "is not an object");
    for (const auto& [function, lines] : of->items()) {
      if (!lines.is_array() || lines.empty()) return wrong(name + ".of", "has a function without a list of bytes");
      for (const Json& bytes : lines) {
        DCMT_RETURN_IF_ERROR(integer(bytes, name + ".of", fact.composition[printable(function)].emplace_back()));
      }
    }
    return {};
  }

  Status section(const std::string& name, const Json& json, Section& section) const {
    section.name = printable(name);
    if (!json.is_object()) return wrong(name, "is not an object");
    for (const auto& [key, value] : json.items()) {
      if (key == "operators") {
        DCMT_RETURN_IF_ERROR(integer(value, key, "count", section.operators));
        DCMT_RETURN_IF_ERROR(text(value, key, "order", section.order));
      } else if (key == "workload") {
        DCMT_RETURN_IF_ERROR(workload(value, section));
      } else {
        BaselineFact& fact = section.facts.emplace_back();
        DCMT_RETURN_IF_ERROR(this->fact(key, value, fact));
      }
    }
    return {};
  }

  Status workload(const Json& json, Section& section) const {
    DCMT_RETURN_IF_ERROR(text(json, "workload", "arguments", section.arguments));
    DCMT_RETURN_IF_ERROR(integer(json, "workload", "ranks", section.ranks));
    DCMT_RETURN_IF_ERROR(integer(json, "workload", "steps", section.steps));
    const auto sizes = json.find("sizes");
    if (sizes == json.end()) return {};
    if (!sizes->is_array()) return wrong("workload.sizes", "is not a list of bytes");
    for (const Json& each : *sizes) {
      std::int64_t value = 0;
      DCMT_RETURN_IF_ERROR(integer(each, "workload.sizes", value));
      section.sizes.emplace_back(value);
    }
    return {};
  }

  Status retention(const Json& json, Retention& expected) const {
    if (!json.is_object()) return wrong("expect", "is not a list of objects");
    DCMT_RETURN_IF_ERROR(text(json, "expect", "finding", expected.finding));
    DCMT_RETURN_IF_ERROR(integer(json, "expect", "bytes", expected.bytes));
    DCMT_RETURN_IF_ERROR(text(json, "expect", "reason", expected.reason));
    DCMT_RETURN_IF_ERROR(text(json, "expect", "until", expected.until));
    if (expected.bytes < 0) return wrong("expect.bytes", "is below 0");
    if (expected.finding.empty() || expected.reason.empty() || expected.until.empty()) {
      return wrong("expect", "has an entry without \"finding\", \"reason\" or \"until\" (a date as 2027-01-31)");
    }
    if (day_of(expected.until)) return {};
    return wrong("expect.until", "'" + expected.until + "' is no date; one is 2027-01-31");
  }

 private:
  std::string path_;
};

}  // namespace

Expected<Baseline> parse_baseline(const std::string& path, const std::string& text) {
  const Reader reader(path);
  // Growing JSON values copy their contents, level by level. Values deeper than any baseline are therefore not built.
  constexpr int kDeepest = 8;
  bool too_deep = false;
  const auto keep = [&too_deep](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
    too_deep |= depth > kDeepest;
    return depth <= kDeepest;
  };
  const Json json = Json::parse(text, keep, false);
  if (too_deep) return reader.wrong("the file", "is no baseline: it has lists within lists").error();
  if (json.is_discarded()) {
    const bool conflict = text.find("<<<<<<<") != std::string::npos;
    return Error{ErrorCode::kBadInput,
                 path +
                     (conflict ? ": has an unsolved merge conflict. Leave one side of it (git checkout --ours FILE)"
                               : ": is no JSON. Mend or remove it") +
                     ", then write it anew with: dc-memtrace check --update"};
  }
  if (!json.is_object() || !json.contains("baseline")) return reader.wrong("the file", "is no baseline").error();
  std::int64_t version = 0;
  DCMT_RETURN_IF_ERROR(reader.integer(json, "the file", "baseline", version));
  if (version != kVersion) {
    return Error{ErrorCode::kBadInput, path + ": is a baseline of version " + std::to_string(version) +
                                           ", this build reads version " + std::to_string(kVersion) + "."};
  }
  Baseline baseline;
  DCMT_RETURN_IF_ERROR(reader.texts(json, "command", baseline.command));
  DCMT_RETURN_IF_ERROR(reader.texts(json, "require", baseline.require));
  for (const std::string& each : baseline.require) {
    if (const Status readable = check_requirement(each); !readable.ok())
      return Error{ErrorCode::kBadInput, path + ": " + readable.error().message + "."};
  }
  for (const auto& [key, value] : json.items()) {
    if (key == "expect") {
      if (!value.is_array()) return reader.wrong(key, "is not a list").error();
      for (const Json& each : value) DCMT_RETURN_IF_ERROR(reader.retention(each, baseline.expect.emplace_back()));
    } else if (key != "baseline" && key != "command" && key != "require") {
      DCMT_RETURN_IF_ERROR(reader.section(key, value, baseline.sections.emplace_back()));
    }
  }
  return baseline;
}

std::string baseline_text(const Baseline& baseline) {
  std::string text = "{\n";
  const auto line = [&text](const std::string& indent, const std::string& key, const Json& value, bool last = false) {
    text += indent + one_line(Json(key)) + ": " + one_line(value) + (last ? "\n" : ",\n\n");
  };
  line("  ", "baseline", kVersion, baseline.sections.empty() && baseline.command.empty() && baseline.require.empty());
  if (!baseline.command.empty()) line("  ", "command", baseline.command);
  if (!baseline.require.empty()) line("  ", "require", baseline.require);
  if (!baseline.expect.empty()) {
    text += "  \"expect\": [\n";
    for (const Retention& each : baseline.expect) {
      const Json json{{"finding", each.finding}, {"bytes", each.bytes}, {"reason", each.reason}, {"until", each.until}};
      text += "    " + one_line(json) + (&each == &baseline.expect.back() ? "\n" : ",\n\n");
    }
    text += "  ],\n\n";
  }
  for (const Section& section : baseline.sections) {
    text += "  " + one_line(Json(section.name)) + ": {\n";
    for (const BaselineFact& fact : section.facts) line("    ", fact.name, fact_json(fact));
    line("    ", "operators", Json{{"count", section.operators}, {"order", section.order}});
    // Facts that seldom change come last: their line has no comma, whatever is added before it.
    line("    ", "workload", workload_json(section), true);
    text += &section == &baseline.sections.back() ? "  }\n" : "  },\n\n";
  }
  return text + "}\n";
}

}  // namespace dcmt::gate

// A summary as text: JSON lists of its values in the order of `fields`, without names, because only this build reads
// them.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "analyzer/ranks/rank_summary.h"
#include "trace/sql/limits.h"

namespace dcmt::analyzer {
namespace {

using Json = nlohmann::json;

// The values of each type, for writing and reading. The pointer only selects the type.
void fields(auto&& list, auto& v, const Key*) { list(v.graph, v.key); }
void fields(auto&& list, auto& v, const RankPeak*) { list(v.device, v.bytes, v.at, v.at_ns, v.step, v.predicted); }
void fields(auto&& list, auto& v, const RankMemory::Place*) { list(v.site, v.at_peak, v.holder, v.at_ends); }
void fields(auto&& list, auto& v, const RankMemory*) { list(v.rank, v.peak, v.steps, v.ends, v.places); }
void fields(auto&& list, auto& v, const FindingIdentity*) { list(v.rule, v.born, v.released, v.holder); }
void fields(auto&& list, auto& v, const RankFinding*) { list(v.identity, v.title, v.place, v.bytes); }
void fields(auto&& list, auto& v, const RankParameter*) {
  list(v.gathers, v.final_releases, v.residual, v.residual_bytes, v.persistent);
}
void fields(auto&& list, auto& v, const RankGather*) { list(v.key, v.bytes, v.declared, v.persistent, v.at, v.place); }
void fields(auto&& list, auto& v, const RankStep*) { list(v.number, v.ended, v.gathers); }
void fields(auto&& list, auto& v, const GatherPlace*) { list(v.operator_name, v.site); }
void fields(auto&& list, auto& v, const RankFacts*) {
  list(v.rank, v.world_size, v.devices, v.memory, v.findings, v.parameters, v.mechanisms, v.names, v.steps,
       v.first_step, v.steps_ended, v.steps_left_out, v.lost, v.places);
}
void fields(auto&& list, auto& v, const RankEvents*) { list(v.rank, v.real_offset_ns, v.start, v.times); }
void fields(auto&& list, auto& v, const RankSummary*) { list(v.facts, v.events, v.found); }

template <class Value>
concept Listed = requires(const Value& value) {
  fields([](const auto&...) {}, value, &value);
};

template <class Value>
concept Wrapped = requires(Value value) {
  value.valid();
  value.value;
};

Json json_of(bool value) { return value; }
Json json_of(std::integral auto value) { return value; }
Json json_of(const std::string& value) { return value; }
Json json_of(const Wrapped auto& value) { return value.value; }
template <class Value>
Json json_of(const std::optional<Value>& value);
template <class Value>
Json json_of(const std::vector<Value>& values);
template <class Name, class Value>
Json json_of(const std::map<Name, Value>& values);
template <Listed Value>
Json json_of(const Value& value);
template <class First, class Second>
Json json_of(const std::pair<First, Second>& pair) {
  return Json::array({json_of(pair.first), json_of(pair.second)});
}
template <Listed Value>
Json json_of(const Value& value) {
  Json list = Json::array();
  fields([&](const auto&... each) { (list.push_back(json_of(each)), ...); }, value, &value);
  return list;
}
template <class Value>
Json json_of(const std::optional<Value>& value) {
  return value ? json_of(*value) : Json();
}
template <class Value>
Json json_of(const std::vector<Value>& values) {
  Json list = Json::array();
  for (const Value& value : values) list.push_back(json_of(value));
  return list;
}
template <class Name, class Value>
Json json_of(const std::map<Name, Value>& values) {
  Json list = Json::array();
  for (const auto& entry : values) list.push_back(json_of(entry));
  return list;
}

/// Each read() returns whether the value has that type.
bool read(const Json& json, bool& value) {
  if (json.is_boolean()) value = json.get<bool>();
  return json.is_boolean();
}
template <std::integral Value>
bool read(const Json& json, Value& value) {
  if (!json.is_number_integer()) return false;
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) return false;
  const auto number = json.get<std::int64_t>();
  value = static_cast<Value>(number);
  return std::in_range<Value>(number);
}
bool read(const Json& json, std::string& value) {
  if (json.is_string()) value = json.get<std::string>();
  return json.is_string();
}
/// Limits numbers so that their sums and differences do not overflow.
bool read(const Json& json, Wrapped auto& value) {
  return read(json, value.value) && value.value <= kLargest && value.value >= -kLargest;
}
template <class Value>
bool read(const Json& json, std::optional<Value>& value);
template <class Value>
bool read(const Json& json, std::vector<Value>& values);
template <class Name, class Value>
bool read(const Json& json, std::map<Name, Value>& values);
template <Listed Value>
bool read(const Json& json, Value& value);
template <class First, class Second>
bool read(const Json& json, std::pair<First, Second>& pair) {
  return json.is_array() && json.size() == 2 && read(json[0], pair.first) && read(json[1], pair.second);
}
template <Listed Value>
bool read(const Json& json, Value& value) {
  if (!json.is_array()) return false;
  std::size_t at = 0;
  bool right = true;
  fields([&](auto&... each) { right = sizeof...(each) == json.size() && (... && read(json[at++], each)); }, value,
         &value);
  return right;
}
template <class Value>
bool read(const Json& json, std::optional<Value>& value) {
  if (json.is_null()) return true;
  return read(json, value.emplace());
}
template <class Value>
bool read(const Json& json, std::vector<Value>& values) {
  if (!json.is_array()) return false;
  values.reserve(json.size());
  return std::ranges::all_of(json, [&](const Json& each) { return read(each, values.emplace_back()); });
}
template <class Name, class Value>
bool read(const Json& json, std::map<Name, Value>& values) {
  if (!json.is_array()) return false;
  return std::ranges::all_of(json, [&](const Json& each) {
    std::pair<Name, Value> entry;
    return read(each, entry) && values.insert(std::move(entry)).second;
  });
}

bool is_count(std::int64_t number) { return number >= 0 && number <= kLargestCount; }

bool in_bounds(const RankParameter& parameter) {
  return is_count(parameter.gathers) && is_count(parameter.final_releases) && is_count(parameter.residual);
}

/// Checks what comparisons rely on.
bool consistent(const RankSummary& summary) {
  const RankMemory& memory = summary.facts.memory;
  if (!memory.steps.empty() && (memory.steps.front() < -kLargest || memory.steps.back() > kLargest)) return false;
  for (const auto& [key, parameter] : summary.facts.parameters) {
    if (!in_bounds(parameter)) return false;
  }
  const auto by_site = [](const RankMemory::Place& a, const RankMemory::Place& b) { return a.site < b.site; };
  if (memory.steps.size() != memory.ends.size() || !std::ranges::is_sorted(memory.steps) ||
      !std::ranges::is_sorted(memory.places, by_site)) {
    return false;
  }
  for (const RankMemory::Place& place : memory.places) {
    if (!std::ranges::is_sorted(place.at_ends)) return false;
  }
  for (const RankStep& step : summary.facts.steps) {
    for (const RankGather& gather : step.gathers) {
      if (gather.place >= summary.facts.places.size()) return false;
    }
  }
  return true;
}

}  // namespace

std::string text_of(const RankSummary& summary, std::string_view made_of) {
  // Names in a program need not be UTF-8.
  return Json::array({std::string(made_of), json_of(summary)}).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<RankSummary> summary_in(std::string_view text, std::string_view made_of) {
  const Json json = Json::parse(text, nullptr, false);
  std::pair<std::string, RankSummary> read_from;
  if (!read(json, read_from) || read_from.first != made_of || !consistent(read_from.second)) return std::nullopt;
  return std::move(read_from.second);
}

}  // namespace dcmt::analyzer

#include "analyzer/storages/parameters.h"

#include <algorithm>

namespace dcmt::analyzer {

const Parameter* find_parameter(const TraceData& data, Key key) {
  const auto found = std::lower_bound(data.parameters.begin(), data.parameters.end(), key,
                                      [](const Parameter& parameter, const Key& k) { return parameter.key < k; });
  return found != data.parameters.end() && found->key == key ? &*found : nullptr;
}

std::string describe_graph(const TraceData& data, std::int64_t graph) {
  const auto found = std::find_if(data.parameters.begin(), data.parameters.end(),
                                  [&](const Parameter& parameter) { return parameter.key.graph == graph; });
  return found != data.parameters.end() ? std::string(data.text(found->mechanism)) : "graph " + std::to_string(graph);
}

std::string describe_key(const TraceData& data, Key key) {
  const Parameter* parameter = find_parameter(data, key);
  const std::string graph = describe_graph(data, key.graph);
  if (parameter == nullptr || !parameter->name.valid()) return graph + " id " + std::to_string(key.key);
  return std::string(data.text(parameter->name)) + " (" + graph + ")";
}

}  // namespace dcmt::analyzer

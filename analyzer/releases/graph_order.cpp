#include "analyzer/releases/graph_order.h"

#include <algorithm>

#include "trace/base/graph_number.h"

namespace dcmt::analyzer {

std::vector<std::int64_t> graphs_by_gather(const TraceData& data) {
  std::vector<const Mark*> gathers;
  for (const Mark& mark : data.marks) {
    if (mark.kind == MarkKind::kGather && mark.key && is_address_of_graph(mark.key->graph)) gathers.push_back(&mark);
  }
  std::ranges::stable_sort(gathers, {}, [](const Mark* mark) { return mark->span.from_seq; });
  std::vector<std::int64_t> graphs;
  for (const Mark* mark : gathers) {
    if (std::ranges::find(graphs, mark->key->graph) == graphs.end()) graphs.push_back(mark->key->graph);
  }
  return graphs;
}

Key key_in(Key key, const std::vector<std::int64_t>& then, const std::vector<std::int64_t>& now) {
  const auto place = static_cast<std::size_t>(std::ranges::find(then, key.graph) - then.begin());
  if (place < then.size() && place < now.size()) key.graph = now[place];
  return key;
}

}  // namespace dcmt::analyzer

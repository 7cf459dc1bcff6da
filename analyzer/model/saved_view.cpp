#include "analyzer/model/saved_view.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "analyzer/model/views.h"
#include "analyzer/storages/holder_names.h"
#include "analyzer/storages/saved_fields.h"
#include "analyzer/storages/without_numbers.h"

namespace dcmt::model {
namespace {

using analyzer::OwnerPath;
using analyzer::SavedFieldName;

/// "main: losses[*]" of what is held through a graph.
std::string graph_holder(std::string_view path) {
  std::string_view holder = analyzer::holder_of(path);
  holder = holder.substr(0, holder.find(".grad_fn"));
  return holder.empty() ? std::string("a cycle that Python's collector frees") : analyzer::without_numbers(holder);
}

struct Sum {
  std::int64_t storages = 0;
  Bytes bytes, elsewhere;
  std::set<std::string> holders;
};

}  // namespace

Expected<SavedView> saved_view(const std::string& path, const analyzer::Analysis& analysis, const std::string& at) {
  const TraceData& data = *analysis.data;
  DCMT_ASSIGN_OR_RETURN(const Sequence seq, point_named(path, analysis, at));
  SavedView view;
  view.path = path;
  view.rank = analysis.facts.rank;
  view.at_seq = seq;
  view.readings = static_cast<std::int64_t>(data.owners.scans.size());
  std::map<SavedFieldName, Sum> sums;
  std::vector<const analyzer::Block*> blocks;
  for (const analyzer::Storage& storage : data.storages) {
    if (!storage.span.covers(seq)) continue;
    std::map<SavedFieldName, std::set<std::string>> fields;
    bool elsewhere = false;
    for (const OwnerPath& owner : data.owners.paths_to(storage.id)) {
      if (!owner.confirmed) continue;
      const std::string_view text = data.text(owner.path);
      elsewhere |= !analyzer::leads_through_a_graph(text);
      if (const auto field = analyzer::saved_field_of(text)) fields[*field].insert(graph_holder(text));
    }
    if (fields.empty()) continue;
    ++view.storages;
    view.bytes.value += storage.bytes.value;
    for (const analyzer::Block* block : data.blocks_by_storage.of(storage.id)) {
      if (block->span.covers(seq)) blocks.push_back(block);
    }
    for (const auto& [field, holders] : fields) {
      Sum& sum = sums[field];
      ++sum.storages;
      sum.bytes.value += storage.bytes.value;
      if (elsewhere) sum.elsewhere.value += storage.bytes.value;
      sum.holders.insert(holders.begin(), holders.end());
    }
  }
  for (const auto& [field, sum] : sums) {
    view.fields.push_back(
        {field.node, field.field, {sum.holders.begin(), sum.holders.end()}, sum.storages, sum.bytes, sum.elsewhere});
  }
  std::ranges::stable_sort(view.fields, std::greater(), &SavedField::bytes);
  view.by_module = analyzer::module_groups(data, analysis.phases, blocks, seq);
  return view;
}

}  // namespace dcmt::model

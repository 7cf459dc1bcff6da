#include "analyzer/model/saved_view.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/model/views.h"
#include "analyzer/storages/holder_names.h"
#include "analyzer/storages/without_numbers.h"

namespace dcmt::model {
namespace {

using analyzer::OwnerPath;

/// How a path says that it leads to what a node has saved, and what of that is the field's name.
struct Spelling {
  std::string_view text;
  std::size_t field;  ///< where in it the name begins
};
constexpr std::array<Spelling, 2> kSpellings{{{"._saved_", 8}, {".saved_tensors", 1}}};

struct Field {
  std::string node, field;
  friend auto operator<=>(const Field&, const Field&) = default;
};

/// The last field of a node on a path: "main: v.grad_fn NllLossBackward0 … 2 nodes → AddmmBackward0._saved_mat1".
std::optional<Field> field_of(std::string_view path) {
  for (const Spelling& spelling : kSpellings) {
    const std::size_t at = path.rfind(spelling.text);
    if (at == std::string_view::npos) continue;
    const std::size_t space = path.rfind(' ', at);
    const std::size_t node = space == std::string_view::npos ? 0 : space + 1;
    const std::string_view name = path.substr(at + spelling.field);
    return Field{std::string(path.substr(node, at - node)), std::string(name.substr(0, name.find_first_of(" .[")))};
  }
  return std::nullopt;
}

bool is_of_a_graph(std::string_view path) {
  return path.find(".grad_fn") != std::string_view::npos || field_of(path).has_value();
}

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
  std::map<Field, Sum> sums;
  for (const analyzer::Storage& storage : data.storages) {
    if (!storage.span.covers(seq)) continue;
    std::map<Field, std::set<std::string>> fields;
    bool elsewhere = false;
    for (const OwnerPath& owner : data.owners.paths_to(storage.id)) {
      if (!owner.confirmed) continue;
      const std::string_view text = data.text(owner.path);
      elsewhere |= !is_of_a_graph(text);
      if (const auto field = field_of(text)) fields[*field].insert(graph_holder(text));
    }
    if (fields.empty()) continue;
    ++view.storages;
    view.bytes.value += storage.bytes.value;
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
  return view;
}

}  // namespace dcmt::model

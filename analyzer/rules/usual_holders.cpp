#include "analyzer/rules/usual_holders.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "analyzer/storages/holder_names.h"

namespace dcmt::analyzer {
namespace {

/// The number of storages that readings must have found at a position before the one of the latest round.
constexpr std::size_t kFewestBefore = 2;
constexpr std::string_view kGraphOf = ".grad_fn";  // of a variable

/// The variables among its holders that can have one value at a time.
std::set<std::string> variables_of(const TraceData& data, const HeldBy& by) {
  std::set<std::string> variables;
  for (const ContainerId id : by.containers) {
    const std::string_view path = data.text(data.owners.container(id)->path);
    if (is_plain_variable(path)) variables.emplace(path);
  }
  if (by.path != nullptr) {
    std::string_view holder = holder_of(data.text(by.path->path));
    if (holder.ends_with(kGraphOf)) holder.remove_suffix(kGraphOf.size());
    if (is_plain_variable(holder)) variables.emplace(holder);
  }
  return variables;
}

}  // namespace

HeldBy held_by(const TraceData& data, StorageId storage) {
  const Held* held = data.owners.of(storage);
  if (held == nullptr) return {};
  HeldBy by{held->containers, held->otherwise, nullptr};
  if (by.containers.empty()) by.path = data.owners.path_to(storage);
  return by;
}

UsualHolders::UsualHolders(const TraceData& data, const OutlivingSite& site) {
  for (const Living& living : site.living) {
    const HeldBy by = held_by(data, living.storage->id);
    if (by.nobody()) continue;
    ++counts_[by];
    ++at_position_[living.position][by];
  }
}

HeldBy UsualHolders::of(Position position) const {
  const auto here = at_position_.find(position);
  const Counts& counts = here != at_position_.end() ? here->second : counts_;
  const auto most = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  return most != counts.end() ? most->first : HeldBy();
}

LatestValues::LatestValues(const TraceData& data, const std::map<StackId, OutlivingSite>& sites) {
  for (const auto& [stack, site] : sites) {
    for (const Series& series : series_of(site)) {
      Series read;
      std::ranges::copy_if(series, std::back_inserter(read),
                           [&](const Living* each) { return !held_by(data, each->storage->id).nobody(); });
      if (read.size() <= kFewestBefore || read.back() == series.back()) continue;
      std::set<std::string> variables = variables_of(data, held_by(data, read.back()->storage->id));
      for (auto each = read.begin(); each + 1 != read.end(); ++each) {
        for (const std::string& other : variables_of(data, held_by(data, (*each)->storage->id))) variables.erase(other);
      }
      if (!variables.empty()) read_as_latest_.insert(read.back()->storage->id);
    }
  }
}

}  // namespace dcmt::analyzer

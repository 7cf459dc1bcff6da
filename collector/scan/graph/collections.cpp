#include "collector/scan/graph/collections.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include "collector/scan/graph/entry_sample.h"
#include "collector/scan/graph/node_numbers.h"

namespace dcmt::scan {
namespace {

/// Collections with fewer entries are not examined.
constexpr std::uint64_t kFewestEntries = 16;
/// A larger number of entries is of an object that was changing.
constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 40;
/// In a dictionary with more entries, a key is no name.
constexpr std::size_t kMostNames = 16;
/// Collections of a group from which entries are sampled.
constexpr std::size_t kSampled = 16;
/// Of groups with more collections, the sizes are as the graph has seen them.
constexpr std::size_t kReadAgain = 64;
/// Bytes of a collection whose pages are examined.
constexpr std::uint64_t kWorthPages = std::uint64_t{4} << 20;
/// How far ahead objects are loaded into the processor's cache.
constexpr NodeIndex kObjectsAhead = 8;
/// An estimate holds until the number of entries has changed by this share.
constexpr double kChanged = 0.02;

// Structures that no header declares; equal in 3.11 to 3.15 (Modules/_collectionsmodule.c, _functoolsmodule.c). -1: no
// limit.
constexpr Address kDequeMaxlen = 64, kLruMaxsize = 96;

using GroupIndex = std::uint32_t;

/// Objects whose paths differ only in indexes and keys are in one group.
class Groups {
 public:
  Groups(const Graph& graph, const Names& names)
      : graph_(graph), names_(names), of_node_(graph.nodes().size()), has_any_keys_(graph.nodes().size()) {}

  GroupIndex of(NodeIndex node) {
    way_.clear();
    while (node != kRootNode && of_node_[node] == 0 && way_.size() < kLongestWay) {
      way_.push_back(node);
      node = graph_.edges()[graph_.nodes()[node].best_edge].source;
    }
    GroupIndex group = node == kRootNode ? 0 : of_node_[node];
    for (auto each = way_.rbegin(); each != way_.rend(); ++each) {
      group = below(group, graph_.edges()[graph_.nodes()[*each].best_edge]);
      of_node_[*each] = group;
    }
    return group;
  }

  [[nodiscard]] bool is_any_key(const GraphEdge& edge) {
    if (edge.label != Label::kDictValue || edge.source == kRootNode) return false;
    Known& known = has_any_keys_[edge.source];
    if (known == Known::kNot) known = has_any_keys(graph_.nodes()[edge.source]) ? Known::kYes : Known::kNo;
    return known == Known::kYes;
  }

  /// Number of groups so far; they are numbered from 0, which is that of the roots.
  [[nodiscard]] std::size_t count() const { return steps_.size() + 1; }

 private:
  enum class Known : std::uint8_t { kNot, kNo, kYes };

  [[nodiscard]] bool has_any_keys(const GraphNode& dict) const {
    const GraphEdge& to_dict = graph_.edges()[dict.best_edge];
    if (to_dict.label == Label::kRoot) return false;
    if (to_dict.label == Label::kName && holds_attributes(names_.text(to_dict.index))) return false;
    return dict.end_edge - dict.first_edge > kMostNames;
  }

  static constexpr std::size_t kLongestWay = 3000;

  struct Step {
    GroupIndex group;
    Label label;
    std::uint64_t index;
    friend bool operator==(const Step&, const Step&) = default;
  };
  [[nodiscard]] static std::uint64_t key_of(const Step& step) {
    return (std::uint64_t{step.group} << 8 | static_cast<std::uint8_t>(step.label)) + step.index * 31;
  }

  GroupIndex below(GroupIndex group, const GraphEdge& edge) {
    const bool is_any = edge.label == Label::kItem || edge.label == Label::kSetItem || edge.label == Label::kDictKey ||
                        is_any_key(edge);
    const Step step{group, edge.label, is_any ? 0 : std::uint64_t{edge.index} + 1};
    const auto next = static_cast<GroupIndex>(steps_.size() + 1);
    const GroupIndex found =
        numbers_.find_or_add(key_of(step), next, [&](GroupIndex each) { return steps_[each - 1] == step; });
    if (found == next) steps_.push_back(step);
    return found;
  }

  const Graph& graph_;
  const Names& names_;
  std::vector<GroupIndex> of_node_;
  std::vector<Known> has_any_keys_;  ///< by dictionary
  std::vector<NodeIndex> way_;
  std::vector<Step> steps_;  ///< the last one of each group's path
  NodeNumbers numbers_{10};  ///< of these
};

/// True for a collection whose program has set a limit: a deque with maxlen, an lru_cache with maxsize.
bool has_limit(const GraphNode& node, const CollectionSearch& search) {
  const auto is_limit = [&](Address at) { return search.memory.value<std::int64_t>(at) >= 0; };
  if (node.kind == Kind::kDeque) return is_limit(node.address + kDequeMaxlen);
  const GraphNode& source = search.graph.nodes()[search.graph.edges()[node.best_edge].source];
  return source.kind == Kind::kLruCache && is_limit(source.address + kLruMaxsize);
}

struct Group {
  std::vector<std::pair<std::uint64_t, NodeIndex>> collections;  ///< with their entries
  std::uint64_t entries = 0;
  std::uint64_t own_bytes = 0;
};

/// Fills in entries and bytes. The graph may have taken seconds, so few collections are read again. False: they have
/// changed too much.
bool measure(const CollectionSearch& search, Group& group) {
  Mirror& memory = group.collections.size() <= kReadAgain ? search.fresh : search.memory;
  ObjectSizes sizes(memory, search.types);
  group.entries = 0;
  for (auto& [entries, node] : group.collections) {
    const GraphNode& object = search.graph.nodes()[node];
    const PythonType* type = search.types.python_types.type_of(memory, object.address);
    if (type == nullptr || type->kind != object.kind) continue;
    entries = entries_of(object.address, object.kind, memory, search.types);
    group.entries += entries;
    group.own_bytes += sizes.of(object.address, *type);
  }
  return group.entries > 0 && group.entries < kMostEntries;
}

bool may_be_collection(Kind kind) {
  return kind == Kind::kDict || kind == Kind::kList || kind == Kind::kTuple || kind == Kind::kSet ||
         kind == Kind::kDeque || kind == Kind::kArray;
}

/// The groups with most entries.
std::vector<Group> groups_of(const CollectionSearch& search, Groups& groups) {
  struct Found {
    NodeIndex node;
    GroupIndex group;
    std::uint64_t entries;
  };
  const std::vector<GraphNode>& nodes = search.graph.nodes();
  std::vector<Found> found;
  for (NodeIndex node = 1; node < nodes.size(); ++node) {
    if (node + kObjectsAhead < nodes.size() && may_be_collection(nodes[node + kObjectsAhead].kind)) {
      search.memory.prefetch(nodes[node + kObjectsAhead].address);
    }
    const GraphNode& object = nodes[node];
    if (!may_be_collection(object.kind) || !search.graph.is_rooted(node)) continue;
    const std::uint64_t entries = entries_of(object.address, object.kind, search.memory, search.types);
    if (entries == 0 || entries > kMostEntries || has_limit(object, search)) continue;
    found.push_back({node, groups.of(node), entries});
  }
  struct Sum {
    std::uint64_t entries = 0;
    std::size_t alike = 0;
  };
  std::vector<Sum> sums(groups.count());
  for (const Found& each : found) {
    sums[each.group].entries += each.entries;
    ++sums[each.group].alike;
  }
  std::vector<GroupIndex> most;
  for (GroupIndex group = 0; group < sums.size(); ++group) {
    // Beyond its limit a graph has only some of those that are alike.
    if (sums[group].entries < kFewestEntries || (!search.is_complete && sums[group].alike > 1)) continue;
    most.push_back(group);
  }
  const std::size_t kept = std::min(most.size(), search.most);
  std::ranges::partial_sort(most, most.begin() + static_cast<std::ptrdiff_t>(kept), std::greater(),
                            [&](GroupIndex group) { return sums[group].entries; });
  most.resize(kept);
  std::vector<std::uint32_t> place_of(sums.size());  // from 1
  std::vector<Group> result(kept);
  for (std::uint32_t place = 0; place < kept; ++place) {
    place_of[most[place]] = place + 1;
    result[place].entries = sums[most[place]].entries;
  }
  for (const Found& each : found) {
    if (const std::uint32_t place = place_of[each.group]; place != 0) {
      result[place - 1].collections.emplace_back(each.entries, each.node);
    }
  }
  return result;
}

/// Removes the positions of suspended functions, " (train.py:35)": they change from reading to reading.
void remove_positions(std::string& path) {
  for (std::size_t at = path.find(" ("); at != std::string::npos; at = path.find(" (", at)) {
    const std::size_t close = path.find(')', at), colon = path.rfind(':', close);
    const bool is_position = close != std::string::npos && colon > at && colon + 1 < close &&
                             path.find_first_not_of("0123456789", colon + 1) == close;
    if (is_position) {
      path.erase(at, close + 1 - at);
    } else {
      ++at;
    }
  }
}

/// The path of the group: indexes, and keys of large dictionaries, become [*].
std::string pattern_of(const CollectionSearch& search, Groups& groups, const std::vector<EdgeIndex>& way) {
  std::string path = Paths::pattern_of(search.paths.text_of(way));
  remove_positions(path);
  const bool has_any_key =
      std::ranges::any_of(way, [&](EdgeIndex edge) { return groups.is_any_key(search.graph.edges()[edge]); });
  for (std::size_t at = path.find("['"); has_any_key && at != std::string::npos; at = path.find("['", at + 1)) {
    const std::size_t close = path.find("']", at);
    if (close == std::string::npos) break;
    path.replace(at, close + 2 - at, "[*]");
  }
  return path;
}

/// From each stretch of the entries one collection that has some of them.
std::vector<std::pair<Address, Kind>> sampled_of(const Graph& graph, const Group& group) {
  const std::size_t count = std::min(kSampled, group.collections.size());
  std::vector<std::pair<Address, Kind>> sampled;
  for (std::size_t i = 0; i < count; ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    auto rest = static_cast<std::uint64_t>(share * static_cast<double>(group.entries));
    auto at = group.collections.begin();
    while (at + 1 != group.collections.end() && rest >= at->first) rest -= (at++)->first;
    const GraphNode& object = graph.nodes()[at->second];
    sampled.emplace_back(object.address, object.kind);
  }
  return sampled;
}

/// True if the other process has the same object at this address. Its first word counts references, which differ; type,
/// size and table follow.
bool has_same(MemorySource& other, Address object, Mirror& memory) {
  std::array<std::uint64_t, 3> words{};
  const Piece piece{object + 8, std::as_writable_bytes(std::span(words))};
  if (other.read({&piece, 1}) != sizeof words) return false;
  return words[0] == memory.word(object + 8) && words[1] == memory.word(object + 16) &&
         words[2] == memory.word(object + 24);
}

bool has_changed(const KnownCollections::Estimate& estimate, std::uint64_t entries) {
  const double before = static_cast<double>(estimate.entries), now = static_cast<double>(entries);
  return now < (1 - kChanged) * before || now > (1 + kChanged) * before;
}

}  // namespace

std::vector<Collection> find_collections(const CollectionSearch& search, KnownCollections& known) {
  Groups groups(search.graph, search.types.names);
  std::map<std::string, Collection> by_path;
  KnownCollections now;
  for (Group& group : groups_of(search, groups)) {
    std::ranges::sort(group.collections, std::greater());
    const NodeIndex largest = group.collections.front().second;
    const GraphNode& object = search.graph.nodes()[largest];
    const std::vector<EdgeIndex> way = search.paths.way_to(largest);
    if (way.empty() || !search.second.confirms(way)) continue;
    Collection found;
    found.path = pattern_of(search, groups, way);
    found.place = search.paths.place_of(way);
    found.type = search.text.type_name(object.address, object.kind);
    found.alike = group.collections.size();
    if (!measure(search, group)) continue;
    found.entries = group.entries;
    found.own_bytes = group.own_bytes;
    const std::pair key(object.address, found.path);
    const auto before = known.by_largest.find(key);
    KnownCollections::Estimate estimate;
    bool keeps_estimate = true;
    if (before != known.by_largest.end() && !has_changed(before->second, found.entries)) {
      estimate = before->second;
    } else {
      EntrySample sample(search.fresh, search.types);
      sample.add_from(sampled_of(search.graph, group));
      if (sample.is_empty()) continue;
      estimate = {found.entries, sample.has_tensors(), sample.bytes_each(), sample.entry_type(), sample.parts()};
      keeps_estimate = sample.is_whole();
    }
    if (keeps_estimate) now.by_largest[key] = estimate;
    if (estimate.of_tensors) continue;
    found.bytes =
        found.own_bytes + static_cast<std::uint64_t>(estimate.bytes_each * static_cast<double>(found.entries));
    if (search.parent != nullptr && search.pages != nullptr && found.bytes >= kWorthPages) {
      EntrySample sample(search.fresh, search.types, search.pages);
      sample.add_from(sampled_of(search.graph, group));
      found.unshared_bytes =
          static_cast<std::uint64_t>(sample.unshared_part() * static_cast<double>(found.bytes - found.own_bytes));
      found.is_inherited = has_same(*search.parent, object.address, search.fresh);
    }
    found.entry_type = std::move(estimate.entry_type);
    found.parts = std::move(estimate.parts);
    // The same function can run in several threads.
    Collection& all = by_path[found.path];
    found.alike += all.alike;
    found.entries += all.entries;
    found.own_bytes += all.own_bytes;
    found.bytes += all.bytes;
    found.unshared_bytes += all.unshared_bytes;
    found.is_inherited = found.is_inherited || all.is_inherited;
    all = std::move(found);
  }
  known = std::move(now);
  std::vector<Collection> collections;
  for (auto& [path, each] : by_path) collections.push_back(std::move(each));
  std::ranges::stable_sort(collections, std::greater(), &Collection::bytes);
  return collections;
}

}  // namespace dcmt::scan

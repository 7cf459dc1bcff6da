#include "collector/scan/graph/containers.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

namespace dcmt::scan {
namespace {

constexpr std::size_t kMostContainers = 30;
/// So many attributes of one object whose names differ in a number only are its entries. A class is not written with so
/// many.
constexpr std::size_t kFewestNumbered = 8;

bool is_entry_label(Label label) {
  return label == Label::kItem || label == Label::kSetItem || label == Label::kDictValue || label == Label::kDictKey ||
         label == Label::kKey;
}

/// ".old_" of ".old_12"; empty: the name does not end with a number.
std::string without_number(std::string name) {
  if (name.ends_with("']")) name.resize(name.size() - 2);  // of an entry in a dictionary of attributes
  const std::size_t size = name.size();
  while (!name.empty() && std::isdigit(static_cast<unsigned char>(name.back())) != 0) name.pop_back();
  return name.size() < size ? name : std::string();
}

}  // namespace

ContainerSearch::ContainerSearch(const Graph& graph, const Names& names) : graph_(graph), names_(names) {
  for (const GraphEdge& edge : graph.edges()) {
    // A thread or a suspended generator has the frame; a frame object alone does not count, because it may outlive the
    // call.
    const bool by_object = graph.nodes()[edge.source].kind == Kind::kFrameObject;
    if (graph.nodes()[edge.target].kind == Kind::kFrame && !by_object) unfinished_.insert(edge.target);
  }
}

bool ContainerSearch::is_attribute(EdgeIndex edge, EdgeIndex before) const {
  const Label label = graph_.edges()[edge].label;
  const GraphEdge& to_dict = graph_.edges()[before];
  return label == Label::kInlineValue ||
         (label == Label::kDictValue && to_dict.label == Label::kName && holds_attributes(names_.text(to_dict.index)));
}

bool ContainerSearch::is_entry(EdgeIndex edge, EdgeIndex before) const {
  const GraphEdge& reference = graph_.edges()[edge];
  if (!is_entry_label(reference.label)) return false;
  if (reference.label == Label::kItem || reference.label == Label::kSetItem || reference.label == Label::kKey)
    return true;
  return !is_attribute(edge, before) && graph_.edges()[before].source != kRootNode;
}

void ContainerSearch::add(std::vector<EdgeIndex> way, std::uint64_t bytes) {
  for (std::size_t i = 1; i < way.size(); ++i) {
    const NodeIndex object = graph_.edges()[way[i]].source;
    if (is_entry(way[i], way[i - 1])) entries_[object].insert(way[i]);
    if (is_attribute(way[i], way[i - 1])) attributes_[object].insert(way[i]);
  }
  ways_.push_back({std::move(way), bytes});
}

void ContainerSearch::find_numbered(Paths& paths) {
  numbered_.clear();
  numbered_with_.clear();
  for (const auto& [object, attributes] : attributes_) {
    if (attributes.size() < kFewestNumbered) continue;
    for (const EdgeIndex each : attributes) {
      const std::string name = without_number(paths.label_of(graph_.edges()[each]));
      if (!name.empty()) numbered_[{object, name}].insert(each);
    }
  }
  for (const auto& [name, attributes] : numbered_) {
    if (attributes.size() < kFewestNumbered) continue;
    for (const EdgeIndex each : attributes) numbered_with_[each] = &attributes;
  }
}

const std::set<EdgeIndex>* ContainerSearch::entries_with(EdgeIndex edge) const {
  if (const auto numbered = numbered_with_.find(edge); numbered != numbered_with_.end()) return numbered->second;
  const auto entries = entries_.find(graph_.edges()[edge].source);
  return entries != entries_.end() && entries->second.contains(edge) ? &entries->second : nullptr;
}

std::size_t ContainerSearch::parting(const std::vector<EdgeIndex>& way) const {
  std::size_t at = 0;
  std::size_t most = 1;
  for (std::size_t i = 1; i < way.size(); ++i) {
    const std::set<EdgeIndex>* entries = entries_with(way[i]);
    if (entries == nullptr || entries->size() <= most) continue;
    most = entries->size();
    at = i;
  }
  return at;
}

std::size_t ContainerSearch::graph_begins(const std::vector<EdgeIndex>& way) const {
  for (std::size_t i = 1; i < way.size(); ++i) {
    const GraphEdge& edge = graph_.edges()[way[i]];
    if (graph_.nodes()[edge.target].kind == Kind::kNode) return i;
  }
  return 0;
}

std::size_t ContainerSearch::finished_frame(const std::vector<EdgeIndex>& way) const {
  for (std::size_t i = 1; i < way.size(); ++i) {
    const NodeIndex frame = graph_.edges()[way[i]].source;
    if (graph_.nodes()[frame].kind == Kind::kFrame && !unfinished_.contains(frame)) return i;
  }
  return 0;
}

std::pair<std::size_t, ContainerKind> ContainerSearch::container_on(const std::vector<EdgeIndex>& way) const {
  // A list of exceptions precedes their frames, and objects that a frame's list holds belong to the frame.
  const std::size_t frame = finished_frame(way);
  const std::size_t parts = parting(way);
  if (parts != 0 && (frame == 0 || parts < frame))
    return {parts, numbered_with_.contains(way[parts]) ? ContainerKind::kAttributes : ContainerKind::kEntries};
  if (frame != 0) return {frame, ContainerKind::kFinishedFrame};
  return {graph_begins(way), ContainerKind::kGraph};
}

std::vector<Container> ContainerSearch::find(Paths& paths) {
  find_numbered(paths);
  std::map<NodeIndex, Container> found;
  for (const Way& way : ways_) {
    const auto [at, kind] = container_on(way.edges);
    if (at == 0) continue;
    const NodeIndex node = graph_.edges()[way.edges[at]].source;
    Container& container = found[node];
    if (container.node == 0) {
      container.node = node;
      container.kind = kind;
      container.way.assign(way.edges.begin(), way.edges.begin() + static_cast<std::ptrdiff_t>(at));
      if (kind == ContainerKind::kEntries) container.entries = entries_.at(node);
      const bool is_dict = graph_.edges()[container.way.back()].label == Label::kName;
      if (kind == ContainerKind::kAttributes && is_dict) container.way.pop_back();
    }
    if (kind != ContainerKind::kEntries) container.entries.insert(way.edges[at]);
    container.bytes += way.bytes;
  }
  std::vector<Container> result;
  for (auto& [node, container] : found) result.push_back(std::move(container));
  std::ranges::stable_sort(result, std::greater(), &Container::bytes);
  return result;
}

Reach::Reach(const Graph& graph, std::vector<Container> containers, const Counts* counts)
    : containers_(std::move(containers)), counts_(counts) {
  if (containers_.size() > kMostContainers) containers_.resize(kMostContainers);
  spread(graph);
  const std::vector<Container> all = std::exchange(containers_, {});
  std::ranges::copy_if(all, std::back_inserter(containers_), [&](const Container& each) { return stays(each, all); });
  if (containers_.size() != all.size()) spread(graph);
}

/// True if a container counts separately from the others in `all`. A list in a list is a part of that list. A list that
/// is held by a model's modules, and has more entries than they do, counts separately.
bool Reach::stays(const Container& container, const std::vector<Container>& all) const {
  const std::uint32_t by = of(container.node);
  if ((by & (kOtherwise | kUnexplained)) != 0) return true;
  const bool has_entries = container.kind == ContainerKind::kEntries || container.kind == ContainerKind::kAttributes;
  if (by == 0 || !has_entries) return false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((by >> (i + 1) & 1U) != 0 && all[i].entries.size() >= container.entries.size()) return false;
  }
  return true;
}

void Reach::spread(const Graph& graph) {
  reached_by_.assign(graph.nodes().size(), 0);
  // Every entry of a container counts, even if it leads to no storage of interest.
  const auto is_entry = [&](const Container& container, EdgeIndex number) {
    switch (container.kind) {
      case ContainerKind::kEntries:
        return is_entry_label(graph.edges()[number].label);
      case ContainerKind::kAttributes:
      case ContainerKind::kGraph:
        return container.entries.contains(number);
      case ContainerKind::kFinishedFrame:
        return true;
    }
    return false;
  };
  std::vector<std::uint8_t> container_of(graph.nodes().size(), 0);  // from 1
  for (std::size_t i = 0; i < containers_.size(); ++i) {
    container_of[containers_[i].node] = static_cast<std::uint8_t>(i + 1);
  }

  std::vector<NodeIndex> waiting;
  const auto reach = [&](NodeIndex node, std::uint32_t by) {
    if ((reached_by_[node] | by) == reached_by_[node]) return;
    const bool is_new = reached_by_[node] == 0;
    if (is_new && counts_ != nullptr && !counts_->all_found(node)) by |= kUnexplained;
    reached_by_[node] |= by;
    waiting.push_back(node);
  };
  for (const GraphEdge& edge : graph.edges()) {
    // If no root leads to an object, an object that was not decoded may hold it.
    if (edge.source == kRootNode && (!graph.root(edge.index).name.empty() || !graph.is_rooted(edge.target))) {
      reach(edge.target, kOtherwise);
    }
  }
  while (!waiting.empty()) {
    const NodeIndex node = waiting.back();
    waiting.pop_back();
    const std::uint32_t by = reached_by_[node];
    const std::uint8_t own = container_of[node];
    for (EdgeIndex i = graph.nodes()[node].first_edge; i < graph.nodes()[node].end_edge; ++i) {
      const GraphEdge& edge = graph.edges()[i];
      const bool entry = own != 0 && is_entry(containers_[own - 1U], i);
      // A module keeps its variables, also if a list has one of its functions.
      const std::uint32_t onward = edge.cost >= kThroughGlobals ? by & kOtherwise : by;
      reach(edge.target, entry ? 1U << own : onward);
    }
  }
}

}  // namespace dcmt::scan

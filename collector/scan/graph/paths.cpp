#include "collector/scan/graph/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace dcmt::scan {
namespace {

constexpr std::size_t kLongestWay = 3000;

bool is_identifier(const std::string& word) {
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) == 0 &&
         std::ranges::all_of(word, [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '_'; });
}

bool is_number(const std::string& word) {
  return !word.empty() && std::ranges::all_of(word, [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

}  // namespace

bool holds_attributes(std::string_view label) {
  return label == ".__dict__" || label == "._modules" || label == "._parameters" || label == "._buffers";
}

std::vector<EdgeIndex> Paths::way_to(NodeIndex node) const {
  std::vector<EdgeIndex> way;
  while (node != kRootNode && way.size() < kLongestWay) {
    if (!graph_.is_rooted(node)) return {};
    way.push_back(graph_.nodes()[node].best_edge);
    node = graph_.edges()[way.back()].source;
  }
  std::reverse(way.begin(), way.end());
  return way;
}

std::string Paths::label_of(const GraphEdge& edge) {
  const GraphNode& source = graph_.nodes()[edge.source];
  const PythonLayout& layout = types_.python;
  const auto dict_key = [&] {
    return text_.key(text_.key_at(memory_.word(source.address + layout.dict_keys), edge.index));
  };
  switch (edge.label) {
    case Label::kRoot:
      return graph_.root_name(edge.index);
    case Label::kItem:
      return fmt::format("[{}]", edge.index);
    case Label::kDictValue:
      return fmt::format("[{}]", dict_key());
    case Label::kDictKey:
      return fmt::format(".key({})", dict_key());
    case Label::kSetItem:
      return "{item}";
    case Label::kInlineValue: {
      const PythonType* type = types_.python_types.type_of(memory_, source.address);
      if (type == nullptr) return ".?";
      return "." + text_.text(text_.key_at(memory_.word(type->address + layout.heaptype_cached_keys), edge.index));
    }
    case Label::kWord:
      return fmt::format("+{}", edge.index);
    case Label::kLocal:
      return ": " + text_.local_name(source.address, edge.index);
    case Label::kOperand:
      return fmt::format(": (operand {}, unproven)", edge.index);
    case Label::kName:
      return types_.names.text(edge.index);
  }
  return "?";
}

/// What a person writes for an entry of a dictionary that holds attributes; empty where `container` is none of those.
std::string Paths::attribute(const std::string& container, const GraphEdge& entry) {
  if (entry.label != Label::kDictValue || !holds_attributes(container)) return {};
  const GraphNode& dict = graph_.nodes()[entry.source];
  const std::string word = text_.text(text_.key_at(memory_.word(dict.address + types_.python.dict_keys), entry.index));
  if (is_identifier(word)) return "." + word;
  return is_number(word) ? "[" + word + "]" : std::string();
}

std::string Paths::type_of(NodeIndex node) {
  const GraphNode& object = graph_.nodes()[node];
  return text_.type_name(object.address, object.kind);
}

std::string Paths::place_of(std::span<const EdgeIndex> way) {
  if (way.empty() || graph_.edges()[way.front()].source != kRootNode) return {};
  const GraphNode& root = graph_.nodes()[graph_.edges()[way.front()].target];
  return root.kind == Kind::kFrame ? text_.frame_line(root.address) : std::string();
}

std::string Paths::text_of(std::span<const EdgeIndex> way) {
  std::string text;
  std::size_t folded = 0;
  for (std::size_t i = 0; i < way.size(); ++i) {
    const GraphEdge& edge = graph_.edges()[way[i]];
    const Kind source = graph_.nodes()[edge.source].kind;
    if (source == Kind::kNode && graph_.nodes()[edge.target].kind == Kind::kNode) {
      ++folded;  // a step within the graph: only how many there are matters
      continue;
    }
    if (folded != 0) {
      const GraphNode& last = graph_.nodes()[edge.source];
      text += fmt::format(" … {} {} → {}", folded, folded == 1 ? "node" : "nodes",
                          text_.type_name(last.address, last.kind));
      folded = 0;
    }
    std::string label = label_of(edge);
    NodeIndex reached = edge.target;
    while (i + 1 < way.size()) {
      const GraphEdge& entry = graph_.edges()[way[i + 1]];
      const std::string name = attribute(label, entry);
      if (name.empty()) break;
      label = name;
      reached = entry.target;
      ++i;
    }
    if (label == " (storage)" || label == " (as tensor)") continue;
    if (i == 0 && label == "__main__") label = "main";
    text += label;
    const GraphNode& target = graph_.nodes()[reached];
    if (target.kind == Kind::kNode) text += " " + type_of(reached);
    if (target.kind == Kind::kFrame && i != 0) text += " " + text_.frame_place(target.address);
  }
  return text;
}

std::string Paths::text_of(const Cycle& cycle) {
  std::string text = "cycle ";
  bool has_node = false;
  std::string pending;  // a dictionary of attributes, whose entry comes next
  for (const EdgeIndex number : cycle.circle) {
    const GraphEdge& edge = graph_.edges()[number];
    const Kind source = graph_.nodes()[edge.source].kind;
    has_node |= source == Kind::kNode;
    const std::string label = label_of(edge);
    if (label.empty() || label == " (as tensor)" || source == Kind::kTensor || source == Kind::kStorage) continue;
    if (holds_attributes(label)) {
      text += type_of(edge.source);
      pending = label;
      continue;
    }
    const std::string name = attribute(pending, edge);
    if (pending.empty()) text += type_of(edge.source);
    text += (name.empty() ? pending + label : name) + " → ";
    pending.clear();
  }
  const NodeIndex first = graph_.edges()[cycle.circle.front()].source;
  text += type_of(first);
  text +=
      has_node ? " (through autograd nodes, which Python's collector cannot see)" : " (Python's collector can free it)";
  if (!cycle.from_it.empty()) text += "; it keeps " + type_of(first) + text_of(std::span(cycle.from_it));
  return text;
}

std::string Paths::pattern_of(const std::string& path) {
  std::string pattern;
  for (std::size_t i = 0; i < path.size(); ++i) {
    pattern += path[i];
    const bool by_number = i + 1 < path.size() && (std::isdigit(static_cast<unsigned char>(path[i + 1])) != 0 ||
                                                   path[i + 1] == '<' || path[i + 1] == '(');
    if (path[i] != '[' || !by_number) continue;
    const std::size_t close = path.find(']', i);
    if (close == std::string::npos) continue;
    pattern += "*]";
    i = close;
  }
  return pattern;
}

}  // namespace dcmt::scan

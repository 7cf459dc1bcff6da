#include "collector/scan/graph/paths.h"
#include "trace/base/cycle_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace dcmt::scan {
namespace {

constexpr std::string_view kNextNode = ".next_functions[";

constexpr std::size_t kLongestWay = 3000;
constexpr std::string_view kAttributes = ".__dict__";

bool is_identifier(const std::string& word) {
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) == 0 &&
         std::ranges::all_of(word, [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '_'; });
}

bool is_number(const std::string& word) {
  return !word.empty() && std::ranges::all_of(word, [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

}  // namespace

bool holds_attributes(std::string_view label) {
  return label == kAttributes || label == "._modules" || label == "._parameters" || label == "._buffers";
}

Paths::Run Paths::run_to(NodeIndex node) {
  std::vector<NodeIndex> within;
  auto known = runs_.find(node);
  for (; known == runs_.end(); known = runs_.find(node)) {
    const EdgeIndex best = graph_.nodes()[node].best_edge;
    if (!graph_.is_within_run(best)) {
      known = runs_.emplace(node, Run{node, 0}).first;
      break;
    }
    within.push_back(node);
    node = graph_.edges()[best].source;
  }
  Run run = known->second;
  for (auto each = within.rbegin(); each != within.rend(); ++each) {
    ++run.length;
    runs_.emplace(*each, run);
  }
  return run;
}

std::vector<EdgeIndex> Paths::way_to(NodeIndex node) {
  std::vector<EdgeIndex> way;
  while (node != kRootNode) {
    if (!graph_.is_rooted(node) || way.size() >= kLongestWay) return {};
    way.push_back(graph_.nodes()[node].best_edge);
    node = graph_.is_within_run(way.back()) ? run_to(node).first : graph_.edges()[way.back()].source;
  }
  std::reverse(way.begin(), way.end());
  return way;
}

bool Paths::has_tensor_as_key(const GraphEdge& entry) {
  const PythonType* type = types_.python_types.type_of(memory_, entry.index);
  return type != nullptr && type->kind == Kind::kPythonTensor;
}

std::string Paths::label_of(const GraphEdge& edge) {
  const GraphNode& source = graph_.nodes()[edge.source];
  const std::uint64_t index = edge.index;
  switch (edge.label) {
    case Label::kRoot:
      return graph_.root(index).name;
    case Label::kItem:
      return fmt::format("[{}]", index);
    case Label::kDictValue:
      return fmt::format("[{}]", text_.key(index));
    case Label::kDictKey:
      return fmt::format(".key({})", text_.key(index));
    case Label::kSetItem:
      return "{item}";
    case Label::kInlineValue: {
      const PythonType* type = types_.python_types.type_of(memory_, source.address);
      if (type == nullptr) return ".?";
      return "." + text_.text(text_.key_at(memory_.word(type->address + types_.python.heaptype_cached_keys), index));
    }
    case Label::kWord:
      return fmt::format("+{}", index);
    case Label::kLocal:
      return ": " + text_.local_name(source.address, index);
    case Label::kOperand:
      return fmt::format(": ({} in use)", type_of(edge.target));
    case Label::kName:
    case Label::kKey:
      return types_.names.text(index);
  }
  return "?";
}

/// The text of an entry in a dictionary of attributes; empty if `container` is not such a dictionary.
std::string Paths::attribute(const std::string& container, const GraphEdge& entry) {
  if (entry.label != Label::kDictValue || !holds_attributes(container)) return {};
  const std::string word = text_.text(entry.index);
  if (is_identifier(word)) return "." + word;
  return is_number(word) ? "[" + word + "]" : std::string();
}

/// "['past']" if `way` leads from a function through its closure into the cell of this variable; empty if the path ends
/// earlier, or the name cannot be read.
std::string Paths::closure_variable(std::span<const EdgeIndex> way) {
  if (way.size() < 3) return {};
  const GraphNode& function = graph_.nodes()[graph_.edges()[way[0]].source];
  const std::string name = text_.closure_name(function.address, graph_.edges()[way[1]].index);
  return name.empty() ? name : "['" + name + "']";
}

std::string Paths::type_of(NodeIndex node) {
  const GraphNode& object = graph_.nodes()[node];
  return text_.type_name(object.address, object.kind);
}

std::string Paths::place_of(std::span<const EdgeIndex> way) {
  if (way.empty() || graph_.edges()[way.front()].source != kRootNode) return {};
  const GraphNode& root = graph_.nodes()[graph_.edges()[way.front()].target];
  if (root.kind == Kind::kFrame) return text_.frame_line(root.address);
  return graph_.root(graph_.edges()[way.front()].index).place;
}

std::string Paths::text_of(std::span<const EdgeIndex> way) {
  std::string text;
  std::size_t folded = 0;
  for (std::size_t i = 0; i < way.size(); ++i) {
    const GraphEdge& edge = graph_.edges()[way[i]];
    const Kind source = graph_.nodes()[edge.source].kind;
    if (graph_.is_within_run(way[i])) {  // only the number of such steps matters
      const bool follows = i == 0 || graph_.edges()[way[i - 1]].target == edge.source;
      folded += follows ? 1 : run_to(edge.target).length;
      continue;
    }
    if (folded != 0) {
      const GraphNode& last = graph_.nodes()[edge.source];
      text += fmt::format(" … {} {} → {}", folded, folded == 1 ? "node" : "nodes",
                          text_.type_name(last.address, last.kind));
      folded = 0;
    }
    std::string label = label_of(edge);
    if (i == 0 && label.ends_with(kAttributes)) {  // the dictionary of a module that is not a root itself
      text = label.substr(0, label.size() - kAttributes.size());
      label = kAttributes;
    }
    NodeIndex reached = edge.target;
    while (i + 1 < way.size()) {
      const GraphEdge& entry = graph_.edges()[way[i + 1]];
      const std::string name = attribute(label, entry);
      if (name.empty()) break;
      label = name;
      reached = entry.target;
      ++i;
    }
    const std::string variable = label == ".__closure__" ? closure_variable(way.subspan(i)) : std::string();
    if (!variable.empty()) {
      label += variable;
      i += 2;
      reached = graph_.edges()[way[i]].target;
    }
    if (label == " (storage)" || label == " (as tensor)") continue;
    // Python code uses a shared variable like any other, so its cell is not shown.
    if (source == Kind::kCell && i != 0 && graph_.edges()[way[i - 1]].label == Label::kLocal) continue;
    if (i == 0 && label == "__main__") label = "main";
    text += label;
    const GraphNode& target = graph_.nodes()[reached];
    if (target.kind == Kind::kNode) text += " " + type_of(reached);
    if (target.kind == Kind::kFrame && i != 0) text += " " + text_.frame_place(target.address);
  }
  return text;
}

std::vector<Paths::CycleStep> Paths::steps_of(std::vector<EdgeIndex> circle) {
  // An entry must follow the dictionary of attributes that has it.
  if (holds_attributes(label_of(graph_.edges()[circle.back()]))) std::ranges::rotate(circle, circle.end() - 1);
  std::vector<CycleStep> steps;
  std::string pending;  // text of a dictionary of attributes; its entry follows
  for (const EdgeIndex number : circle) {
    const GraphEdge& edge = graph_.edges()[number];
    const Kind source = graph_.nodes()[edge.source].kind;
    const std::string label = label_of(edge);
    if (label.empty() || label == " (as tensor)" || source == Kind::kTensor || source == Kind::kStorage) continue;
    if (pending.empty()) steps.push_back({type_of(edge.source), {}});
    if (holds_attributes(label)) {
      pending = label;
      continue;
    }
    const std::string name = attribute(pending, edge);
    steps.back().reference = name.empty() ? pending + label : name;
    pending.clear();
  }
  return steps;
}

std::string Paths::text_of(const Cycle& cycle) {
  std::vector<CycleStep> steps = steps_of(cycle.circle);
  // The text of a cycle must not depend on where it was entered.
  std::ranges::rotate(steps, std::ranges::min_element(steps));
  std::string text(cycle_text::kBegin);
  const auto is_of_graph = [&](std::size_t step) {
    return step < steps.size() && steps[step].reference.starts_with(kNextNode);
  };
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    parts.push_back(steps[i].type + steps[i].reference + " → ");
    if (!is_of_graph(i) || !is_of_graph(i + 1)) continue;
    parts.back() += cycle_text::kMoreNodes;
    while (is_of_graph(i + 1)) ++i;
  }
  // Several layers that lead to each other alike are as one.
  std::size_t period = 1;
  while (period < parts.size() &&
         (parts.size() % period != 0 ||
          !std::equal(parts.begin() + static_cast<std::ptrdiff_t>(period), parts.end(), parts.begin())))
    ++period;
  for (std::size_t i = 0; i < std::min(period, parts.size()); ++i) text += parts[i];
  if (!steps.empty()) text += steps.front().type;
  const bool has_node = std::ranges::any_of(cycle.circle, [&](EdgeIndex number) {
    return graph_.nodes()[graph_.edges()[number].source].kind == Kind::kNode;
  });
  const bool is_frozen = std::ranges::any_of(cycle.circle, [&](EdgeIndex number) {
    return frozen_.contains(graph_.nodes()[graph_.edges()[number].source].address);
  });
  text += has_node         ? cycle_text::kThroughNodes
          : is_frozen      ? cycle_text::kFrozen
          : collector_off_ ? cycle_text::kCollectorIsOff
                           : cycle_text::kCollectorFrees;
  const NodeIndex first = graph_.edges()[cycle.circle.front()].source;
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

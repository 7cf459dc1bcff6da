#include "collector/scan/graph/modules.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace dcmt::scan {
namespace {

/// Limit for a model: memory that changes can seem to have any number.
constexpr std::size_t kMostModules = 1 << 17;

constexpr std::array<std::string_view, 3> kDictionaries = {"_parameters", "_buffers", "_modules"};

}  // namespace

Modules::Modules(const Graph& graph, Paths& paths, PythonText& text, const std::vector<Address>& addresses)
    : graph_(graph), paths_(paths), text_(text) {
  struct Module {
    const GraphNode* node = nullptr;
    Entries inside;
  };
  std::vector<Module> modules;
  std::unordered_map<Address, std::size_t> places;
  std::unordered_set<Address> inner;
  const auto add = [&](const GraphNode* node) {
    if (node != nullptr && node->kind == Kind::kObject && modules.size() < kMostModules &&
        places.try_emplace(node->address, modules.size()).second) {
      modules.push_back({node, {}});
    }
  };
  for (const NodeIndex node : with_outer(addresses)) add(&graph_.nodes()[node]);
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const GraphNode& module = *modules[i].node;
    const auto [parameters, buffers, of_modules] = dictionaries_of(module);
    for (const GraphNode* each : {parameters, buffers}) {
      for (const auto& [name, tensor] : entries(each)) by_tensor_.try_emplace(tensor->address, module.address);
    }
    Entries inside = entries(of_modules);
    for (const auto& [name, each] : inside) {
      inner.insert(each->address);
      add(each);
    }
    modules[i].inside = std::move(inside);
  }
  std::unordered_set<Address> done;
  std::vector<std::pair<std::size_t, std::string>> queue;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    if (!inner.contains(modules[i].node->address)) queue.emplace_back(i, variable_of(*modules[i].node));
  }
  while (!queue.empty()) {
    auto [place, name] = std::move(queue.back());
    queue.pop_back();
    const Module& module = modules[place];
    if (!done.insert(module.node->address).second) continue;
    for (const auto& [key, each] : module.inside) {
      if (const auto found = places.find(each->address); found != places.end()) {
        queue.emplace_back(found->second, name + "." + key);
      }
    }
    named_.push_back({module.node->address, std::move(name)});
  }
}

/// The modules at the addresses, and those that have them. A module can be read while only its parts have allocated.
std::vector<NodeIndex> Modules::with_outer(const std::vector<Address>& addresses) {
  std::vector<bool> is_found(graph_.nodes().size());
  std::vector<NodeIndex> found;
  const auto add = [&](NodeIndex node) {
    if (node == kRootNode || is_found[node] || graph_.nodes()[node].kind != Kind::kObject) return false;
    is_found[node] = true;
    found.push_back(node);
    return true;
  };
  for (const Address address : addresses) add(graph_.find(address, Kind::kObject));
  constexpr int kDeepest = 32;
  bool is_more = !found.empty();
  for (int depth = 0; is_more && depth < kDeepest; ++depth) {
    is_more = false;
    for (const GraphEdge& edge : graph_.edges()) {
      if (edge.label == Label::kDictValue && is_found[edge.target]) is_more |= add(owner_of(edge.source));
    }
  }
  return found;
}

/// The object whose `_modules` the dictionary is; kRootNode if it is none's.
NodeIndex Modules::owner_of(NodeIndex dict) {
  const auto [owner, is_new] = owners_.try_emplace(dict, kRootNode);
  if (!is_new || !graph_.is_rooted(dict)) return owner->second;
  const GraphEdge& edge = graph_.edges()[graph_.nodes()[dict].best_edge];
  if (edge.source == kRootNode) return kRootNode;
  const std::string label = paths_.label_of(edge);
  if (label == "._modules") return owner->second = edge.source;
  if (label != "['_modules']" || !graph_.is_rooted(edge.source)) return kRootNode;
  return owner->second = graph_.edges()[graph_.nodes()[edge.source].best_edge].source;  // of its __dict__
}

Address Modules::having(std::span<const Address> tensors) const {
  for (const Address tensor : tensors) {
    if (const auto module = by_tensor_.find(tensor); module != by_tensor_.end()) return module->second;
  }
  return 0;
}

/// The dictionaries of a module, in its own dictionary or beside it; nullptr for those that it does not have.
Modules::Dictionaries Modules::dictionaries_of(const GraphNode& module) {
  Dictionaries found{};
  const auto note = [&found](std::string_view name, const GraphNode* value) {
    for (std::size_t i = 0; i < kDictionaries.size(); ++i) {
      if (name == kDictionaries[i]) found[i] = value;
    }
  };
  for (EdgeIndex i = module.first_edge; i < module.end_edge; ++i) {
    const GraphEdge& edge = graph_.edges()[i];
    const GraphNode& target = graph_.nodes()[edge.target];
    if (target.kind != Kind::kDict) continue;
    const std::string label = paths_.label_of(edge);
    if (edge.label == Label::kInlineValue) note(std::string_view(label).substr(1), &target);
    if (label != ".__dict__") continue;
    for (const auto& [key, value] : entries(&target)) note(key, value);
  }
  return found;
}

Modules::Entries Modules::entries(const GraphNode* dict) {
  Entries found;
  if (dict == nullptr) return found;
  for (EdgeIndex i = dict->first_edge; i < dict->end_edge; ++i) {
    const GraphEdge& edge = graph_.edges()[i];
    if (edge.label == Label::kDictValue) found.emplace_back(text_.text(edge.index), &graph_.nodes()[edge.target]);
  }
  return found;
}

/// "trainer.model" of "main: trainer.model" and of "main.trainer.model"; its class if no variable leads to it.
std::string Modules::variable_of(const GraphNode& module) {
  const NodeIndex node = graph_.find(module.address, module.kind);
  const std::vector<EdgeIndex> way = paths_.way_to(node);
  std::string variable;
  if (!way.empty()) {
    // The name of a frame's function ends with a colon, that of a Python module with a dot.
    const std::string path = paths_.text_of(way);
    const std::size_t frame = path.find(": ");
    std::string_view root = graph_.root(graph_.edges()[way.front()].index).name;
    root.remove_suffix(root.ends_with(".__dict__") ? std::string_view(".__dict__").size() : 0);
    if (root == "__main__") root = "main";
    const std::size_t end = frame != std::string::npos ? frame + 1 : path.starts_with(root) ? root.size() : 0;
    variable = path.substr(std::min(path.find_first_not_of(". ", end), path.size()));
  }
  // Its own method is running.
  const bool is_self = variable.empty() || variable == "self";
  return is_self ? text_.type_name(module.address, module.kind) : variable;
}

}  // namespace dcmt::scan

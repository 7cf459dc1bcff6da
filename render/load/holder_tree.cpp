#include "render/load/holder_tree.h"

#include <algorithm>
#include <map>
#include <string>

#include "trace/base/quantities.h"

namespace dcmt::load {
namespace {

/// A step of a path begins before these.
constexpr std::string_view kArrow = " → ";
constexpr std::string_view kNodes = " … ";
constexpr std::string_view kLocal = ": ";

bool begins_step(std::string_view rest) {
  return rest.starts_with(".") || rest.starts_with("[") || rest.starts_with(kArrow) || rest.starts_with(kNodes) ||
         rest.starts_with(kLocal);
}

/// The index at which the opening character of `rest` is closed; 1 if it is not.
std::size_t closed_at(std::string_view rest) {
  std::size_t depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[' || c == '(' || c == '<') {
      ++depth;
    } else if ((c == ']' || c == ')' || c == '>') && --depth == 0) {
      return i + 1;
    }
  }
  return 1;
}

struct Branch {
  std::string_view step;
  std::vector<Branch> inner;
  const model::HoldingPath* path = nullptr;            ///< the path that ends at this node
  const model::HoldingContainer* container = nullptr;  ///< the container that this node is
};

std::string note_of(Bytes bytes, std::int64_t storages) {
  return rounded_bytes(bytes.value) + " in " + grouped(storages);
}

scene::HolderNode node_of(const Branch& branch) {
  scene::HolderNode node;
  const Branch* last = &branch;
  node.text = branch.step;
  // A path through a container shows the container.
  while (last->path == nullptr && last->container == nullptr && last->inner.size() == 1) {
    last = &last->inner.front();
    node.text += last->step;
  }
  // The continuation of a branch begins with what the names before it lead to.
  if (node.text.starts_with(' ')) node.text.erase(0, node.text.find_first_not_of(' '));
  if (last->container != nullptr) {
    node.strong = true;
    node.note = std::string(last->container->type) + " · " +
                note_of(last->container->bytes, last->container->storages) + " · alone " +
                rounded_bytes(last->container->alone.value);
  } else if (last->path != nullptr) {
    node.note = note_of(last->path->bytes, last->path->storages);
    if (!last->path->confirmed) node.note += " · changed while it was read";
  }
  for (const Branch& each : last->inner) node.held.push_back(node_of(each));
  return node;
}

}  // namespace

std::vector<std::string_view> steps_of_path(std::string_view path) {
  std::vector<std::string_view> steps;
  std::size_t from = 0;
  std::size_t at = 0;
  while (at < path.size()) {
    const std::string_view rest = path.substr(at);
    if (at > from && begins_step(rest)) {
      steps.push_back(path.substr(from, at - from));
      from = at;
    }
    if (rest.front() == '[' || rest.front() == '(' || rest.front() == '<') {
      at += closed_at(rest);
    } else if (begins_step(rest) && rest.front() == ' ') {
      at += rest.starts_with(kArrow) ? kArrow.size() : kNodes.size();
    } else {
      ++at;
    }
  }
  if (from < path.size()) steps.push_back(path.substr(from));
  return steps;
}

std::vector<scene::HolderNode> holder_tree(const model::HoldersView& view, std::size_t most) {
  Branch all;
  const auto at = [&all](std::string_view path) {
    Branch* branch = &all;
    for (const std::string_view step : steps_of_path(path)) {
      const auto found = std::ranges::find(branch->inner, step, &Branch::step);
      branch = found != branch->inner.end() ? &*found : &branch->inner.emplace_back(Branch{step, {}, nullptr, nullptr});
    }
    return branch;
  };
  std::map<std::string_view, bool> known;
  for (const model::HoldingPath& path : view.paths) {
    if (known.size() == most) break;
    // A path that was once found changing is listed twice; the first entry is the better one.
    Branch* branch = at(path.path);
    if (branch->path == nullptr || (!branch->path->confirmed && path.confirmed)) branch->path = &path;
    known.emplace(path.path, true);
  }
  for (const model::HoldingContainer& container : view.containers) {
    Branch* branch = &all;
    for (const std::string_view step : steps_of_path(container.path)) {
      const auto found = std::ranges::find(branch->inner, step, &Branch::step);
      branch = found != branch->inner.end() ? &*found : nullptr;
      if (branch == nullptr) break;  // it belongs to a path that is not shown
    }
    if (branch != nullptr && branch != &all) branch->container = &container;
  }
  std::vector<scene::HolderNode> roots;
  for (const Branch& each : all.inner) roots.push_back(node_of(each));
  return roots;
}

}  // namespace dcmt::load

#include "analyzer/model/stack_tree.h"

#include <algorithm>
#include <map>
#include <utility>

#include "trace/base/code_path.h"

namespace dcmt::model {
namespace {

/// Deeper stacks come from a recursion.
constexpr std::size_t kMostFrames = 48;

struct Node {
  Bytes bytes;
  std::int64_t blocks = 0;
  std::map<std::string, Node> inner;

  void add(Bytes more) {
    bytes.value += more.value;
    ++blocks;
  }
};

StackTree tree_of(std::string name, Node node) {
  StackTree tree{std::move(name), node.bytes, node.blocks, {}};
  for (auto& [inner, below] : node.inner) tree.inner.push_back(tree_of(inner, std::move(below)));
  std::ranges::stable_sort(tree.inner, [](const StackTree& a, const StackTree& b) { return a.bytes > b.bytes; });
  return tree;
}

/// The name for a block whose stack has no frame to show.
std::string name_without_frames(const LiveBlock& block) {
  if (block.owner) return std::string(*block.owner);
  return block.by.stack.empty() ? "(no Python frame)" : block.by.site;
}

}  // namespace

StackTree stack_tree_of(const LiveSet& live) {
  Node root;
  for (const LiveBlock& block : live.blocks()) {
    Node* at = &root;
    at->add(block.bytes);
    std::size_t frames = 0;
    for (auto frame = block.by.stack.rbegin(); frame != block.by.stack.rend() && frames < kMostFrames; ++frame) {
      if (frame->library()) continue;
      at = &at->inner[std::string(short_path(frame->file)) + ":" + std::to_string(frame->line) + " " +
                      std::string(frame->function)];
      at->add(block.bytes);
      ++frames;
    }
    if (frames == 0) at->inner[name_without_frames(block)].add(block.bytes);
  }
  return tree_of({}, std::move(root));
}

}  // namespace dcmt::model

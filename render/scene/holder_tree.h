// Holders as a tree that is drawn from left to right, with an arrow from each holder to what it holds.
#pragma once

#include <string>
#include <vector>

#include "render/scene/canvas.h"
#include "render/scene/frame.h"

namespace dcmt::scene {

struct HolderNode {
  std::string text, note;  ///< note: follows the text, "25.0 MiB in 50"
  bool strong = false;     ///< a container: the place that one would change
  std::vector<HolderNode> held;
};

struct HolderTreeFacts {
  std::vector<TextOf> texts;
  struct Arrow {
    Box from, to;  ///< of the nodes
  };
  std::vector<Arrow> arrows;
  int width = 0, height = 0;  ///< of the whole picture
};

/// Only measures if `canvas` is nullptr. Uses text_height, text_width and theme of `appearance`.
HolderTreeFacts draw_holder_tree(const std::vector<HolderNode>& roots, const Appearance& appearance, Canvas* canvas);

}  // namespace dcmt::scene

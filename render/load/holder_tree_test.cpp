#include "render/load/holder_tree.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace dcmt::load {
namespace {

std::string joined(const std::vector<std::string_view>& steps) {
  std::string text;
  for (const std::string_view step : steps) text += (text.empty() ? "" : "|") + std::string(step);
  return text;
}

TEST(HolderTree, StepsOfPaths) {
  for (const char* text : {
           "main|.losses|[*]",
           "main|: count|.__closure__|[0]|.cell_contents",
           "main|: nested|['a.b[c']|[*]",
           "main|.table (lru_cache)",
           "main|.opt|.state|.key(<Parameter [3]>)",
           "main|.losses|[*]|.grad_fn PowBackward0| … 1 node| → AddmmBackward0|._saved_mat1",
           "main|[",
       }) {
    std::string path(text);
    std::erase(path, '|');
    EXPECT_EQ(joined(steps_of_path(path)), text);
  }
  EXPECT_TRUE(steps_of_path("").empty());
}

TEST(HolderTree, StepsTogetherAreThePathWhateverItSays) {
  std::mt19937 random(7);
  const std::string letters = "ab.[]()<>'\" :→…";
  for (int i = 0; i < 20000; ++i) {
    std::string path;
    for (auto n = random() % 30; n > 0; --n) path += letters[random() % letters.size()];
    std::string all;
    for (const std::string_view step : steps_of_path(path)) {
      EXPECT_FALSE(step.empty());
      all += step;
    }
    EXPECT_EQ(all, path);
  }
}

TEST(HolderTree, PathsShareWhatTheyBeginWith) {
  model::HoldersView view;
  view.paths.resize(4);
  view.paths[0].path = "main.losses[*]";
  view.paths[0].bytes = Bytes(2048);
  view.paths[0].storages = 2;
  view.paths[1].path = "main.losses[*].grad_fn PowBackward0._saved_self";
  view.paths[2].path = "main.losses[*].grad_fn PowBackward0 … 1 node → AddmmBackward0._saved_mat1";
  view.paths[3].path = "main.other";
  view.containers.resize(2);
  view.containers[0].path = "main.losses";
  view.containers[0].type = "list";
  view.containers[1].path = "elsewhere";
  const std::vector<scene::HolderNode> roots = holder_tree(view, 60);
  ASSERT_EQ(roots.size(), 1U);
  EXPECT_EQ(roots[0].text, "main");
  ASSERT_EQ(roots[0].held.size(), 2U);
  const scene::HolderNode& losses = roots[0].held[0];
  EXPECT_EQ(losses.text, ".losses");
  EXPECT_TRUE(losses.strong);
  EXPECT_TRUE(losses.note.starts_with("list"));
  ASSERT_EQ(losses.held.size(), 1U);
  EXPECT_EQ(losses.held[0].text, "[*]");
  EXPECT_EQ(losses.held[0].note, "2.0 KiB in 2");
  ASSERT_EQ(losses.held[0].held.size(), 1U);
  EXPECT_EQ(losses.held[0].held[0].held.size(), 2U);
  EXPECT_EQ(roots[0].held[1].text, ".other");
  EXPECT_EQ(holder_tree(view, 1)[0].held.size(), 1U) << "of the first path alone";
}

TEST(HolderTree, ArrowsLeadToTheRightAndNoNodesMeet) {
  std::mt19937 random(3);
  const auto grow = [&](auto& self, int depth) -> scene::HolderNode {
    scene::HolderNode node{std::string(1 + random() % 20, 'x'), random() % 2 == 0 ? "" : "1 KiB in 2", false, {}};
    if (depth < 5) {
      for (auto n = random() % 4; n > 0; --n) node.held.push_back(self(self, depth + 1));
    }
    return node;
  };
  for (int i = 0; i < 100; ++i) {
    std::vector<scene::HolderNode> roots{grow(grow, 0), grow(grow, 0)};
    scene::Appearance appearance;
    appearance.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
    const scene::HolderTreeFacts facts = scene::draw_holder_tree(roots, appearance, nullptr);
    for (const auto& arrow : facts.arrows) EXPECT_LT(arrow.from.x + arrow.from.width, arrow.to.x);
    for (std::size_t a = 0; a < facts.texts.size(); ++a) {
      EXPECT_LE(facts.texts[a].box.x + facts.texts[a].box.width, facts.width);
      EXPECT_LE(facts.texts[a].box.y + facts.texts[a].box.height, facts.height);
      for (std::size_t b = a + 1; b < facts.texts.size(); ++b)
        EXPECT_FALSE(facts.texts[a].box.meets(facts.texts[b].box));
    }
  }
}

}  // namespace
}  // namespace dcmt::load

#include "render/load/story_of_storage.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/testing/test_trace.h"
#include "analyzer/testing/watched_story.h"
#include "render/load/session.h"
#include "render/scene/raster.h"

namespace dcmt::load {
namespace {

using scene::StoryChart;

class StoryTest : public ::testing::Test {
 protected:
  void open(bool fixed) {
    for (std::int64_t step = 1; step <= 2; ++step) {
      trace_.phase("forward", [&] { testing::add_zero3_graph(trace_, 4, 1'048'584, fixed); });
      trace_.step(step);
    }
    auto session = open_session(trace_.save());
    ASSERT_TRUE(session.ok());
    session_ = *session;
  }
  StoryOfStorage story(const model::StorageView& storage) {
    const std::string asked = "storage:" + std::to_string(storage.storage.value);
    const auto holders = model::holders_view("", session_->analysis, asked);
    const scene::Recording& recording = session_->devices.front()->recording();
    return story_of(storage, holders.ok() ? *holders : model::HoldersView{}, recording.begin_ns(),
                    recording.end_ns() - recording.begin_ns());
  }

  testing::TestTrace trace_;
  std::shared_ptr<Session> session_;
};

TEST_F(StoryTest, OfWhatIsKeptPastItsReleaseHasItsHolderAndItsDeadPart) {
  open(false);
  const StorageId id = session_->devices.front()->block_of(session_->devices.front()->lifetimes_of(1).front()).storage;
  const auto view = model::storage_view("", session_->analysis, id);
  ASSERT_TRUE(view.ok());
  const StoryOfStorage of = story(*view);
  const scene::Recording& recording = session_->devices.front()->recording();
  const auto x = [&](const model::RunPoint& at) {
    return static_cast<double>(at.ns.value - recording.begin_ns() - of.begin_ns);
  };
  const StoryChart::Bar& bytes = of.chart.bars.front();
  EXPECT_EQ(bytes.what, StoryChart::What::kBytes);
  EXPECT_EQ(bytes.from, x(view->blocks.front().born));
  EXPECT_EQ(bytes.to, x(*view->blocks.front().freed));
  ASSERT_TRUE(bytes.dead_from);
  EXPECT_EQ(x(view->bytes_gone->at) - *bytes.dead_from, static_cast<double>(view->held_for->value));
  const auto count = [&](StoryChart::What what) {
    return std::ranges::count(of.chart.bars, what, &StoryChart::Bar::what);
  };
  EXPECT_EQ(count(StoryChart::What::kTensor), static_cast<std::ptrdiff_t>(view->tensors.size()));
  std::size_t names = 0;
  for (const auto& census : view->censuses) names += census.paths.size();
  EXPECT_GT(names, 0U);
  EXPECT_EQ(count(StoryChart::What::kHolder), static_cast<std::ptrdiff_t>(names));
  // Each holder has an arrow, and so has each tensor.
  EXPECT_EQ(of.chart.arrows.size(), of.chart.bars.size() - view->blocks.size());
  for (const StoryChart::Arrow& arrow : of.chart.arrows) EXPECT_LT(arrow.held, arrow.holder);
  EXPECT_EQ(std::ranges::count(of.chart.points, StoryChart::Point::What::kRelease, &StoryChart::Point::what), 1);
}

TEST_F(StoryTest, AWatchedReferenceLastsFromWhoTookItToWhoGaveItBack) {
  for (int i = 0; i < 9; ++i) trace_.allocate(8);
  const std::string path = trace_.save();
  ASSERT_TRUE(testing::add_watched_counts(path).ok());
  const auto session = open_session(path);
  ASSERT_TRUE(session.ok());
  session_ = *session;
  const auto view = model::storage_view("", session_->analysis, StorageId(1));
  ASSERT_TRUE(view.ok());
  const StoryOfStorage of = story(*view);
  const auto bar = std::ranges::find(of.chart.bars, StoryChart::What::kReference, &StoryChart::Bar::what);
  ASSERT_NE(bar, of.chart.bars.end());
  EXPECT_EQ(bar->name, "buf0 = gather()");
  EXPECT_EQ(bar->note, "the return of call");
  EXPECT_EQ(bar->to - bar->from, 1000);
}

TEST_F(StoryTest, EveryStorageIsDrawnInsideOfItsChart) {
  for (const bool fixed : {false, true}) {
    open(fixed);
    for (const analyzer::Storage& storage : session_->data->storages) {
      const auto view = model::storage_view("", session_->analysis, storage.id);
      ASSERT_TRUE(view.ok());
      const StoryOfStorage of = story(*view);
      scene::Appearance appearance;
      appearance.width = 640;
      appearance.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
      appearance.height = scene::story_chart_height(of.chart, appearance.text_height);
      scene::Raster raster;
      raster.begin(appearance.width, appearance.height, appearance.theme->background);
      const scene::StoryChartFacts facts = scene::draw_story_chart(of.chart, appearance, of.chart.length / 2, raster);
      ASSERT_EQ(facts.bars.size(), of.chart.bars.size());
      for (std::size_t i = 0; i < facts.arrows.size(); ++i) {
        const scene::Box& arrow = facts.arrows[i];
        const scene::Box& held = facts.bars[of.chart.arrows[i].held];
        EXPECT_EQ(arrow.y, held.y + held.height) << "its head is at what is held, which is above";
        EXPECT_EQ(arrow.y + arrow.height, facts.bars[of.chart.arrows[i].holder].y);
      }
      for (std::size_t a = 0; a < facts.texts.size(); ++a) {
        EXPECT_LE(facts.texts[a].box.x + facts.texts[a].box.width, appearance.width) << facts.texts[a].text;
        EXPECT_LE(facts.texts[a].box.y + facts.texts[a].box.height, facts.height);
        for (std::size_t b = a + 1; b < facts.texts.size(); ++b) {
          EXPECT_FALSE(facts.texts[a].box.meets(facts.texts[b].box))
              << facts.texts[a].text << " and " << facts.texts[b].text;
        }
      }
    }
  }
}

}  // namespace
}  // namespace dcmt::load

#include "render/load/event_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analyzer/testing/test_trace.h"
#include "render/load/session.h"
#include "render/scene/raster.h"
#include "render/scene/testing.h"

namespace dcmt::load {
namespace {

using scene::testing::random_below;

class EventRows : public ::testing::Test {
 protected:
  void open() {
    for (std::int64_t step = 1; step <= 3; ++step) {
      trace_.phase("forward", [&] { testing::add_zero3_graph(trace_, 4, 1'048'584, step == 2); });
      trace_.op(
          "range", [&] { trace_.op("aten::add", [&] { trace_.op("aten::empty"); }); }, "user");
      trace_.step(step);
    }
    auto session = open_session(trace_.save());
    ASSERT_TRUE(session.ok());
    session_ = *session;
  }

  testing::TestTrace trace_;
  std::shared_ptr<Session> session_;
};

TEST_F(EventRows, OperatorsAreThoseOfTheViewOnBothAxes) {
  open();
  const DeviceTimeline& device = *session_->devices.front();
  ASSERT_EQ(device.document().spans.size(), 1U);
  const scene::SpanRow& row = device.document().spans.front();
  std::mt19937 random(5);
  for (int i = 0; i < 400; ++i) {
    scene::View view(device.recording(), i % 2 == 0 ? scene::Axis::kTime : scene::Axis::kEvents);
    const double from = view.length() * random_below(random, 1000) / 1000.0;
    view.show(from, from + view.length() * (1 + random_below(random, 300)) / 1000.0);
    std::vector<scene::SpanRow::Span> found;
    const std::size_t count = row.spans(view, 10000, found);
    EXPECT_EQ(count, found.size());
    // All outermost operators, and those of them that lie in the view.
    std::vector<scene::SpanRow::Span> all;
    scene::View whole(device.recording(), view.axis());
    row.spans(whole, 10000, all);
    std::vector<std::uint32_t> expected;
    double last = -1;
    for (const scene::SpanRow::Span& span : all) {
      EXPECT_LE(span.from, span.to);
      EXPECT_LE(last, span.from) << "one after the other";
      last = span.to;
      if (span.to >= view.from() && span.from < view.to()) expected.push_back(span.index);
    }
    std::vector<std::uint32_t> indices;
    for (const scene::SpanRow::Span& span : found) indices.push_back(span.index);
    EXPECT_EQ(indices, expected);
    if (count > 1) {
      EXPECT_EQ(row.spans(view, count - 1, found), count);
      EXPECT_TRUE(found.empty()) << "too many to be distinguished";
    }
  }
  std::vector<scene::SpanRow::Span> all;
  row.spans(scene::View(device.recording(), scene::Axis::kTime), 10000, all);
  std::size_t adds = 0;
  for (const scene::SpanRow::Span& span : all) {
    std::string name;
    row.label(span.index, name);
    EXPECT_NE(name, "range");
    EXPECT_NE(name, "aten::empty") << "it ran in another one";
    adds += name == "aten::add" ? 1 : 0;
  }
  EXPECT_EQ(adds, 3U) << "a range of the program is around each";
}

TEST_F(EventRows, GathersAndReleasesAreWhereTheyWere) {
  open();
  const DeviceTimeline& device = *session_->devices.front();
  ASSERT_EQ(device.document().points.size(), 2U);
  const auto marks = [&](analyzer::MarkKind kind) {
    return std::ranges::count(session_->data->marks, kind, &analyzer::Mark::kind);
  };
  const auto size = [&](std::size_t row, std::size_t kind) {
    return static_cast<std::ptrdiff_t>(device.document().points[row].kinds[kind].units.size());
  };
  EXPECT_EQ(size(0, 0), marks(analyzer::MarkKind::kWait));
  EXPECT_EQ(size(0, 1), marks(analyzer::MarkKind::kGather));
  EXPECT_EQ(size(1, 0) + size(1, 1), marks(analyzer::MarkKind::kRelease));
  EXPECT_EQ(size(1, 1), session_->report.releases.residual);
  EXPECT_GT(size(1, 1), 0);
  EXPECT_GT(size(1, 0), 0);
  for (const analyzer::Mark& mark : session_->data->marks) {
    if (mark.kind != analyzer::MarkKind::kGather) continue;
    const scene::Unit unit = device.unit_of(mark.span.from_seq);
    EXPECT_EQ(device.sequence_of(unit), mark.span.from_seq) << "a gather is a point of its own";
    EXPECT_TRUE(std::ranges::binary_search(device.document().points[0].kinds[1].units, unit));
  }

  // The expected points of a picture, found by checking each of them.
  scene::Appearance appearance;
  appearance.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
  appearance.height = 700;
  scene::Painter painter;
  std::mt19937 random(9);
  for (int i = 0; i < 60; ++i) {
    appearance.width = 300 + random_below(random, 900);
    scene::View view(device.recording(), i % 2 == 0 ? scene::Axis::kTime : scene::Axis::kEvents);
    const double width = view.length() * (10 + random_below(random, 990)) / 1000.0;
    const double from = (view.length() - width) * random_below(random, 1000) / 1000.0;
    view.show(from, from + width);
    scene::Raster raster;
    raster.begin(appearance.width, appearance.height, appearance.theme->background);
    const scene::Facts& facts = painter.draw(device.document(), view, appearance, raster);
    for (std::size_t row = 0; row < 2; ++row) {
      const auto& kinds = device.document().points[row].kinds;
      for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        for (const scene::Unit unit : kinds[kind].units) {
          const auto column = std::ranges::find_if(
              facts.columns, [unit](const scene::Column& each) { return each.from <= unit && unit < each.to; });
          if (column == facts.columns.end()) continue;
          const auto at = static_cast<std::size_t>(column - facts.columns.begin());
          // The first column of the picture may begin within a unit.
          EXPECT_GE(facts.points[row][at], kind + 1) << "none is lost";
        }
      }
      for (std::size_t at = 0; at < facts.columns.size(); ++at) {
        if (facts.points[row][at] == 0) continue;
        const auto& units = kinds[facts.points[row][at] - 1U].units;
        EXPECT_TRUE(std::ranges::any_of(units, [&](scene::Unit unit) {
          return facts.columns[at].from <= unit && unit < facts.columns[at].to;
        })) << "none is added";
      }
    }
  }
}

}  // namespace
}  // namespace dcmt::load

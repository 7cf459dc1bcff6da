// Tests the reserved memory of a GPU's allocator in the timeline, and the row of kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "analyzer/testing/test_trace.h"
#include "render/load/session.h"
#include "render/scene/raster.h"
#include "trace/base/quantities.h"

namespace dcmt::load {
namespace {

scene::Appearance appearance_of_test(int width) {
  scene::Appearance appearance;
  appearance.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
  appearance.width = width;
  appearance.height = 700;
  return appearance;
}

std::shared_ptr<Session> opened(testing::TestTrace& trace) {
  auto session = open_session(trace.save());
  EXPECT_TRUE(session.ok());
  return session.ok() ? *session : nullptr;
}

TEST(Reserved, IsTheMostOfEachColumnsIntervals) {
  testing::TestTrace trace;
  trace.gpu = 0;
  const std::int64_t reserved[] = {100, 40, 300, 220};
  std::vector<std::int64_t> ends;
  for (std::int64_t step = 0; step < 4; ++step) {
    for (int i = 0; i < 5; ++i) trace.drop(trace.allocate((step + 1) * 4 * kMiB));
    trace.step(step + 1);
    trace.kept_interval(step + 1, Kept::kAll);
    ends.push_back(trace.last_seq());
    trace.allocator_peaks({}, reserved[step] * kMiB);
  }
  const std::shared_ptr<Session> session = opened(trace);
  ASSERT_NE(session, nullptr);
  const DeviceTimeline& device = *session->devices.front();
  scene::Painter painter;
  for (const int width : {300, 640, 1100}) {
    const scene::Appearance appearance = appearance_of_test(width);
    scene::View view(device.recording(), scene::Axis::kEvents);
    for (int i = 0; i < 5; ++i) {
      scene::Raster raster;
      raster.begin(appearance.width, appearance.height, appearance.theme->background);
      const scene::Facts& facts = painter.draw(device.document(), view, appearance, raster);
      EXPECT_EQ(facts.scale, 300 * kMiB) << "the line is seen as a whole";
      ASSERT_EQ(facts.reserved.size(), facts.columns.size());
      for (std::size_t at = 0; at < facts.columns.size(); ++at) {
        std::int64_t most = -1;
        for (scene::Unit unit = facts.columns[at].from; unit < facts.columns[at].to; ++unit) {
          const auto step = std::ranges::lower_bound(ends, device.sequence_of(unit).value) - ends.begin();
          if (step < 4) most = std::max(most, reserved[step] * kMiB);
        }
        EXPECT_EQ(facts.reserved[at], most) << at << " of " << width;
        EXPECT_LE(facts.curve[at].highest, most);
      }
      view.zoom(2, 0.4);
    }
  }
}

TEST(Reserved, OfTheCpuThereIsNoLine) {
  testing::TestTrace trace;
  trace.allocate(100);
  trace.kept_interval(1, Kept::kAll);
  const std::shared_ptr<Session> session = opened(trace);
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->devices.front()->document().reserved.empty());
}

TEST(Kernels, HaveARowWhereTheTraceHasThem) {
  testing::TestTrace trace;
  trace.gpu = 0;
  const auto handle = trace.allocate(kMiB);
  trace.gather(1, handle);
  std::int64_t touched = 0;
  const std::int64_t release = trace.release(1, handle, {}, [&] {
    trace.last_touch(1, handle, "ampere_sgemm", 3);
    touched = trace.last_seq();
  });
  trace.kernel_read(release, 1, handle, "reduce_kernel");
  const std::int64_t read = trace.last_seq();
  const std::shared_ptr<Session> session = opened(trace);
  ASSERT_NE(session, nullptr);
  const DeviceTimeline& device = *session->devices.front();
  const auto& rows = device.document().points;
  const auto row = std::ranges::find(rows, "kernels", &scene::PointRow::name);
  ASSERT_NE(row, rows.end());
  EXPECT_EQ(row->kinds[0].units, std::vector{device.unit_of(Sequence(touched))});
  EXPECT_EQ(row->kinds[1].units, std::vector{device.unit_of(Sequence(read))});
  EXPECT_TRUE(row->kinds[1].finding);
}

}  // namespace
}  // namespace dcmt::load

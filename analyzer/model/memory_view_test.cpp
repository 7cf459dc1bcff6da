#include "analyzer/model/memory_view.h"

#include <gtest/gtest.h>

#include "analyzer/testing/outside_samples.h"
#include "analyzer/testing/test_trace.h"
#include "trace/sql/trace_file.h"

namespace dcmt::model {
namespace {

TEST(MemoryView, AGpusMemoryIsByStepAndWhatIsOutsideIsNotTorchs) {
  testing::TestTrace trace;
  for (int step = 0; step < 4; ++step) {
    trace.drop(trace.allocate(100));
    trace.step(step);
  }
  const std::string path = trace.save();
  ASSERT_TRUE(testing::add_outside_samples(path, {.gpu = true}).ok());
  {
    Expected<Database> changed = Database::open(path, OpenMode::kReadWrite);
    ASSERT_TRUE(changed.ok());
    // After the last step the allocator has given memory back to CUDA, and has not reported it yet.
    ASSERT_TRUE(changed
                    ->execute("INSERT INTO gpu_memory(id, ns, gpu, used, total, process, reserved)"
                              " SELECT 99, max(ns) + 1, 0, 950000000, 4000000000, NULL, 990000000 FROM gpu_memory")
                    .ok());
  }
  Expected<Database> database = open_trace(path);
  ASSERT_TRUE(database.ok());
  const Expected<TraceData> data = TraceData::load(*database);
  ASSERT_TRUE(data.ok()) << data.error().message;
  const MemoryView view = memory_view(path, analyzer::analyze(*data));
  ASSERT_EQ(view.gpus.size(), 2U);
  const GpuMemoryView& first = view.gpus[0];
  EXPECT_EQ(first.device, "cuda:0");
  EXPECT_EQ(first.samples, 5);
  EXPECT_EQ(first.highest.value, 950'000'000);
  EXPECT_EQ(first.outside->value, 504'000'000) << "900 MB and 4 MB more, less 400 MB";
  ASSERT_FALSE(first.steps.empty());
  EXPECT_FALSE(first.steps.back().outside);
  EXPECT_FALSE(first.steps.front().process);
  EXPECT_EQ(view.gpus[1].device, "cuda:1");
  EXPECT_EQ(view.gpus[1].outside->value, 200'000'000) << "of the process alone";
  EXPECT_EQ(view.gpus_unknown, "GPU-2b is divided into instances (MIG)");
}

TEST(MemoryView, WithoutStepsEachSampleIsARow) {
  testing::TestTrace trace;
  for (int i = 0; i < 4; ++i) trace.drop(trace.allocate(100));
  const TraceData data =
      trace.load("INSERT INTO resident VALUES(1, 2, 2000, 10, 20, 30, 5, 90), (2, 4, 4000, 11, 20, 30, 5, 90)");
  const MemoryView view = memory_view("", analyzer::analyze(data));
  ASSERT_EQ(view.steps.size(), 2U);
  EXPECT_EQ(view.steps[0].resident.value, 60);
  EXPECT_EQ(view.steps[1].resident.value, 61);
  EXPECT_FALSE(view.steps[1].step);
}

}  // namespace
}  // namespace dcmt::model

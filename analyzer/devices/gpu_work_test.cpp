#include "analyzer/devices/gpu_work.h"

#include <gtest/gtest.h>

#include "analyzer/testing/gpu_work_samples.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

Expected<std::vector<GpuTimeline>> timelines_of(const std::string& path) {
  DCMT_ASSIGN_OR_RETURN(Database database, Database::open(path, OpenMode::kRead));
  DCMT_ASSIGN_OR_RETURN(const TraceData data, TraceData::load(database));
  return gpu_timelines(data, database);
}

TEST(GpuTimelines, BusyCountsWorkOnSeveralStreamsOnce) {
  TestTrace trace;
  trace.allocate(10);
  const std::string path = trace.save();
  ASSERT_TRUE(testing::add_gpu_work(path).ok());
  const auto timelines = timelines_of(path);
  ASSERT_TRUE(timelines.ok()) << timelines.error().message;
  ASSERT_EQ(timelines->size(), 2u);
  const GpuTimeline& first = timelines->front();
  EXPECT_EQ(first.gpu, 0);
  EXPECT_EQ(first.length, TimeNs(500)) << "100 to 600";
  EXPECT_EQ(first.busy, TimeNs(260)) << "100 to 250, 400 to 410, 500 to 600";
  EXPECT_EQ(first.time, TimeNs(310));
  EXPECT_EQ(first.count, 4);
  ASSERT_EQ(first.groups.size(), 3u);
  EXPECT_EQ(first.groups[0].name, "gemm");
  EXPECT_EQ(first.groups[0].count, 2);
  EXPECT_EQ(first.groups[0].time, TimeNs(200));
  EXPECT_EQ(first.groups[0].site, "train.py:8 serve");
  EXPECT_EQ(first.groups[0].streams, std::vector<std::int64_t>{0});
  EXPECT_EQ(first.groups[1].name, "sine");
  EXPECT_EQ(first.groups[1].site, std::nullopt);
  EXPECT_EQ(first.groups[2].name, "copy to GPU");
  EXPECT_EQ(first.groups[2].bytes, Bytes(64));
  EXPECT_EQ(timelines->back().gpu, 1);
  EXPECT_TRUE(timelines->back().groups.at(0).streams.empty());
}

TEST(GpuTimelines, TheSiteIsThatOfMostTime) {
  TestTrace trace;
  trace.allocate(10);
  const std::string path = trace.save();
  ASSERT_TRUE(testing::add_gpu_work(path).ok());
  {
    Expected<Database> database = Database::open(path, OpenMode::kReadWrite);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database->execute("UPDATE gpu_work SET stack = NULL, to_ns = 610 WHERE from_ns = 500").ok());
  }
  const auto timelines = timelines_of(path);
  ASSERT_TRUE(timelines.ok());
  EXPECT_EQ(timelines->front().groups[0].site, std::nullopt) << "110 ns of 210";
}

TEST(GpuTimelines, ATraceWithoutSuchWorkHasNone) {
  TestTrace trace;
  trace.allocate(10);
  const auto timelines = timelines_of(trace.save());
  ASSERT_TRUE(timelines.ok()) << timelines.error().message;
  EXPECT_TRUE(timelines->empty());
}

}  // namespace
}  // namespace dcmt::analyzer

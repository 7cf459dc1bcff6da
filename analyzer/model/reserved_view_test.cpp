#include "analyzer/model/reserved_view.h"

#include <gtest/gtest.h>

#include "analyzer/model/devices.h"
#include "analyzer/testing/allocator_samples.h"
#include "analyzer/testing/test_trace.h"
#include "trace/sql/trace_file.h"

namespace dcmt::model {
namespace {

using analyzer::ReservedKind;

constexpr std::int64_t kMi = std::int64_t{1} << 20;

class ReservedViewTest : public ::testing::Test {
 protected:
  void SetUp() override {
    trace_.gpu = 0;
    for (int i = 0; i < 10; ++i) trace_.drop(trace_.allocate(100));
    trace_.allocator_peaks(36 << 20, 62 << 20);
    const std::string path = trace_.save();
    ASSERT_TRUE(testing::add_allocator_samples(path).ok());
    Expected<Database> database = open_trace(path);
    ASSERT_TRUE(database.ok());
    Expected<TraceData> data = TraceData::load(*database);
    ASSERT_TRUE(data.ok()) << data.error().message;
    data_.emplace(std::move(*data));
    analysis_ = analyzer::analyze(*data_);
  }

  [[nodiscard]] ReservedView view(const std::string& at, const std::vector<std::string>& ifs = {}) const {
    Expected<ReservedView> view = reserved_view("t.dcmt", analysis_, at, ifs);
    EXPECT_TRUE(view.ok()) << (view.ok() ? "" : view.error().message);
    return view.ok() ? std::move(*view) : ReservedView();
  }
  /// The bytes of a kind.
  [[nodiscard]] static std::int64_t bytes_of(const ReservedView& view, ReservedKind kind) {
    std::int64_t bytes = 0;
    for (const analyzer::ReservedRow& row : view.rows) bytes += row.kind == kind ? row.bytes.value : 0;
    return bytes;
  }

  testing::TestTrace trace_;
  std::optional<TraceData> data_;
  analyzer::Analysis analysis_;
};

TEST_F(ReservedViewTest, EveryByteAtThePeakHasARow) {
  const ReservedView peak = view("peak");
  EXPECT_EQ(peak.at_seq, Sequence(14)) << "the request that needed the last segment has its block";
  EXPECT_EQ(peak.reserved.value, 62 * kMi);
  EXPECT_EQ(bytes_of(peak, ReservedKind::kRequested), 300 + (4 * kMi - 100) + 18 * kMi);
  EXPECT_EQ(bytes_of(peak, ReservedKind::kRounding), 212 + 100);
  EXPECT_EQ(bytes_of(peak, ReservedKind::kKept), (2 * kMi - 512) + 16 * kMi);
  EXPECT_EQ(bytes_of(peak, ReservedKind::kOtherStream), 20 * kMi);
  EXPECT_EQ(bytes_of(peak, ReservedKind::kPrivatePool), 2 * kMi);
  std::int64_t sum = 0;
  for (const analyzer::ReservedRow& row : peak.rows) sum += row.bytes.value;
  EXPECT_EQ(sum, peak.reserved.value);
  ASSERT_EQ(peak.kept.size(), 2U);
  EXPECT_EQ(peak.kept[0].free.value, 16 * kMi);
  EXPECT_EQ(peak.kept[0].largest.front().block, BlockId(5));
}

TEST_F(ReservedViewTest, ABlockThatWaitsIsNotFree) {
  const ReservedView then = view("11");
  EXPECT_EQ(bytes_of(then, ReservedKind::kWaiting), 8 * kMi);
  EXPECT_EQ(bytes_of(then, ReservedKind::kOtherStream), 12 * kMi);
  EXPECT_EQ(bytes_of(view("9"), ReservedKind::kWaiting), 0);
}

TEST_F(ReservedViewTest, WhatMemoryRanOutWithIsComparedWithTorchsCounter) {
  const ReservedView oom = view("oom");
  EXPECT_EQ(oom.reserved, oom.counted);
  EXPECT_EQ(bytes_of(oom, ReservedKind::kReleasable), 18 * kMi);
  EXPECT_EQ(oom.stream, 0);
}

TEST_F(ReservedViewTest, TheModelFollowsTheRecordAndPredicts) {
  const ReservedView peak = view("peak", {"expandable_segments:True", "max_split_size_mb:64"});
  ASSERT_TRUE(peak.model);
  EXPECT_EQ(peak.model->events, 8);
  EXPECT_TRUE(peak.model->holds());
  EXPECT_EQ(peak.model->placed, 5);
  ASSERT_EQ(peak.idle.size(), 1U) << "nothing limits the process";
  ASSERT_EQ(peak.predictions.size(), 2U);
  EXPECT_EQ(peak.predictions[0].reserved_peak.value, (2 + 20 + 20 + 2 + 20) * kMi)
      << "18 MiB beside 4: the second page of 20";
  EXPECT_EQ(peak.predictions[1].reserved_peak.value, 62 * kMi);
  EXPECT_EQ(peak.predictions[1].idle.size(), 2U);
  EXPECT_EQ(peak.predictions[0].refused_fits, 0);
}

TEST(PredictedReserved, IsWhatTheAllocatorNeedsWithoutTheFindings) {
  testing::TestTrace defect;
  defect.gpu = 0;
  testing::add_zero3_graph(defect, 12, 30 << 20, false);
  const std::string path = defect.save();
  ASSERT_TRUE(testing::add_segment_of_each_block(path).ok());
  Expected<Database> database = open_trace(path);
  ASSERT_TRUE(database.ok());
  const Expected<TraceData> data = TraceData::load(*database);
  ASSERT_TRUE(data.ok()) << data.error().message;
  const analyzer::Analysis analysis = analyzer::analyze(*data);
  const DevicePeak peak = device_peak_of(analysis, analysis.main());
  EXPECT_EQ(peak.predicted_bytes.value, 2 * 30 * kMi) << "one layer, and the next one";
  EXPECT_EQ(peak.predicted_reserved_bytes, Bytes(2 * 30 * kMi)) << "not 12 segments, but two that are used again";
}

TEST_F(ReservedViewTest, WrongSettingsAndTracesWithoutSegmentsAreRefused) {
  EXPECT_FALSE(reserved_view("t.dcmt", analysis_, "peak", {"max_split_size_mb:1"}).ok());
  testing::TestTrace cpu;
  cpu.drop(cpu.allocate(100));
  const TraceData data = cpu.load();
  const analyzer::Analysis analysis = analyzer::analyze(data);
  const Expected<ReservedView> refused = reserved_view("t.dcmt", analysis, "peak", {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("--detail full"), std::string::npos);
}

}  // namespace
}  // namespace dcmt::model

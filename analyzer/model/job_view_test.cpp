#include "analyzer/model/job_view.h"

#include <gtest/gtest.h>

#include <utility>

#include "analyzer/model/report.h"
#include "analyzer/testing/job_samples.h"
#include "analyzer/testing/test_trace.h"
#include "trace/sql/trace_file.h"

namespace dcmt::model {
namespace {

constexpr std::int64_t kMB = 1'000'000;

JobOfTrace job_of(testing::TestTrace& trace, const testing::SampledJob& how) {
  trace.drop(trace.allocate(100));
  const std::string path = trace.save();
  EXPECT_TRUE(testing::add_job_samples(path, how).ok());
  Expected<Database> database = open_trace(path);
  EXPECT_TRUE(database.ok());
  Expected<JobOfTrace> of = JobOfTrace::load(path, 0, *database);
  EXPECT_TRUE(of.ok()) << of.error().message;
  of->history.begin = TimeNs(0);
  return std::move(*of);
}

JobView view_of(const testing::SampledJob& how) {
  testing::TestTrace trace;
  std::vector<JobView> views = job_views({job_of(trace, how)});
  EXPECT_EQ(views.size(), 1U);
  return std::move(views.front());
}

std::int64_t sum(const JobMoment& moment) {
  std::int64_t sum = 0;
  for (const JobPart& each : moment.parts) sum += each.bytes.value;
  return sum;
}

TEST(JobView, ThePartsAddUpToWhatTheGroupUsed) {
  const JobView view = view_of({});
  EXPECT_EQ(view.samples, 3);
  ASSERT_TRUE(view.peak);
  const JobMoment& peak = *view.peak;
  EXPECT_EQ(peak.ns.value, 2'000'000'000);
  EXPECT_TRUE(peak.of_group);
  EXPECT_EQ(peak.count, 5) << "without the recorder";
  EXPECT_EQ(peak.bytes.value, 2500 * kMB);
  EXPECT_EQ(sum(peak), peak.bytes.value);
  EXPECT_EQ(peak.part("anonymous").value, 1470 * kMB);
  EXPECT_EQ(peak.part("shared").value, 270 * kMB) << "without the spools";
  EXPECT_EQ(peak.part("mapped_files").value, 233 * kMB);
  EXPECT_EQ(peak.part("page_cache").value, 367 * kMB);
  EXPECT_EQ(peak.part("recorder").value, 90 * kMB) << "its files are among the mapped ones";
  EXPECT_EQ(peak.part("unexplained").value, 20 * kMB);
  EXPECT_EQ(peak.needed.value, (2500 - 367) * kMB);
  EXPECT_EQ(view.last->bytes.value, 2000 * kMB);
}

TEST(JobView, WithoutAGroupItIsTheSumOverProcessesAndSegments) {
  const JobMoment peak = *view_of({.in_group = false}).peak;
  EXPECT_FALSE(peak.of_group);
  EXPECT_EQ(peak.bytes.value, (1470 + 225 + 330 + 28) * kMB);
  EXPECT_EQ(sum(peak), peak.bytes.value);
  EXPECT_EQ(peak.part("unexplained").value, 0);
  EXPECT_EQ(peak.part("page_cache").value, 0);
}

TEST(JobView, ForkedChildrenOfOneNameAreOneLineAndSegmentsHaveTheirOwners) {
  const JobMoment peak = *view_of({}).peak;
  ASSERT_EQ(peak.processes.size(), 5U);
  EXPECT_EQ(peak.processes[0].rank, 0);
  EXPECT_EQ(peak.processes[0].pid, 21);
  const JobProcessGroup& workers = peak.processes[2];
  EXPECT_EQ(workers.role, "forked");
  EXPECT_EQ(workers.processes, 2);
  EXPECT_EQ(workers.rank, 0);
  EXPECT_FALSE(workers.pid);
  EXPECT_EQ(workers.anonymous.value, 60 * kMB);
  EXPECT_EQ(workers.largest.value, 90 * kMB);
  ASSERT_EQ(peak.shared.size(), 3U);
  EXPECT_EQ(peak.shared[0].owner, "rank 0");
  EXPECT_EQ(peak.shared[2].kind, "left");
  EXPECT_FALSE(peak.shared[2].owner);
}

TEST(JobView, PinnedMemoryIsWhatItOccupiesAndGpusAreAsOfThePeak) {
  testing::TestTrace trace;
  JobOfTrace of = job_of(trace, {});
  const auto block = [](std::int64_t address, std::int64_t from, std::int64_t to, std::int64_t bytes,
                        std::int64_t asked) {
    analyzer::PinnedBlock pinned;
    pinned.address = address;
    pinned.bytes = Bytes(bytes);
    pinned.asked = Bytes(asked);
    pinned.span.from_ns = TimeNs(from);
    pinned.span.to_seq = Sequence(to);
    pinned.span.to_ns = TimeNs(to);
    return pinned;
  };
  of.pinned = {block(1, 10, 0, 512, 400), block(2, 20, 30, 256, 200), block(2, 40, 0, 256, 130),
               block(3, 50, 60, 64, 64), block(4, 3'000'000'000, 0, 1024, 1000)};
  of.gpus = {{TimeNs(1'000'000'000), 0, Bytes(900), Bytes(4000), {}, Bytes(700)},
             {TimeNs(1'900'000'000), 0, Bytes(1000), Bytes(4000), {}, Bytes(600)},
             {TimeNs(2'100'000'000), 0, Bytes(2000), Bytes(4000), {}, Bytes(600)},
             {TimeNs(1'500'000'000), 1, Bytes(3000), Bytes(4000), Bytes(800), Bytes(900)}};
  const JobView view = job_views({of}).front();
  ASSERT_EQ(view.pinned.size(), 1U);
  EXPECT_EQ(view.pinned[0].used.value, 768);
  EXPECT_EQ(view.pinned[0].asked.value, 530);
  EXPECT_EQ(view.pinned[0].kept.value, 832) << "one was freed, and is kept";
  ASSERT_EQ(view.gpus.size(), 2U);
  EXPECT_EQ(view.gpus[0].used.value, 1000);
  EXPECT_EQ(view.gpus[0].outside->value, 400);
  EXPECT_EQ(view.gpus[1].device, "cuda:1");
  EXPECT_EQ(view.gpus[1].used.value, 800);
  EXPECT_FALSE(view.gpus[1].outside) << "the allocator has more than the driver says";
}

TEST(JobView, TracesOfOneJobAreOneView) {
  testing::TestTrace first, second;
  std::vector<JobOfTrace> traces;
  traces.push_back(job_of(first, {}));
  traces.push_back(job_of(second, {.from = 2}));
  const std::vector<JobView> views = job_views(traces);
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(views[0].samples, 4) << "two of them are in both";
}

TEST(JobView, AReportHasTheJobIfItHasSeveralProcesses) {
  for (const bool is_alone : {false, true}) {
    testing::TestTrace trace;
    trace.drop(trace.allocate(100));
    const std::string path = trace.save();
    ASSERT_TRUE(testing::add_job_samples(path, {}).ok());
    if (is_alone) {
      Expected<Database> database = Database::open(path, OpenMode::kReadWrite);
      ASSERT_TRUE(database.ok() && database->execute("DELETE FROM job_process WHERE pid > 20").ok());
    }
    Expected<Database> database = open_trace(path);
    ASSERT_TRUE(database.ok());
    const Expected<TraceData> data = TraceData::load(*database);
    ASSERT_TRUE(data.ok()) << data.error().message;
    EXPECT_EQ(report_of(path, analyzer::analyze(*data)).job.has_value(), !is_alone);
  }
}

}  // namespace
}  // namespace dcmt::model

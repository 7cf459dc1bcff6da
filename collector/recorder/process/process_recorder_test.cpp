// Tests the recording of one process from a hand-made spool: gaps, unreported losses, a missing spool.
#include "collector/recorder/process/process_recorder.h"
#include "collector/recorder/target/process_table.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "collector/recorder/folder/run_folder.h"
#include "collector/recorder/process/own_clock.h"
#include "collector/recorder/testing/test_spool.h"
#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace {

using testing::TestSpool;
using testing::TestStream;

class ProcessRecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path().string() + "/dcmt-process-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    spool_ = std::make_unique<TestSpool>(folder_ + "/1-1.spool", 1, 0);
    for (int i = 0; i < 4; ++i) stream_.clock(static_cast<std::uint64_t>(i + 1) * 1000);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Publishes the records with these sequences in one chunk. Two used chunks of three are pressure.
  void publish(std::uint32_t chunk, std::initializer_list<std::size_t> seqs) {
    for (const std::size_t seq : seqs) spool_->publish(chunk, stream_.records.at(seq - 1));
  }
  std::unique_ptr<ProcessRecorder> start() {
    auto recorder = ProcessRecorder::start(spool_->path(), trace(), {{"program"}, {}});
    EXPECT_TRUE(recorder.ok());
    return recorder.ok() ? std::move(*recorder) : nullptr;
  }
  [[nodiscard]] std::string trace() const { return folder_ + "/1.dcmt"; }

  std::string value(const std::string& sql) {
    Expected<Database> database = open_trace(trace());
    if (!database.ok()) return database.error().message;
    Expected<Statement> query = database->prepare(sql);
    const Expected<bool> row = query->step();
    return row.ok() && *row ? std::string(query->text(0)) : "";
  }

  std::string folder_;
  std::unique_ptr<TestSpool> spool_;
  TestStream stream_;
};

TEST_F(ProcessRecorderTest, AMissingRecordIsWaitedForEvenUnderPressure) {
  auto recorder = start();
  publish(0, {1});
  publish(1, {3, 4});  // most chunks are in use
  ASSERT_TRUE(recorder->poll().ok());
  EXPECT_EQ(recorder->totals().records, 1);
  EXPECT_EQ(recorder->totals().lost, 0) << "given up at once";
  publish(2, {2});
  ASSERT_TRUE(recorder->poll().ok());
  EXPECT_EQ(recorder->totals().records, 4);
  EXPECT_EQ(recorder->totals().lost, 0);
}

TEST_F(ProcessRecorderTest, AMissingRecordIsGivenUpUnderPressureAfterAWhile) {
  auto recorder = start();
  publish(0, {1});
  publish(1, {3});
  ASSERT_TRUE(recorder->poll().ok());
  EXPECT_EQ(recorder->totals().lost, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  ASSERT_TRUE(recorder->poll().ok());
  EXPECT_EQ(recorder->totals().records, 2);
  EXPECT_EQ(recorder->totals().lost, 1);
}

TEST_F(ProcessRecorderTest, LossesThatNobodyDeclaredAreDeclaredAtTheEnd) {
  auto recorder = start();
  wire::LostRecord lost{};
  lost.count = 2;
  stream_.add(wire::RecordType::kLost, static_cast<std::uint32_t>(wire::LossReason::kNoRoom), lost);
  publish(0, {1, 2, 4, 5});  // 3 never arrives
  spool_->header().lost.store(5);
  ASSERT_TRUE(recorder->finish("exit 0", "finished").ok());
  EXPECT_EQ(value("SELECT sum(count) FROM loss WHERE reason = 'no_room'"), "5");
  EXPECT_EQ(value("SELECT sum(count) FROM loss WHERE reason = 'in_flight'"), "1");
  EXPECT_EQ(value("SELECT count(*) FROM loss"), "3");
}

TEST_F(ProcessRecorderTest, ATraceWhoseSpoolIsGoneEndsAtItsLastCommit) {
  auto recorder = start();
  publish(0, {1, 2});
  publish(1, {3});
  ASSERT_TRUE(recorder->poll().ok());  // under pressure, so it commits
  recorder.reset();
  EXPECT_EQ(value("SELECT value FROM meta WHERE key = 'state'"), "recording");
  ASSERT_TRUE(ProcessRecorder::finish_without_spool(trace(), "recovered").ok());
  EXPECT_EQ(value("SELECT value FROM meta WHERE key = 'state'"), "recovered");
  EXPECT_EQ(value("SELECT value FROM meta WHERE key = 'records'"), "3");
  EXPECT_EQ(value("SELECT value FROM meta WHERE key = 'exit'"), "unseen");
  ASSERT_TRUE(ProcessRecorder::finish_without_spool(trace(), "finished").ok());
  EXPECT_EQ(value("SELECT value FROM meta WHERE key = 'state'"), "recovered") << "it was finished already";
}

TEST_F(ProcessRecorderTest, AQuietJobsClockIsReadByTheRecorder) {
  std::optional<ClockTriple> first;
  while (!first) first = read_own_clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::optional<ClockTriple> second;
  while (!second) second = read_own_clock();
  const double ns = static_cast<double>(second->monotonic_ns - first->monotonic_ns);
  spool_->header().start_tsc = first->tsc;
  spool_->header().start_monotonic_ns = first->monotonic_ns;
  spool_->header().tsc_hz = static_cast<std::uint64_t>(static_cast<double>(second->tsc - first->tsc) * 1e9 / ns);
  auto recorder = start();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(recorder->poll().ok());
  ASSERT_TRUE(recorder->finish("exit 0", "finished").ok());
  EXPECT_GE(std::stoi(value("SELECT value FROM meta WHERE key = 'clock_readings'")), 1);
  const std::int64_t offset = std::stoll(value("SELECT value FROM meta WHERE key = 'real_offset_ns'"));
  EXPECT_NEAR(static_cast<double>(offset), static_cast<double>(second->real_ns - second->monotonic_ns), 1e9);
}

TEST_F(ProcessRecorderTest, TheClockOfAnotherMachineIsNotMixedIn) {
  spool_->header().start_tsc = 1;
  spool_->header().start_monotonic_ns = 1'000'000;
  auto recorder = start();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(recorder->poll().ok());
  ASSERT_TRUE(recorder->finish("exit 0", "finished").ok());
  EXPECT_EQ(value("SELECT value FROM meta WHERE key = 'clock_readings'"), "0");
}

TEST_F(ProcessRecorderTest, AProcessIsAliveOnlyWithItsOwnStart) {
  spool::ProcessFacts facts;
  facts.pid = static_cast<std::uint32_t>(getpid());
  EXPECT_FALSE(ProcessRecorder::is_alive(facts));
  facts.process_start = process_start(getpid());
  EXPECT_TRUE(ProcessRecorder::is_alive(facts));
  ++facts.process_start;
  EXPECT_FALSE(ProcessRecorder::is_alive(facts));
}

TEST_F(ProcessRecorderTest, AProcessThatWaitsForAReadingThatNobodyMakesGoesOn) {
  auto recorder = start();
  publish(0, {1});
  std::atomic<std::uint32_t>& word = spool_->header().asked_reading;
  ASSERT_TRUE(recorder->poll().ok());
  EXPECT_EQ(word.load(), 0u) << "it has not asked";
  word.store(static_cast<std::uint32_t>(spool::AskedReading::kEnded));
  publish(0, {2});
  ASSERT_TRUE(recorder->poll().ok());
  EXPECT_EQ(word.load(), static_cast<std::uint32_t>(spool::AskedReading::kDone));
  EXPECT_EQ(recorder->totals().records, 2);
  word.store(static_cast<std::uint32_t>(spool::AskedReading::kRequested));
  ASSERT_TRUE(recorder->poll().ok());
  EXPECT_EQ(word.load(), static_cast<std::uint32_t>(spool::AskedReading::kNotRead));
}

}  // namespace
}  // namespace dcmt::recorder

// Tests how an interrupted run is finished. Its run.json is untrusted.
#include "collector/recorder/folder/interrupted_run.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "collector/recorder/folder/run_folder.h"
#include "collector/recorder/process/process_recorder.h"
#include "collector/recorder/target/process_table.h"
#include "collector/recorder/testing/test_spool.h"
#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace {

namespace fs = std::filesystem;
using testing::TestSpool;
using testing::TestStream;

class InterruptedRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path().string() + "/dcmt-run-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    run_.state = "recording";
    run_.command = {"program"};
    std::string spools = folder_ + "/.spool-XXXXXX";
    run_.spool_folder = mkdtemp(spools.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  Status finish() {
    EXPECT_TRUE(save_run(folder_, run_).ok());
    return finish_again();
  }
  Status finish_again() {
    Expected<std::vector<std::string>> notes = finish_interrupted_run(folder_, [this](const std::string& trace) {
      checked_.push_back(trace);
      return unreadable_ == trace ? Status{ErrorCode::kBadInput, trace + ": cannot be read."} : Status{};
    });
    if (notes.ok()) notes_ = *notes;
    return notes.status();
  }
  [[nodiscard]] std::string spool_path(const char* name) const { return run_.spool_folder + "/" + name; }
  /// The single result of a query on a finished trace.
  static std::string answer(const std::string& trace, const char* sql) {
    Expected<Database> database = open_trace(trace);
    if (!database.ok()) return database.error().message;
    Expected<Statement> query = database->prepare(sql);
    if (!query.ok() || !query->step().ok()) return "?";
    return std::string(query->text(0));
  }
  std::string state() {
    const Expected<RunState> run = load_run(folder_);
    return run.ok() ? run->state : run.error().message;
  }
  void expect_refused() {
    const Status status = finish();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(status.error().message.find('\n'), std::string::npos);
  }
  [[nodiscard]] std::string victim() const {
    const std::string path = folder_ + "/victim";
    fs::create_directories(path);
    fs::permissions(path, fs::perms::owner_all);
    std::ofstream(path + "/operators") << "kept";
    return path;
  }
  /// Makes a spool with one record, for a process with this pid and start.
  void leave_spool(std::uint32_t pid, std::uint64_t start) const {
    TestStream stream;
    stream.clock(1000);
    TestSpool spool(run_.spool_folder + "/" + std::to_string(pid) + "-a.spool", pid, start);
    spool.publish(0, stream.records[0]);
  }

  /// Makes a local folder with a spool of process 5, and the trace that a killed recorder had begun.
  void begin_locally() {
    std::string local = folder_ + "/dc-memtrace-XXXXXX";
    run_.local_folder = mkdtemp(local.data());
    run_.host = this_host();
    fs::remove(run_.spool_folder);
    std::string spools = run_.local_folder + "/.spool-XXXXXX";
    run_.spool_folder = mkdtemp(spools.data());
    leave_spool(5, 1);
    EXPECT_TRUE(ProcessRecorder::start(spool_path("5-a.spool"), local_trace(), {{"program"}, {}}).ok());
    run_.traces = {{"5-a", "pid5.dcmt"}};
  }
  [[nodiscard]] std::string local_trace() const { return run_.local_folder + "/pid5.dcmt"; }

  std::string folder_;
  RunState run_;
  std::vector<std::string> notes_, checked_;
  std::string unreadable_;  ///< a trace that the check rejects
};

TEST_F(InterruptedRunTest, AFolderThatNoRunMakesIsNotTouched) {
  const std::string path = victim();
  for (const std::string& named :
       {path, path + "/", std::string("/"), std::string("."), folder_ + "/../x/.spool-abcdef",
        run_.spool_folder + "/../victim", std::string("/dev/shm/dc-memtrace-abc/../x")}) {
    run_.spool_folder = named;
    expect_refused();
  }
  EXPECT_TRUE(fs::exists(path + "/operators"));
}

TEST_F(InterruptedRunTest, ALinkOrAnOpenFolderIsNotTouched) {
  const std::string path = victim();
  fs::remove(run_.spool_folder);
  fs::create_symlink(path, run_.spool_folder);
  expect_refused();
  fs::remove(run_.spool_folder);
  fs::rename(path, run_.spool_folder);
  fs::permissions(run_.spool_folder, fs::perms::owner_all | fs::perms::group_read);
  expect_refused();
  EXPECT_TRUE(fs::exists(run_.spool_folder + "/operators"));
}

TEST_F(InterruptedRunTest, ATraceIsAPlainFileOfTheFolder) {
  for (const char* name : {"../1.dcmt", "/tmp/1.dcmt", "1.txt", ".dcmt"}) {
    run_.traces = {{"1-a", name}};
    expect_refused();
  }
  run_.traces = {{"1-a", "1.dcmt"}};
  fs::create_symlink(victim() + "/operators", folder_ + "/1.dcmt");
  expect_refused();
  EXPECT_TRUE(fs::exists(run_.spool_folder));
}

TEST_F(InterruptedRunTest, OnlyWhatARunLeavesIsRemoved) {
  std::ofstream(run_.spool_folder + "/operators") << "table";
  std::ofstream(run_.spool_folder + "/.7-b.spool.new") << "hidden";
  std::ofstream(run_.spool_folder + "/7.refused") << "why";
  std::ofstream(run_.spool_folder + "/other") << "somebody's";
  ASSERT_TRUE(finish().ok());
  std::size_t left = 0;
  for (const auto& entry : fs::directory_iterator(run_.spool_folder))
    left += entry.path().filename() == "other" ? 1 : 9;
  EXPECT_EQ(left, 1u);
  fs::remove(run_.spool_folder + "/other");
  EXPECT_TRUE(remove_spool_folder(folder_, run_.spool_folder));
  EXPECT_FALSE(fs::exists(run_.spool_folder));
}

TEST_F(InterruptedRunTest, ALaterProcessWithTheSamePidIsAnother) {
  const auto pid = static_cast<std::uint32_t>(getpid());
  leave_spool(pid, process_start(getpid()));
  const Status busy = finish();
  ASSERT_FALSE(busy.ok());
  EXPECT_EQ(busy.error().code, ErrorCode::kCannotRecord);
  leave_spool(pid, process_start(getpid()) - 1);
  ASSERT_TRUE(finish().ok());
  EXPECT_EQ(state(), "recovered");
  EXPECT_TRUE(fs::exists(folder_ + "/pid" + std::to_string(pid) + ".dcmt"));
  EXPECT_FALSE(fs::exists(run_.spool_folder));
}

TEST_F(InterruptedRunTest, TwoSpoolsOfOnePidAreTwoTraces) {
  for (const char* name : {"/5-a.spool", "/5-b.spool"}) {
    TestStream stream;
    stream.clock(1000);
    TestSpool(run_.spool_folder + name, 5, 1).publish(0, stream.records[0]);
  }
  ASSERT_TRUE(finish().ok());
  EXPECT_TRUE(fs::exists(folder_ + "/pid5.dcmt"));
  EXPECT_TRUE(fs::exists(folder_ + "/pid5-2.dcmt"));
  const Expected<RunState> run = load_run(folder_);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->traces.size(), 2u);
}

TEST_F(InterruptedRunTest, ASpoolThatCannotBeReadSpoilsNoOther) {
  leave_spool(5, 1);
  std::ofstream(spool_path("6-a.spool")).flush();                       // the agent was killed at once
  std::ofstream(spool_path("7-a.spool")) << std::string(100'000, 'x');  // a foreign file
  fs::copy_file(spool_path("5-a.spool"), spool_path("8-a.spool"));
  fs::resize_file(spool_path("8-a.spool"), spool::kHeaderBytes);  // truncated after its header
  ASSERT_TRUE(ProcessRecorder::start(spool_path("5-a.spool"), folder_ + "/pid8.dcmt", {{"program"}, {}}).ok());
  run_.traces = {{"8-a", "pid8.dcmt"}};
  ASSERT_TRUE(finish().ok());
  EXPECT_EQ(answer(folder_ + "/pid5.dcmt", "SELECT value FROM meta WHERE key = 'state'"), "recovered");
  EXPECT_EQ(answer(folder_ + "/pid8.dcmt", "SELECT value FROM meta WHERE key = 'state'"), "recovered");
  ASSERT_EQ(notes_.size(), 2u) << "nothing is said of an empty one";
  for (const std::string& note : notes_) EXPECT_NE(note.find("the file is kept"), std::string::npos) << note;
  EXPECT_TRUE(fs::exists(spool_path("7-a.spool")));
  EXPECT_TRUE(fs::exists(spool_path("8-a.spool")));
  EXPECT_FALSE(fs::exists(spool_path("5-a.spool")));
  EXPECT_EQ(state(), "recovered");
  ASSERT_TRUE(finish_again().ok());
  EXPECT_TRUE(notes_.empty()) << "said once";
}

TEST_F(InterruptedRunTest, WhatADamagedSpoolNoLongerHasIsCounted) {
  {
    TestStream stream;
    for (int i = 0; i < 40; ++i) stream.clock(1000 + static_cast<std::uint64_t>(i));
    TestSpool spool(spool_path("5-a.spool"), 5, 1);
    for (std::size_t i = 0; i < 40; ++i) spool.publish(i < 20 ? 0 : 2, stream.records[i]);
    spool.header().next_seq.store(41);
  }
  fs::resize_file(spool_path("5-a.spool"), spool::chunks_offset(TestSpool::kChunks) + 2 * spool::kChunkBytes + 100);
  ASSERT_TRUE(finish().ok());
  const std::string trace = folder_ + "/pid5.dcmt";
  EXPECT_EQ(answer(trace, "SELECT group_concat(reason || ' ' || count) FROM loss"), "damaged 20");
  EXPECT_EQ(answer(trace, "SELECT value FROM meta WHERE key = 'last_seq'"), "40");
  EXPECT_NE(answer(trace, "SELECT s.text FROM diagnostic d JOIN string s ON s.id = d.text WHERE code = 'spool_damaged'")
                .find("1 of the 3 chunks"),
            std::string::npos);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_.front().find("1 of its spool's 3 chunks could not be read"), std::string::npos);
}

TEST_F(InterruptedRunTest, ASpoolStaysUntilItsTraceCanBeRead) {
  leave_spool(5, 1);
  leave_spool(6, 1);
  unreadable_ = folder_ + "/pid5.dcmt";
  ASSERT_TRUE(finish().ok());
  EXPECT_EQ(checked_.size(), 2u);
  EXPECT_TRUE(fs::exists(spool_path("5-a.spool")));
  EXPECT_FALSE(fs::exists(spool_path("6-a.spool")));
  EXPECT_FALSE(fs::exists(unreadable_)) << "a reader of the folder would stop there";
  EXPECT_TRUE(fs::exists(unreadable_ + ".damaged"));
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_.front().find("Its spool is kept"), std::string::npos);
}

TEST_F(InterruptedRunTest, TwoAtOnceFinishItOnce) {
  for (std::uint32_t pid = 5; pid < 9; ++pid) leave_spool(pid, 1);
  ASSERT_TRUE(save_run(folder_, run_).ok());
  std::atomic<int> checked = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      const auto notes = finish_interrupted_run(folder_, [&](const std::string&) {
        ++checked;
        return Status{};
      });
      EXPECT_TRUE(notes.ok() && notes->empty());
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(checked, 4);
  EXPECT_EQ(state(), "recovered");
}

TEST_F(InterruptedRunTest, TracesWhoseSpoolsAreGoneAreFinished) {
  leave_spool(5, 1);
  const std::string trace = folder_ + "/pid5.dcmt";
  ASSERT_TRUE(ProcessRecorder::start(run_.spool_folder + "/5-a.spool", trace, {{"program"}, {}}).ok());
  run_.traces = {{"5-a", "pid5.dcmt"}, {"6-a", "never made.dcmt"}};
  fs::remove_all(run_.spool_folder);
  ASSERT_TRUE(finish().ok());
  EXPECT_EQ(state(), "recovered");
  // Finished traces stay unchanged, regardless of the requested state.
  std::ifstream file(trace, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(bytes.find("recovered"), std::string::npos);
}

TEST_F(InterruptedRunTest, ALocalTraceIsFinishedAndMoved) {
  begin_locally();
  std::ofstream(folder_ + "/.pid5.dcmt-Ab3dEf") << "part of a copy";
  EXPECT_TRUE(save_run(folder_, run_).ok());
  EXPECT_EQ(local_traces(folder_).here, std::vector<std::string>{local_trace()});
  ASSERT_TRUE(finish_again().ok());
  EXPECT_EQ(notes_, std::vector<std::string>{});
  EXPECT_EQ(answer(folder_ + "/pid5.dcmt", "SELECT value FROM meta WHERE key = 'state'"), "recovered");
  EXPECT_FALSE(fs::exists(run_.local_folder));
  EXPECT_FALSE(fs::exists(folder_ + "/.pid5.dcmt-Ab3dEf"));
  EXPECT_EQ(load_run(folder_)->local_folder, "");
  EXPECT_EQ(state(), "recovered");
  EXPECT_TRUE(local_traces(folder_).here.empty());
}

TEST_F(InterruptedRunTest, AFinishedTraceThatWasNotMovedStaysAsItIs) {
  begin_locally();
  ASSERT_TRUE((*ProcessRecorder::resume(spool_path("5-a.spool"), local_trace(), {{"program"}, {}}))
                  ->finish("exit 0", "finished")
                  .ok());
  fs::remove_all(run_.spool_folder);
  run_.spool_folder.clear();
  ASSERT_TRUE(finish().ok());
  EXPECT_EQ(answer(folder_ + "/pid5.dcmt", "SELECT value FROM meta WHERE key = 'state'"), "finished");
  EXPECT_FALSE(fs::exists(run_.local_folder));
}

TEST_F(InterruptedRunTest, ALocalFolderThatNoRunMakesIsNotTouched) {
  begin_locally();
  const std::string other = folder_ + "/other";
  fs::rename(run_.local_folder, other);
  for (const std::string& named : {other, std::string("/"), std::string("dc-memtrace-abcdef"), other + "/../other"}) {
    run_.local_folder = named;
    run_.spool_folder.clear();
    expect_refused();
    EXPECT_TRUE(local_traces(folder_).here.empty());
  }
  EXPECT_TRUE(fs::exists(other + "/pid5.dcmt"));
}

TEST_F(InterruptedRunTest, ALocalTraceIsNoLink) {
  begin_locally();
  const std::string path = victim() + "/operators";
  fs::remove(local_trace());
  fs::create_symlink(path, local_trace());
  expect_refused();
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(InterruptedRunTest, ALocalFolderThatIsGoneIsNamed) {
  begin_locally();
  fs::remove_all(run_.local_folder);
  ASSERT_TRUE(finish().ok());
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_NE(notes_[0].find(run_.local_folder + ", which is not there any more"), std::string::npos);
  EXPECT_EQ(state(), "recovered");
}

TEST_F(InterruptedRunTest, TracesOfAnotherMachineAreNamed) {
  begin_locally();
  run_.host = "node7";
  run_.boot = "another";
  ASSERT_TRUE(finish().ok());
  EXPECT_EQ(state(), "recording");
  const LocalTraces local = local_traces(folder_);
  EXPECT_TRUE(local.here.empty());
  EXPECT_EQ(local.notes, std::vector<std::string>{"pid5.dcmt is still on node7: " + local_trace()});
}

}  // namespace
}  // namespace dcmt::recorder

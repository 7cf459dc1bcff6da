// Finishing an interrupted run: run.json may come from anywhere.
#include "collector/recorder/job/run.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "collector/recorder/job/process_recorder.h"
#include "collector/recorder/job/process_table.h"
#include "collector/recorder/job/run_folder.h"
#include "collector/recorder/testing/test_spool.h"

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
    return finish_interrupted_run(folder_);
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
  /// A spool with one record, for a process with this pid and start.
  void leave_spool(std::uint32_t pid, std::uint64_t start) const {
    TestStream stream;
    stream.clock(1000);
    TestSpool spool(run_.spool_folder + "/" + std::to_string(pid) + "-a.spool", pid, start);
    spool.publish(0, stream.records[0]);
  }

  std::string folder_;
  RunState run_;
};

TEST_F(InterruptedRunTest, AFolderThatNoRunMakesIsNotTouched) {
  const std::string path = victim();
  for (const std::string& named : {path, path + "/", std::string("/"), std::string(), folder_ + "/../x/.spool-abcdef",
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

TEST_F(InterruptedRunTest, TracesWhoseSpoolsAreGoneAreFinished) {
  leave_spool(5, 1);
  const std::string trace = folder_ + "/pid5.dcmt";
  ASSERT_TRUE(ProcessRecorder::start(run_.spool_folder + "/5-a.spool", trace, {{"program"}, {}}).ok());
  run_.traces = {{"5-a", "pid5.dcmt"}, {"6-a", "never made.dcmt"}};
  fs::remove_all(run_.spool_folder);
  ASSERT_TRUE(finish().ok());
  EXPECT_EQ(state(), "recovered");
  // Finished traces are left as they are, whatever state is asked for.
  std::ifstream file(trace, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(bytes.find("recovered"), std::string::npos);
}

}  // namespace
}  // namespace dcmt::recorder

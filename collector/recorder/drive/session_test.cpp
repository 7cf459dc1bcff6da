// Tests a session with hand-made spools: names of traces, empty traces, moves, errors.
#include "collector/recorder/drive/session.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "collector/recorder/folder/run_claim.h"
#include "collector/recorder/testing/test_spool.h"

namespace dcmt::recorder {
namespace {

namespace fs = std::filesystem;
using testing::TestSpool;
using testing::TestStream;

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path().string() + "/dcmt-session-XXXXXX";
    root_ = mkdtemp(pattern.data());
    folders_ = {root_ + "/out", root_ + "/out"};
    fs::create_directory(folders_.output);
  }
  void TearDown() override { fs::remove_all(root_); }

  /// Finished traces are moved from another folder.
  void write_locally() {
    folders_.local = root_ + "/local";
    fs::create_directory(folders_.local);
  }
  void start(SessionRules rules) {
    run_ = state_at_start({"program"}, folders_);
    ASSERT_TRUE(create_run(folders_.output, run_).ok());
    session_ = std::make_unique<Session>(options_, folders_, "", run_, rules);
  }
  Expected<RecordedProcess*> begin(std::uint32_t number, bool has_block) {
    TestStream stream;
    stream.clock(1000);
    if (has_block) stream.alloc(0x1000, 1 << 20);
    const std::string path = root_ + "/" + std::to_string(number) + "-a.spool";
    spools_.push_back(std::make_unique<TestSpool>(path, number, 0));
    for (const auto& record : stream.records) spools_.back()->publish(0, record);
    auto spool = spool::SpoolReader::open(path);
    if (!spool.ok()) return spool.error();
    return session_->begin({.source = path, .spool = std::move(*spool), .number = number, .command = {"program"}});
  }
  [[nodiscard]] std::string out(const std::string& name) const { return folders_.output + "/" + name; }

  std::string root_;
  TraceFolders folders_;
  RunState run_;
  RecordingOptions options_;
  std::vector<std::unique_ptr<TestSpool>> spools_;
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, ATraceIsNamedInRunJsonBeforeItIsFinished) {
  start({});
  std::ofstream(out("pid7.dcmt")) << "of another recorder";
  const auto process = begin(7, true);
  ASSERT_TRUE(process.ok()) << process.error().message;
  EXPECT_EQ(load_run(folders_.output)->traces.at("7-a"), "pid7-2.dcmt");
  EXPECT_EQ(*session_->drain(), 2U);
  ASSERT_TRUE(session_->finish(**process, "exit 0").ok());
  EXPECT_TRUE(session_->idle());
  EXPECT_EQ(session_->finished(), std::vector{out("pid7-2.dcmt")});
  session_->close();
  EXPECT_EQ(run_.state, "finished");
}

TEST_F(SessionTest, AnEmptyTraceIsRemovedUnlessTheUserHasNamedTheProcess) {
  start({.keeps_empty = false});
  ASSERT_TRUE(session_->finish(**begin(7, false), "exit 0").ok());
  EXPECT_FALSE(fs::exists(out("pid7.dcmt")));
  EXPECT_TRUE(run_.traces.empty() && session_->finished().empty());
  start({.keeps_empty = true});
  ASSERT_TRUE(session_->finish(**begin(8, false), "exit 0").ok());
  EXPECT_TRUE(fs::exists(out("pid8.dcmt")));
  EXPECT_EQ(run_.traces.size(), 1U);
}

TEST_F(SessionTest, AFinishedTraceIsMovedWhileOthersAreRecorded) {
  write_locally();
  start({});
  const auto first = begin(7, true), second = begin(8, true);
  ASSERT_TRUE(session_->finish(**first, "exit 0").ok());
  EXPECT_TRUE(session_->finished().empty());
  session_->wait_for_moves();
  EXPECT_EQ(session_->finished(), std::vector{out("pid7.dcmt")});
  EXPECT_TRUE(fs::exists(folders_.local + "/pid8.dcmt"));
  ASSERT_TRUE(session_->finish(**second, "exit 0").ok());
  session_->wait_for_moves();
  session_->close();
  EXPECT_TRUE(session_->moved().ok());
  EXPECT_EQ(run_.state, "finished");
  EXPECT_TRUE(run_.local_folder.empty());
}

TEST_F(SessionTest, ATraceThatCannotBeMovedLeavesTheRunToALaterReport) {
  write_locally();
  start({});
  const auto process = begin(7, true);
  fs::remove_all(folders_.output);
  ASSERT_TRUE(session_->finish(**process, "exit 0").ok());
  session_->wait_for_moves();
  session_->close();
  EXPECT_FALSE(session_->moved().ok());
  EXPECT_EQ(session_->finished(), std::vector{folders_.local + "/pid7.dcmt"});
  EXPECT_EQ(run_.state, "recording");
  EXPECT_EQ(run_.recorder_pid, 0);
  EXPECT_EQ(run_.local_folder, folders_.local);
}

TEST_F(SessionTest, RunJsonThatCannotBeSavedIsANoteOrAnError) {
  for (const bool ends : {false, true}) {
    folders_ = {root_ + "/out", root_ + "/out"};
    fs::create_directory(folders_.output);
    write_locally();
    start({.ends_with_error = ends});
    fs::remove_all(folders_.output);
    EXPECT_EQ(begin(7, true).ok(), !ends);
    EXPECT_EQ(session_->notes().size(), ends ? 0U : 1U);
    session_.reset();
    fs::remove_all(folders_.local);
  }
}

}  // namespace
}  // namespace dcmt::recorder

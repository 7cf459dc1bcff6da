#include "collector/recorder/folder/move_trace.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "collector/recorder/folder/trace_mover.h"
#include "trace/base/read_file.h"
#include "trace/base/scratch_folder.h"
#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace {

namespace fs = std::filesystem;

class MoveTraceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(local());
    fs::create_directories(output());
  }
  [[nodiscard]] std::string local() const { return (temporary_.path() / "local").string(); }
  [[nodiscard]] std::string output() const { return (temporary_.path() / "output").string(); }

  /// A finished trace with `value` in it.
  [[nodiscard]] std::string trace(const std::string& name, const std::string& value) const {
    std::string path = local() + "/" + name;
    Expected<Database> database = create_trace(path);
    EXPECT_TRUE(database.ok());
    EXPECT_TRUE(database->execute("INSERT INTO meta VALUES ('note', '" + value + "')").ok());
    EXPECT_TRUE(finish_trace(*database).ok());
    return path;
  }
  static std::string value_in(const std::string& path) {
    Expected<Database> database = open_trace(path);
    if (!database.ok()) return database.error().message;
    Expected<Statement> query = database->prepare("SELECT value FROM meta WHERE key = 'note'");
    return query.ok() && query->step().ok() ? std::string(query->text(0)) : "?";
  }
  static std::vector<std::string> files_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  /// Nothing was changed, and one line says where the trace is.
  void expect_stays(const Expected<std::string>& moved, const std::string& from) const {
    ASSERT_FALSE(moved.ok());
    EXPECT_EQ(moved.error().code, ErrorCode::kIo);
    EXPECT_NE(moved.error().message.find("It is in " + from), std::string::npos) << moved.error().message;
    EXPECT_EQ(moved.error().message.find('\n'), std::string::npos);
    EXPECT_EQ(value_in(from), "kept");
  }

  ScratchFolder temporary_;
};

TEST_F(MoveTraceTest, TheTraceIsInTheOutputFolderAlone) {
  const Expected<std::string> moved = move_trace(trace("rank0.dcmt", "a"), output());
  ASSERT_TRUE(moved.ok()) << moved.error().message;
  EXPECT_EQ(*moved, output() + "/rank0.dcmt");
  EXPECT_EQ(value_in(*moved), "a");
  EXPECT_EQ(fs::status(*moved).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(files_in(local()), std::vector<std::string>{});
  EXPECT_EQ(files_in(output()), std::vector<std::string>{"rank0.dcmt"});
}

TEST_F(MoveTraceTest, ANameThatIsUsedGetsTheNextNumber) {
  std::ofstream(output() + "/rank0.dcmt") << "of another run";
  EXPECT_EQ(*move_trace(trace("rank0.dcmt", "a"), output()), output() + "/rank0-2.dcmt");
  EXPECT_EQ(*move_trace(trace("rank0-2.dcmt", "b"), output()), output() + "/rank0-3.dcmt");
  EXPECT_EQ(read_file(output() + "/rank0.dcmt"), "of another run");
  EXPECT_EQ(value_in(output() + "/rank0-3.dcmt"), "b");
}

TEST_F(MoveTraceTest, WhatAReaderHasKeptInALogComesAlong) {
  const std::string path = local() + "/rank0.dcmt";
  Expected<Database> writer = create_trace(path);
  ASSERT_TRUE(writer.ok());
  Expected<Database> reader = open_trace(path);
  ASSERT_TRUE(reader.ok());
  Expected<Statement> reads = reader->prepare("SELECT * FROM meta, sqlite_schema");
  ASSERT_TRUE(reads.ok());
  ASSERT_TRUE(writer->execute("INSERT INTO meta VALUES ('other', 'row')").ok());
  ASSERT_TRUE(*reads->step());  // it sees the file as it is now, to its end
  ASSERT_TRUE(writer->execute("INSERT INTO meta VALUES ('note', 'in the log')").ok());
  ASSERT_TRUE(finish_trace(*writer).ok());
  writer = Error{ErrorCode::kIo, ""};
  ASSERT_FALSE(is_single_file(path));

  const Expected<std::string> moved = move_trace(path, output());
  ASSERT_TRUE(moved.ok()) << moved.error().message;
  EXPECT_TRUE(is_single_file(*moved));
  EXPECT_EQ(value_in(*moved), "in the log");
  EXPECT_EQ(files_in(output()), std::vector<std::string>{"rank0.dcmt"});
  EXPECT_EQ(files_in(local()), std::vector<std::string>{});
}

TEST_F(MoveTraceTest, WithoutAFolderTheTraceStays) {
  const std::string from = trace("rank0.dcmt", "kept");
  expect_stays(move_trace(from, output() + "/none"), from);
}

/// Files of this process may not become larger than a part of the trace: the write fails as on a full disk, with
/// another number.
TEST_F(MoveTraceTest, WithoutRoomTheTraceStaysAndNoPartOfACopy) {
  const std::string from = trace("rank0.dcmt", "kept");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{20'000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const Expected<std::string> moved = move_trace(from, output());
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  expect_stays(moved, from);
  EXPECT_EQ(files_in(output()), std::vector<std::string>{});
}

TEST_F(MoveTraceTest, OnAFullDiskTheTraceStaysAndNoPartOfACopy) {
  const std::string from = trace("rank0.dcmt", "kept");
  if (mount("tmpfs", output().c_str(), "tmpfs", 0, "size=16k") != 0)
    GTEST_SKIP() << "no file system can be mounted here";
  const Expected<std::string> moved = move_trace(from, output());
  const std::vector<std::string> left = files_in(output());
  umount(output().c_str());
  expect_stays(moved, from);
  EXPECT_NE(moved.error().message.find("No space left on device"), std::string::npos);
  EXPECT_EQ(left, std::vector<std::string>{});
}

TEST_F(MoveTraceTest, PartsOfThisTraceAloneAreRemoved) {
  for (const char* name : {".rank0.dcmt-Ab3dEf", ".rank0.dcmt-Ab3dE", ".rank1.dcmt-Ab3dEf", "rank0.dcmt"}) {
    std::ofstream(output() + "/" + name) << "x";
  }
  remove_partial_copies(output(), "rank0.dcmt");
  EXPECT_EQ(files_in(output()), (std::vector<std::string>{".rank0.dcmt-Ab3dE", ".rank1.dcmt-Ab3dEf", "rank0.dcmt"}));
}

TEST_F(MoveTraceTest, AMoverMovesAllAndNamesWhatItCould) {
  TraceMover mover(output());
  mover.add("a", trace("rank0.dcmt", "a"));
  mover.add("b", local() + "/none.dcmt");
  mover.add("c", trace("rank1.dcmt", "c"));
  std::vector<MovedTrace> moved = mover.collect();
  for (MovedTrace& more : mover.wait()) moved.push_back(std::move(more));
  ASSERT_EQ(moved.size(), 3U);
  EXPECT_EQ(moved[0].key, "a");
  EXPECT_TRUE(moved[0].to.ok());
  EXPECT_FALSE(moved[1].to.ok());
  EXPECT_EQ(moved[1].from, local() + "/none.dcmt");
  EXPECT_EQ(*moved[2].to, output() + "/rank1.dcmt");
  EXPECT_TRUE(mover.wait().empty());
}

}  // namespace
}  // namespace dcmt::recorder

// A process with very many threads, one after the other.
#include "collector/recorder/assemble/threads.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace {

class ThreadsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "dcmt_threads_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    Expected<Database> database = create_trace((folder_ / "t").string());
    ASSERT_TRUE(database.ok());
    Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
    ASSERT_TRUE(writer.ok());
    writer_ = std::make_unique<TraceWriter>(std::move(*writer));
    ASSERT_TRUE(writer_->begin().ok());
  }
  void TearDown() override {
    writer_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::int64_t integer(const std::string& sql) {
    Expected<Statement> query = writer_->database().prepare(sql);
    EXPECT_TRUE(query.ok() && *query->step()) << sql;
    return query->integer(0);
  }

  static wire::ThreadRecord record(std::uint64_t tid) {
    wire::ThreadRecord made{};
    made.header.type = wire::RecordType::kThread;
    made.tid = tid;
    return made;
  }

  std::filesystem::path folder_;
  std::unique_ptr<TraceWriter> writer_;
};

TEST_F(ThreadsTest, AHundredThousandAreKnownByTheirKernelIds) {
  constexpr std::uint32_t kThreads = 100'000;
  constexpr std::uint64_t kTids = 30'000;  // the kernel gives them again
  Expected<PrivateState> state = PrivateState::create(writer_->database());
  ASSERT_TRUE(state.ok());
  Journal journal{*writer_, std::move(*state), RowKeeper(*writer_, {})};
  Threads threads(journal);
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    journal.thread = i;
    ++journal.now.seq;
    ASSERT_TRUE(threads.begins(record(1 + i % kTids)).ok());
    ASSERT_TRUE(threads.see().ok());
    if (i % 997 == 0) {
      EXPECT_EQ(threads.with_tid(1 + i % kTids), i);
    }
  }
  EXPECT_EQ(integer("SELECT count(*) FROM thread"), kThreads);
  EXPECT_EQ(threads.with_tid(1), kThreads / kTids * kTids);
  EXPECT_EQ(threads.with_tid(kTids + 1), std::nullopt);
  EXPECT_EQ(threads.with_tid(0), std::nullopt);

  // One whose first record was lost gets a row, once.
  for (const std::uint32_t number : {kThreads + 70, kThreads + 71, kThreads + 70, kThreads + 71}) {
    journal.thread = number;
    ASSERT_TRUE(threads.see().ok());
  }
  EXPECT_EQ(integer("SELECT count(*) FROM thread WHERE tid = 0"), 2);

  Threads resumed(journal);
  ASSERT_TRUE(resumed.resume().ok());
  ASSERT_TRUE(resumed.see().ok());
  EXPECT_EQ(integer("SELECT count(*) FROM thread"), kThreads + 2);
}

}  // namespace
}  // namespace dcmt::recorder

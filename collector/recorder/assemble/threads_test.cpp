// Tests a process with very many threads, one after the other.
#include "collector/recorder/assemble/threads.h"

#include <gtest/gtest.h>

#include <string>

#include "collector/recorder/testing/trace_fixture.h"

namespace dcmt::recorder {
namespace {

class ThreadsTest : public testing::TraceFixture {
 protected:
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
};

TEST_F(ThreadsTest, AHundredThousandAreKnownByTheirKernelIds) {
  constexpr std::uint32_t kThreads = 100'000;
  constexpr std::uint64_t kTids = 30'000;  // the kernel reuses them
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

  // A thread whose first record was lost gets one row.
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

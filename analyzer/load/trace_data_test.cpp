// What a damaged trace may not do to its reader.
#include "analyzer/load/trace_data.h"

#include <gtest/gtest.h>

#include "analyzer/storages/stacks.h"
#include "analyzer/testing/test_trace.h"
#include "analyzer/time/timeline.h"
#include "trace/sql/trace_file.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

/// A small trace after `change`.
Expected<TraceData> load_after(const char* change) {
  TestTrace trace;
  trace.stack = {{"/x/model.py", "forward", 3}, {"/x/train.py", "main", 9}};
  trace.op("aten::linear", [&] { trace.op("aten::mm", [&] { trace.drop(trace.allocate(64)); }); });
  const std::string path = trace.save();
  {
    Expected<Database> writer = Database::open(path, OpenMode::kReadWrite);
    EXPECT_TRUE(writer.ok());
    const Status changed = writer->execute(change);
    EXPECT_TRUE(changed.ok()) << changed.error().message;
  }
  Expected<Database> database = open_trace(path);
  EXPECT_TRUE(database.ok());
  return TraceData::load(*database);
}

TEST(DamagedTrace, ParentsInACircleAreCut) {
  Expected<TraceData> data = load_after("UPDATE operator SET parent_back = 2 * id - 3; UPDATE stack SET parent = id");
  ASSERT_TRUE(data.ok()) << data.error().message;
  ASSERT_EQ(data->operators.size(), 2u);
  std::size_t parents = 0;
  for (const Operator& op : data->operators) parents += data->operators.find(op.parent) != nullptr;
  EXPECT_EQ(parents, 1u) << "one of the two leads on";
  EXPECT_NE(named_operator(*data, OperatorId(2)), nullptr);
  for (const Stack& stack : data->stacks) EXPECT_EQ(frames_of(*data, stack.id).size(), 1u);
}

TEST(DamagedTrace, NumbersThatNoRecorderWritesAreNamed) {
  for (const char* change : {"UPDATE block SET bytes = -1", "UPDATE block SET bytes = 9223372036854775807",
                             "UPDATE block SET seq_length = -1", "UPDATE block SET ns_length = -5",
                             "UPDATE block SET storage_back = 30", "UPDATE block SET from_ns = 1e300"}) {
    const Expected<TraceData> data = load_after(change);
    ASSERT_FALSE(data.ok()) << change;
    EXPECT_EQ(data.error().code, ErrorCode::kBadInput);
    EXPECT_NE(data.error().message.find("the row of block with id 1 makes no sense."), std::string::npos)
        << data.error().message;
  }
}

/// Blocks with the ids 10,000 to `last` of every 10,000, more than are read at a time.
std::string many_blocks(std::int64_t last) {
  return "WITH RECURSIVE n(i) AS (SELECT 10000 UNION ALL SELECT i + 10000 FROM n WHERE i < " + std::to_string(last) +
         ") INSERT INTO block(id, address, bytes, late, from_ns) SELECT i, 0, i, 0, i FROM n;";
}

TEST(LongTrace, PartsAreJoinedInOrder) {
  for (const char* state : {"finished", "recording"}) {
    const Expected<TraceData> data =
        load_after((many_blocks(5'000'000) + "UPDATE meta SET value = '" + state + "' WHERE key = 'state'").c_str());
    ASSERT_TRUE(data.ok()) << data.error().message;
    ASSERT_EQ(data->blocks.size(), 501u);
    BlockId last;
    for (const Block& block : data->blocks) {
      EXPECT_GT(block.id, last);
      last = block.id;
      EXPECT_EQ(data->blocks.find(block.id), &block);
    }
    EXPECT_EQ(last, BlockId(5'000'000));
    EXPECT_EQ(data->blocks.find(BlockId(4'999'999)), nullptr);
  }
}

TEST(LongTrace, OfManyDamagedRowsTheFirstIsNamed) {
  const Expected<TraceData> data =
      load_after((many_blocks(5'000'000) + "UPDATE block SET bytes = -1 WHERE id >= 2000000").c_str());
  ASSERT_FALSE(data.ok());
  EXPECT_NE(data.error().message.find("block with id 2000000 makes"), std::string::npos) << data.error().message;
}

TEST(DamagedTrace, DevicesAndThreadsThatCannotBeAreNamed) {
  for (const char* change : {"UPDATE block SET gpu = -1", "UPDATE block SET gpu = 128",
                             "UPDATE block SET thread = 2147483648", "UPDATE block SET stack = 2147483648"}) {
    EXPECT_FALSE(load_after(change).ok()) << change;
  }
  EXPECT_TRUE(load_after("UPDATE block SET gpu = 127, thread = 2147483647").ok());
}

TEST(DamagedTrace, TextsThatNoRecorderWritesAreRefused) {
  EXPECT_FALSE(load_after("UPDATE string SET text = CAST(zeroblob(16385) AS TEXT)").ok());
  EXPECT_TRUE(load_after("UPDATE string SET text = CAST(zeroblob(16384) AS TEXT)").ok());
}

TEST(DamagedTrace, KeysAndAddressesAreAnyNumbers) {
  EXPECT_TRUE(load_after("UPDATE block SET address = -1; UPDATE thread SET tid = 9223372036854775807").ok());
}

}  // namespace
}  // namespace dcmt::analyzer

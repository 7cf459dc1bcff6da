// What a damaged trace may not do to its reader.
#include "analyzer/trace_data.h"

#include <gtest/gtest.h>

#include "analyzer/stacks.h"
#include "analyzer/test_trace.h"
#include "analyzer/timeline.h"

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
    EXPECT_NE(data.error().message.find("row 1 of block makes no sense."), std::string::npos) << data.error().message;
  }
}

TEST(DamagedTrace, KeysAndAddressesAreAnyNumbers) {
  EXPECT_TRUE(load_after("UPDATE block SET address = -1; UPDATE thread SET tid = 9223372036854775807").ok());
}

}  // namespace
}  // namespace dcmt::analyzer

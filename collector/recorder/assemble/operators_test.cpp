#include "collector/recorder/assemble/operators.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collector/recorder/testing/assembler_fixture.h"

namespace dcmt::recorder {
namespace {

using testing::AssemblerFixture;
using testing::Rows;
using testing::rows;
using testing::TestStream;
using wire::OpScope;

using OperatorsTest = AssemblerFixture;

TEST_F(OperatorsTest, OperatorsNestAndLostEndsAreMadeUp) {
  TestStream s;
  s.op_begin("a", 5);
  s.op_begin("b", 7);
  s.op_begin("c", 8);
  const auto end = s.op_end(7);          // c's end was lost
  const auto next = s.op_begin("d", 6);  // not deeper than a's: impossible, but harmless
  s.thread = 2;
  s.op_begin("e", 1);
  s.op_end(1);
  s.thread = 1;
  s.op_begin("f", 5);  // a's and d's ends were lost
  Database db = record(s);
  const std::string e = std::to_string(end);
  EXPECT_EQ(rows(db, "SELECT text, thread, parent, ordinal, CASE WHEN to_seq = " + e +
                         " THEN 'x' ELSE to_seq IS NULL"
                         " END FROM operator JOIN string ON string.id = name ORDER BY operator.id"),
            (Rows{"a|1|-|5|0", "b|1|2|7|x", "c|1|4|8|x", "d|1|2|6|0", "e|2|-|1|0", "f|1|-|5|1"}));
  EXPECT_GT(next, end);
}

TEST_F(OperatorsTest, ABlockInANodeIsTheNodeAndTheBlock) {
  TestStream apart;
  TestStream together;
  for (TestStream* s : {&apart, &together}) {
    s->named_thread(100, "python");
    s->text("MulBackward0");
    s->op_begin("autograd::engine::execute", 1, OpScope::kBackward);
  }
  const auto node = apart.op_begin("MulBackward0", 2, OpScope::kBackward);
  apart.alloc(0x1000, 100'000);
  apart.op_end(2);
  EXPECT_EQ(together.alloc_in_node("MulBackward0", 2, 0x1000, 100'000), node);
  for (TestStream* s : {&apart, &together}) {
    s->birth(1, 10, 0x1000, 100'000);
    s->op_end(1);
  }
  Database one = record(apart);
  Database other = record(together);
  for (const char* query : {"SELECT name, thread, parent, ordinal, from_seq, to_seq FROM operator",
                            "SELECT id, address, bytes, thread, operator, from_seq, storage FROM block",
                            "SELECT id, storage, thread, operator, from_seq FROM tensor"}) {
    EXPECT_EQ(rows(one, query), rows(other, query)) << query;
  }
  EXPECT_EQ(rows(other,
                 "SELECT text, bytes FROM block JOIN operator ON operator.id = block.operator"
                 " JOIN string ON string.id = operator.name"),
            (Rows{"MulBackward0|100000"}));
}

}  // namespace
}  // namespace dcmt::recorder

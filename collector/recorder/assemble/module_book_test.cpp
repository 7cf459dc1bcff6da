#include "collector/recorder/assemble/module_book.h"

#include <gtest/gtest.h>

#include "collector/recorder/testing/assembler_fixture.h"

namespace dcmt::recorder {
namespace {

using testing::row;
using testing::Rows;
using testing::rows;
using testing::TestStream;

constexpr const char* kBlocks = "SELECT address, module FROM block ORDER BY address";

class ModuleBookTest : public testing::AssemblerFixture {};

TEST_F(ModuleBookTest, ABlockBelongsToTheRunningCallOrToTheNodesMaker) {
  TestStream s;
  s.cuda_alloc(0x1000, 100'000);
  s.module(0xa000, 0, 0);  // its nodes: 0 to 4
  s.cuda_alloc(0x2000, 100'000);
  s.module(0xb000, 0, 5);
  s.cuda_alloc(0x3000, 100'000);
  s.module(0, 0, 9);  // the loss
  s.cuda_alloc(0x4000, 100'000);
  s.module(0, 1 + 4, 12);
  s.cuda_alloc(0x5000, 100'000);
  s.module(0, 1 + 5, 12);
  s.cuda_alloc(0x6000, 100'000);
  s.module(0, 1 + 10, 12);
  s.cuda_alloc(0x7000, 100'000);
  s.module(0xa000, 0, 12);  // its nodes: 12 and 13
  s.cuda_alloc(0x8000, 100'000);
  s.module(0, 1 + 14, 14);  // nothing was allocated since
  s.cuda_alloc(0x9000, 100'000);
  s.module(0, 1 + 13, 15);
  s.cuda_alloc(0xa000, 100'000);
  Database db = record(s);
  EXPECT_EQ(rows(db, kBlocks),
            (Rows{row(0x1000, "-"), row(0x2000, 1), row(0x3000, 2), row(0x4000, "-"), row(0x5000, 1), row(0x6000, 2),
                  row(0x7000, "-"), row(0x8000, 1), row(0x9000, "-"), row(0xa000, 1)}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM module WHERE name IS NULL"), Rows{"2"}) << "no reading has named them";
}

TEST_F(ModuleBookTest, TheNodesOfAGraphThatAnotherThreadRuns) {
  TestStream s;
  s.module(0xa000, 0, 0);
  s.cuda_alloc(0x1000, 100'000);
  s.thread = 2;
  s.module(0, 1, 0);
  s.cuda_alloc(0x2000, 100'000);
  s.thread = 3;
  s.module(0xb000, 0, 0);
  s.cuda_alloc(0x3000, 100'000);
  s.thread = 2;
  s.module(0, 2, 0);  // of one of two threads
  s.cuda_alloc(0x4000, 100'000);
  Database db = record(s);
  EXPECT_EQ(rows(db, kBlocks), (Rows{row(0x1000, 1), row(0x2000, 1), row(0x3000, 2), row(0x4000, "-")}));
}

}  // namespace
}  // namespace dcmt::recorder

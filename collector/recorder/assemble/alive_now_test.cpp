#include "collector/recorder/assemble/alive_now.h"

#include <gtest/gtest.h>

#include "collector/recorder/testing/assembler_fixture.h"
#include "collector/recorder/testing/test_stream.h"
#include "trace/base/quantities.h"

namespace dcmt::recorder {
namespace {

using testing::TestStream;

class AliveNow : public testing::RecordingFixture {};

/// Two callers of one line, another line, and small blocks.
void program(TestStream& s) {
  s.named_thread(100, "python");
  s.code(0xC0, "/home/u/app/train.py", "main");
  s.code(0xC1, "/home/u/app/model.py", "forward");
  s.stack(0x51, {{0xC1, 0, 7}, {0xC0, 0, 12}});
  s.stack(0x52, {{0xC1, 0, 7}, {0xC0, 0, 13}});
  s.stack(0x53, {{0xC0, 0, 20}});
  s.alloc(0x10000, 3 * kMiB, 0x51);
  s.alloc(0x20000, 4 * kMiB, 0x52);
  s.alloc(0x30000, 5 * kMiB, 0x53);
  s.small_blocks(10'000);
}

TEST_F(AliveNow, IsByLineMostFirst) {
  TestStream s;
  program(s);
  apply(s);
  const auto groups = assembler().alive_now(5);
  ASSERT_TRUE(groups.ok());
  ASSERT_EQ(groups->size(), 3U);
  EXPECT_EQ((*groups)[0].name, "app/model.py:7 forward");
  EXPECT_EQ((*groups)[0].bytes, 7 * kMiB);
  EXPECT_EQ((*groups)[0].blocks, 2);
  EXPECT_EQ((*groups)[1].name, "app/train.py:20 main");
  EXPECT_EQ((*groups)[2].name, "blocks under 64 KiB, not followed");
  EXPECT_EQ((*groups)[2].bytes, 10'000);
  EXPECT_EQ((*groups)[2].blocks, 0);
  EXPECT_EQ(assembler().alive_now(1)->size(), 1U);
}

TEST_F(AliveNow, IsOfTheDeviceWithTheHighestPeak) {
  TestStream s;
  program(s);
  s.cuda_alloc(0x40000, 64 * kMiB, 0x53);
  s.cuda_free(0x40000);
  s.cuda_alloc(0x50000, 1 * kMiB, 0x53);
  apply(s);
  const auto groups = assembler().alive_now(5);
  ASSERT_EQ(groups->size(), 1U);
  EXPECT_EQ((*groups)[0].bytes, kMiB);
}

TEST_F(AliveNow, TheHighestBytesAreThoseBetweenTwoCalls) {
  TestStream s;
  program(s);
  apply(s);
  EXPECT_EQ(assembler().take_highest(), 12 * kMiB + 10'000);
  s.alloc(0x60000, 8 * kMiB, 0x53);
  s.free(0x60000);
  apply(s);
  EXPECT_EQ(assembler().take_highest(), 20 * kMiB + 10'000) << "gone by now";
  EXPECT_EQ(assembler().take_highest(), 12 * kMiB + 10'000);
}

}  // namespace
}  // namespace dcmt::recorder

#include <gtest/gtest.h>

#include <vector>

#include "collector/recorder/testing/assembler_fixture.h"

namespace dcmt::recorder {
namespace {

using testing::row;
using testing::Rows;
using testing::rows;
using testing::TestStream;

class CodeStacksTest : public testing::AssemblerFixture {
 protected:
  static void stack(TestStream& s, std::uint64_t id, std::uint32_t flags, const std::vector<std::uint64_t>& offsets) {
    const std::uint64_t object = s.text("/opt/train");
    std::vector<wire::ReturnAddress> calls;
    for (const std::uint64_t offset : offsets) calls.push_back({object, offset, 0, 0, 0});
    wire::NativeStackRecord record{};
    record.id = id;
    record.count = calls.size();
    s.add(wire::RecordType::kNativeStack, flags, record,
          {reinterpret_cast<const char*>(calls.data()), calls.size() * sizeof(wire::ReturnAddress)});
  }
};

constexpr const char* kFrames =
    "WITH RECURSIVE frames(depth, stack) AS (SELECT 0, stack FROM storage UNION ALL SELECT depth + 1, s.parent FROM "
    "frames f JOIN stack s ON s.id = f.stack WHERE s.parent IS NOT NULL) SELECT file.text, function.text, f.line FROM "
    "frames JOIN stack s ON s.id = frames.stack JOIN frame f ON f.id = s.frame JOIN string file ON file.id = f.file "
    "JOIN string function ON function.id = f.function ORDER BY depth";

TEST_F(CodeStacksTest, AStackOfTheProgramIsThatOfABirth) {
  TestStream s;
  stack(s, 7, wire::kOfProgram, {0x41, 0x81});
  s.birth(0x10, 0x20, 0x30, 1 << 20, 7);
  Database db = record(s);
  EXPECT_EQ(rows(db, kFrames), (Rows{row("/opt/train", "+0x40", 0), row("/opt/train", "+0x80", 0)}));
  EXPECT_EQ(rows(db, "SELECT value FROM meta WHERE key = 'stacks'"), Rows{"c++"});
}

TEST_F(CodeStacksTest, AStackOfAllObjectsIsNotThatOfABirth) {
  TestStream s;
  stack(s, 7, 0, {0x41});
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT count(*) FROM meta WHERE key = 'stacks'"), Rows{"0"});
}

TEST_F(CodeStacksTest, AStackWithFewerFramesThanItSaysIsABadRecord) {
  TestStream s;
  wire::NativeStackRecord stack{};
  stack.id = 7;
  stack.count = 1 << 20;
  s.add(wire::RecordType::kNativeStack, wire::kOfProgram, stack);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic"), Rows{"1"});
}

}  // namespace
}  // namespace dcmt::recorder

#include "collector/recorder/assemble/native_book.h"

#include <gtest/gtest.h>

#include "collector/recorder/testing/assembler_fixture.h"

namespace dcmt::recorder {
namespace {

using testing::row;
using testing::Rows;
using testing::rows;
using testing::TestStream;

constexpr std::uint64_t kInterval = 1 << 20;
constexpr const char* kLast =
    "SELECT bytes, samples, made FROM native_live WHERE reading = (SELECT max(reading) FROM native_live)";

class NativeBookTest : public testing::AssemblerFixture {
 protected:
  static void sample(TestStream& s, std::uint64_t address, std::uint64_t bytes, std::uint64_t stack = 0,
                     std::uint64_t interval = kInterval) {
    wire::NativeSampleRecord record{};
    record.address = address;
    record.bytes = bytes;
    record.interval = interval;
    record.stack = stack;
    s.add(wire::RecordType::kNativeSample, static_cast<std::uint32_t>(wire::NativeCall::kMalloc), record);
  }
  static void end(TestStream& s, std::uint64_t address, std::uint32_t flags = 0) {
    wire::NativeEndRecord record{};
    record.address = address;
    s.add(wire::RecordType::kNativeEnd, flags, record);
  }
};

TEST_F(NativeBookTest, ASampleStandsForMoreBytesTheLessLikelyItWas) {
  TestStream s;
  sample(s, 0x1000, 48);        // likely: 48 of a million
  sample(s, 0x2000, 64 << 20);  // as good as certain
  Database db = record(s);
  // 48 / (1 - exp(-48 / 2^20)) is an interval and half of the 48 bytes.
  EXPECT_EQ(rows(db, kLast), Rows{row(kInterval + 24 + (64 << 20), 2, kInterval + 24 + (64 << 20))});
  EXPECT_EQ(rows(db, "SELECT abs(deviation - 1048575) < 30 FROM native_live ORDER BY reading DESC LIMIT 1"), Rows{"1"});
  EXPECT_EQ(rows(db, "SELECT value FROM meta WHERE key = 'native_interval'"), Rows{row(kInterval)});
}

TEST_F(NativeBookTest, WhatEndsIsNotAlive) {
  TestStream s;
  sample(s, 0x1000, 64 << 20);
  sample(s, 0x2000, 32 << 20);
  end(s, 0x1000);
  end(s, 0x3000);  // was never sampled
  Database db = record(s);
  EXPECT_EQ(rows(db, kLast), Rows{row(32 << 20, 1, 96 << 20)});
}

TEST_F(NativeBookTest, TheLeastSinceTheReadingBeforeIsKnown) {
  TestStream s;
  sample(s, 0x1000, 64 << 20);  // the first reading
  sample(s, 0x2000, 32 << 20);
  end(s, 0x1000);
  sample(s, 0x3000, 48 << 20);  // the last one sees 80
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT bytes >> 20, least >> 20 FROM native_live ORDER BY reading"),
            (Rows{row(64, 0), row(80, 32)}));
}

TEST_F(NativeBookTest, AnAddressThatIsSampledAgainHadEnded) {
  TestStream s;
  sample(s, 0x1000, 64 << 20);
  sample(s, 0x1000, 32 << 20);
  Database db = record(s);
  EXPECT_EQ(rows(db, kLast), Rows{row(32 << 20, 1, 96 << 20)});
}

TEST_F(NativeBookTest, WhatAReallocCouldNotMoveGoesOn) {
  TestStream s;
  sample(s, 0x1000, 64 << 20);
  end(s, 0x1000);
  end(s, 0x1000, wire::kNativeGoesOn);
  Database db = record(s);
  EXPECT_EQ(rows(db, kLast), Rows{row(64 << 20, 1, 64 << 20)});
}

TEST_F(NativeBookTest, SitesDifferByTheStackOfPython) {
  TestStream s;
  s.code(1, "/w/train.py", "keep", 10);
  const std::uint64_t one = s.stack(5, {{1, 4, 12}}), other = s.stack(6, {{1, 8, 13}});
  sample(s, 0x1000, 64 << 20, one);
  sample(s, 0x2000, 64 << 20, one);
  sample(s, 0x3000, 64 << 20, other);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT f.line, l.samples FROM native_live l JOIN native_site n ON n.id = l.site JOIN stack s ON "
                 "s.id = n.stack JOIN frame f ON f.id = s.frame WHERE reading = 2 ORDER BY f.line"),
            (Rows{row(12, 2), row(13, 1)}));
}

TEST_F(NativeBookTest, AContinuedTraceDoesNotContinueIt) {
  TestStream s;
  sample(s, 0x1000, 64 << 20);
  Recording recording = start();
  recording.apply(s);
  check(recording.assembler->commit("x"));
  check(recording.assembler->finish());
  EXPECT_EQ(rows(recording.database(), "SELECT count(*) FROM diagnostic"), Rows{"0"});
}

TEST_F(NativeBookTest, SamplesThatMakeNoSenseAreSaid) {
  TestStream s;
  sample(s, 0x1000, 64 << 20, 0, 0);
  wire::NativeSampleRecord record{};
  record.interval = kInterval;
  s.add(wire::RecordType::kNativeSample, 77, record);  // no such call
  Database db = this->record(s);
  EXPECT_EQ(rows(db, "SELECT count(*) FROM native_live"), Rows{"0"});
}

}  // namespace
}  // namespace dcmt::recorder

#include "collector/recorder/assemble/segment_book.h"

#include <gtest/gtest.h>

#include "collector/recorder/testing/assembler_fixture.h"

namespace dcmt::recorder {
namespace {

using testing::row;
using testing::Rows;
using testing::rows;
using testing::TestStream;
using wire::SegmentEvent;

constexpr const char* kSegments =
    "SELECT gpu, address, bytes, stream, expandable, from_seq, to_seq FROM segment ORDER BY gpu, address, from_seq";
constexpr const char* kLeftOut = "SELECT s.text FROM diagnostic d JOIN string s ON s.id = d.text";

class SegmentBookTest : public testing::AssemblerFixture {};

TEST_F(SegmentBookTest, BeginAndEndAndArePartsOfWhatWasListed) {
  TestStream s;
  const auto first = s.reserved(3000, false);
  s.cuda_alloc(0x10000, 100);
  s.segment(SegmentEvent::kListed, 0x10000, 1000);
  const auto ended = s.segment(SegmentEvent::kEnds, 0x20000, 2000, 0x5000);
  s.segment(SegmentEvent::kListed, 0x20000, 2000, 0x5000);  // the list is older and still has it
  s.segment(SegmentEvent::kListEnds, 0, 0);
  s.reserved(1000, true);
  const auto begun = s.segment(SegmentEvent::kBegins, 0x30000, 500, 0x5000);
  s.reserved(1500, true);
  const auto cut = s.segment(SegmentEvent::kEnds, 0x10000, 200);
  s.reserved(1300, true);
  Database db = record(s);
  EXPECT_EQ(rows(db, kSegments),
            (Rows{row(0, 0x10000, 200, 0, 0, first, cut), row(0, 0x10000 + 200, 800, 0, 0, first, "-"),
                  row(0, 0x20000, 2000, 1, 0, first, ended), row(0, 0x30000, 500, 1, 0, begun, "-")}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic"), Rows{"0"});
  const Rows sums = rows(db, "SELECT sum(bytes) FROM segment WHERE to_seq IS NULL");
  EXPECT_EQ(sums, Rows{"1300"}) << "what is reserved at last";
}

TEST_F(SegmentBookTest, TheAllocatorsSettingsAndPoolsStandBesideThem) {
  TestStream s;
  s.reserved(1000, false);
  s.allocator("expandable_segments:True", 5000);
  s.segment(SegmentEvent::kListed, 0x10000, 1000);
  s.segment(SegmentEvent::kListEnds, 0, 0);
  s.segment(SegmentEvent::kBegins, 0x20000, 500, 0, wire::cuda_device(0), -3);
  s.reserved(1500, true);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT gpu, text, limit_bytes FROM allocator JOIN string ON string.id = settings"),
            Rows{"0|expandable_segments:True|5000"});
  EXPECT_EQ(rows(db, "SELECT bytes, pool FROM segment ORDER BY id"), (Rows{"1000|0", "500|-3"}));
}

TEST_F(SegmentBookTest, OfAProgramThatWasAttachedToAreThereSinceBefore) {
  TestStream s;
  s.skip(10);
  s.segment(SegmentEvent::kListed, 0x10000, 1000);
  s.segment(SegmentEvent::kListEnds, 0, 0);
  s.reserved(1000, true);
  Recording recording = start();
  check(recording.assembler->past_is_unknown("it was not asked", 77));
  recording.apply(s);
  check(recording.assembler->finish());
  EXPECT_EQ(rows(recording.database(), "SELECT address, from_seq, from_ns FROM segment"), Rows{row(0x10000, 0, 77)});
}

TEST_F(SegmentBookTest, AreLeftOutWhereTheyAreNotWhatIsReserved) {
  TestStream s;
  s.reserved(1000, false);
  s.segment(SegmentEvent::kListed, 0x10000, 1000);
  s.segment(SegmentEvent::kListed, 0x50000, 64, 0, wire::cuda_device(1));
  s.segment(SegmentEvent::kListEnds, 0, 0);
  s.reserved(1000, true);
  s.reserved(64, true, wire::cuda_device(1));
  Recording recording = start();
  recording.apply(s);
  check(recording.assembler->commit("x"));
  EXPECT_EQ(rows(recording.database(), "SELECT count(*) FROM segment"), Rows{"2"});
  s.reserved(3000, true);  // a record of 2000 more was lost
  s.segment(SegmentEvent::kBegins, 0x70000, 64);
  recording.apply(s);
  check(recording.assembler->finish());
  EXPECT_EQ(rows(recording.database(), "SELECT gpu FROM segment"), Rows{"1"});
  EXPECT_EQ(rows(recording.database(), kLeftOut),
            Rows{"the segments of cuda:0 are left out: their bytes are not what the allocator has reserved, as where "
                 "records are lost"});
}

TEST_F(SegmentBookTest, WithoutTheListThereAreNone) {
  TestStream s;
  s.segment(SegmentEvent::kListed, 0x10000, 1000);
  s.segment(SegmentEvent::kBegins, 0x20000, 1000);
  s.reserved(2000, true);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT count(*) FROM segment"), Rows{"0"});
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic"), Rows{"0"});
}

TEST_F(SegmentBookTest, NonsenseIsSkipped) {
  TestStream s;
  s.segment(SegmentEvent::kBegins, 0x10000, 0);
  s.segment(SegmentEvent::kBegins, 0x10000, std::uint64_t{1} << 60);
  s.segment(SegmentEvent::kBegins, std::uint64_t{1} << 63, 64);
  s.segment(SegmentEvent::kBegins, 0x10000, 64, 0, wire::kCpuDevice);
  s.segment(static_cast<SegmentEvent>(9), 0x10000, 64);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT count(*) FROM segment"), Rows{"0"});
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), Rows{"5"});
}

TEST_F(SegmentBookTest, AProgramCannotFillTheTraceWithThem) {
  TestStream s;
  s.segment(SegmentEvent::kListEnds, 0, 0);
  for (std::uint64_t i = 0; i < 100'001; ++i) s.segment(SegmentEvent::kBegins, 0x10000 + 64 * i, 64);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT count(*) FROM segment"), Rows{"0"});
  EXPECT_EQ(rows(db, kLeftOut), Rows{"the segments of cuda:0 are left out: there are too many"});
}

}  // namespace
}  // namespace dcmt::recorder

#include "collector/recorder/assemble/census_book.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collector/recorder/testing/assembler_fixture.h"
#include "collector/recorder/testing/census_fixture.h"

namespace dcmt::recorder {
namespace {

using testing::line;
using testing::op;
using testing::row;
using testing::Rows;
using testing::rows;
using testing::TestStream;
using testing::two_places;
using wire::RecordType;

using CensusBookTest = testing::CensusFixture;

TEST_F(CensusBookTest, EquationsAndEdges) {
  const std::string file = write_source();
  TestStream s;
  census(s, file, Body::kBefore);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT c.key, c.bytes, c.flags, c.trigger, p.kind FROM mark c JOIN mark p ON p.id = c.parent"
                 " WHERE c.kind = 'census'"),
            (Rows{"3|4096|other_threads_unseen|release|release"}));
  EXPECT_EQ(rows(db, "SELECT subject, tensor, count, explained, unexplained FROM sample ORDER BY id"),
            (Rows{"storage|-|2|2|0", "tensor|2|1|1|0", "object|2|3|3|0", "tensor|3|2|0|2"}));
  EXPECT_EQ(rows(db, "SELECT DISTINCT sample.storage = mark.storage FROM sample JOIN mark ON mark.id = census"),
            (Rows{"1"}));
  EXPECT_EQ(
      rows(db,
           "SELECT held, holder, tensor, object, from_seq IN (SELECT from_seq FROM tensor), confidence FROM edge"
           " ORDER BY id"),
      (Rows{"storage|tensor|2|-|1|certain", "tensor|python_object|2|144|0|certain", "storage|tensor|3|-|1|certain",
            "object|local|2|144|0|certain", "object|local|2|144|0|certain", "object|eval_stack|2|144|0|certain"}));
  EXPECT_EQ(rows(db,
                 "SELECT name, function, line, assignment, delete_line, return_line, model_file, model_line, model_text"
                 " FROM holder WHERE held = 'object' ORDER BY id"),
            (Rows{"buf|Runner.call|2|buf = gather()|5|6|/home/u/model.py|41|x = F.linear(x, self.weight)",
                  "alias|Runner.call|3|alias = buf|-|6|/home/u/model.py|41|x = F.linear(x, self.weight)",
                  "-|Runner.call|-|-|-|-|-|-|-"}));
  EXPECT_EQ(rows(db, "SELECT thread, current_line FROM edge WHERE holder = 'local'"), (Rows{"1|4", "1|4"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM source"), (Rows{"1"}));
  EXPECT_EQ(totals_.censuses, 1);
}

TEST_F(CensusBookTest, AViewKeepsItsBase) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  s.birth(0xA1, 0xB0, 0, 4096);
  s.census(RecordType::kCensusBegin, 1, 0xB0, 2, 3, 0, 3);
  s.census_tensor(1, 0xA0, 1, 0, 0);
  s.census_tensor(1, 0xA1, 1, 0x90, 1, 0xA0);
  s.census(RecordType::kCensusEnd, 1, 0xB0, 2, 0, 0, 3);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT subject, tensor, count, explained, unexplained FROM sample ORDER BY id"),
            (Rows{"storage|-|2|2|0", "tensor|1|1|1|0", "tensor|2|1|1|0", "object|2|1|0|1"}));
  EXPECT_EQ(rows(db, "SELECT held, tensor, object FROM edge WHERE holder = 'view'"), (Rows{"tensor|1|161"}));
}

TEST_F(CensusBookTest, TheBodyMayComeLater) {
  const std::string file = write_source();
  TestStream early;
  census(early, file, Body::kBefore);
  Database expected = record(early);
  for (const Body comes : {Body::kAround, Body::kAfter}) {
    TestStream late;
    census(late, file, comes);
    for (const bool commits : {false, true}) {
      Database db = record(late, commits);
      const char* sql = "SELECT name, function, line, assignment, delete_line, model_line FROM holder ORDER BY id";
      EXPECT_EQ(rows(db, sql), rows(expected, sql));
    }
  }
}

TEST_F(CensusBookTest, EdgesEndWithWhatTheyHold) {
  TestStream s;
  census(s, write_source(), Body::kBefore);
  const auto tensor = s.death(0xA0);
  const auto storage = s.storage_death(0xB0);
  for (const bool commits : {false, true}) {
    Database db = record(s, commits);
    EXPECT_EQ(rows(db, "SELECT DISTINCT tensor, to_seq FROM edge ORDER BY tensor"),
              (Rows{"2|" + std::to_string(tensor), "3|" + std::to_string(storage)}));
  }
}

TEST_F(CensusBookTest, EdgesEndWhereTheirTensorMoves) {
  TestStream s;
  census(s, write_source(), Body::kBefore);
  const auto moved = s.repoint(0xA0, 0xB0, 0xB1);
  for (const bool commits : {false, true}) {
    Database db = record(s, commits);
    EXPECT_EQ(rows(db, "SELECT DISTINCT tensor, to_seq FROM edge ORDER BY tensor"),
              (Rows{"2|" + std::to_string(moved), "3|-"}));
  }
}

/// No record says that the tensor moved: it ends on another storage.
TEST_F(CensusBookTest, EdgesEndWhereTheirTensorIsFoundToHaveMoved) {
  TestStream s;
  census(s, write_source(), Body::kBefore);
  const auto found = s.death(0xA0, 0xB1);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT DISTINCT tensor, to_seq FROM edge ORDER BY tensor"),
            (Rows{"2|" + std::to_string(found), "3|-"}));
}

TEST_F(CensusBookTest, ACensusMakesNoStorageAndEndsNoDeath) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  s.key(RecordType::kGather, 3, 0xB0, 4096);
  s.key(RecordType::kReleaseBegin, 3, 0xB0, 4096);
  s.key(RecordType::kRelease, 3, 0xB0, 4096, wire::kKeyFinal);
  s.key(RecordType::kReleaseSettled, 3, 0xB0, 4096);
  s.thread = 2;  // drops the last reference while the first thread continues with its census
  s.death(0xA0, 0xB0);
  const auto end = s.storage_death(0xB0);
  s.thread = 1;
  s.census(RecordType::kCensusBegin, 1, 0xB0, 1, 1, 0, 3);
  s.census_tensor(1, 0xA0, 1, 0, 0);
  s.census(RecordType::kCensusEnd, 1, 0xB0, 1, 0, 0, 3);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT id, to_seq FROM storage"), (Rows{"1|" + std::to_string(end)}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM mark WHERE kind = 'census'"), (Rows{"0"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic"), (Rows{"0"}));
}

TEST_F(CensusBookTest, MoreHoldersThanReferencesIsUnstable) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  s.census(RecordType::kCensusBegin, 1, 0xB0, 1, 3);
  s.census_tensor(1, 0xA0, 1, 0, 0);
  s.census_tensor(1, 0xA1, 1, 0, 0);
  s.census(RecordType::kCensusEnd, 1, 0xB0, 1, 0);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT flags, parent, trigger FROM mark WHERE kind = 'census'"), (Rows{"unstable|-|call"}));
  EXPECT_EQ(rows(db, "SELECT count, explained, unexplained FROM sample WHERE subject = 'storage'"), (Rows{"1|1|0"}));
}

TEST_F(CensusBookTest, ACensusSaysWhenWhereAndOfWhatItWasMade) {
  TestStream s;
  two_places(s);
  const auto storage = s.birth(0xA0, 0xB0, 0, 4096);
  s.thread = 2;
  s.op_begin("aten::linear", 20);
  wire::CensusRecord census{};
  census.census = 1;
  census.storage = 0xB0;
  census.bytes = 4096;
  census.graph = 7;
  census.key = 3;
  census.count = 1;
  census.stack = 0x51;
  census.ordinal = 21;
  const auto from = s.add(RecordType::kCensusBegin, 2, census);
  const auto to = s.add(RecordType::kCensusEnd, 0, census);
  s.op_end(20);
  Database db = record(s);
  EXPECT_EQ(
      rows(db, "SELECT thread, graph, key, storage, bytes, trigger, parent, flags, ordinal, " + op("mark.operator") +
                   ", " + line("mark.stack") + ", from_seq, from_ns, to_seq, to_ns FROM mark WHERE kind = 'census'"),
      (Rows{row(2, 7, 3, storage, 4096, "out_of_memory", "-", "-", 21, "aten::linear", 12, from, from * 1000, to,
                to * 1000)}));
}

TEST_F(CensusBookTest, EachTriggerAndEachFlagHasItsName) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  using namespace wire;
  const auto add_census = [&](std::uint64_t id, std::uint32_t trigger, std::uint32_t flags) {
    s.census(RecordType::kCensusBegin, id, 0xB0, 9, trigger);
    s.census(RecordType::kCensusEnd, id, 0xB0, 9, flags);
  };
  add_census(1, 1, kCensusUnstable);
  add_census(2, 2, kCensusOtherThreads | kCensusSharingLossy);
  add_census(3, 3, 0);
  add_census(4, 9, 0);  // an unknown trigger
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT trigger, flags FROM mark WHERE kind = 'census' ORDER BY id"),
            (Rows{"release|unstable", "out_of_memory|other_threads_unseen,sharing_lossy", "call|-"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"1"}));
  EXPECT_EQ(totals_.censuses, 3);
}

TEST_F(CensusBookTest, EachKindOfHolderHasItsName) {
  TestStream s;
  s.named_thread(100, "python");
  s.birth(0xA0, 0xB0, 0, 4096);
  s.census(RecordType::kCensusBegin, 1, 0xB0, 2, 3, 0x80);
  s.census_tensor(1, 0xA0, 2, 0x90, 5);
  using wire::LocalKind;
  for (const LocalKind kind : {LocalKind::kLocal, LocalKind::kCell, LocalKind::kFree, LocalKind::kEvalStack}) {
    s.census_local(1, 0x90, 0xC0, 0, 52, 4, "x", kind);
  }
  s.census_local(1, 0x90, 0xC0, 0, 52, 4, "x", static_cast<LocalKind>(9));  // an unknown kind
  s.census(RecordType::kCensusEnd, 1, 0xB0, 2, 0, 0x80);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT held, holder, object, confidence FROM edge ORDER BY id"),
            (Rows{"storage|tensor|-|certain", "tensor|python_object|144|certain", "storage|python_object|128|certain",
                  "object|local|144|certain", "object|cell|144|certain", "object|free|144|certain",
                  "object|eval_stack|144|certain"}));
  EXPECT_EQ(rows(db, "SELECT subject, count, explained, unexplained FROM sample ORDER BY id"),
            (Rows{"storage|2|2|0", "tensor|2|1|1", "object|5|5|0"}))
      << "the storage's own Python object holds it, and of two references to a tensor one is its Python object's";
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"1"}));
}

TEST_F(CensusBookTest, OnlyNamesOfTheTensorItselfExplainItsObject) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  const auto second = s.birth(0xA1, 0xB0, 0, 4096);
  s.census(RecordType::kCensusBegin, 1, 0xB0, 2, 3);
  s.census_tensor(1, 0xA0, 1, 0x90, 2);
  s.census_tensor(1, 0xA1, 1, 0x91, 2);
  s.census_tensor(1, 0xA1, 1, 0x91, 2);  // recorded twice, one tensor
  s.census_local(1, 0x91, 0xC0, 0, 52, 4, "x");
  s.census_local(1, 0x91, 0xC0, 1, 52, 4, "y");
  s.census_local(1, 0x92, 0xC0, 2, 52, 4, "z");  // another object
  s.census(RecordType::kCensusEnd, 1, 0xB0, 2, 0);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT subject, tensor, count, explained FROM sample ORDER BY id"),
            (Rows{"storage|-|2|2", "tensor|1|1|1", "object|1|2|0", row("tensor", second, 1, 1),
                  row("object", second, 2, 2)}));
  EXPECT_EQ(
      rows(db, "SELECT text, tensor FROM edge JOIN string ON string.id = name WHERE holder = 'local' ORDER BY edge.id"),
      (Rows{row("x", second), row("y", second), "z|-"}));
}

TEST_F(CensusBookTest, AnAliasHoldsFromItsBirthAndAnUnknownTensorFromTheCensus) {
  TestStream s;
  const auto birth = s.birth(0xA0, 0xB0, 0, 4096);
  const auto census = s.census(RecordType::kCensusBegin, 1, 0xB0, 3, 3);
  s.census_tensor(1, 0xA0, 1, 0, 0);
  s.census_tensor(1, 0xA9, 1, 0, 0);  // its birth was too small to be recorded
  s.census_tensor(1, 0xA8, 1, 0, 0);
  s.birth(0xA8, 0xB0, 0, 4096);  // after its count was read: another tensor at its address
  s.census(RecordType::kCensusEnd, 1, 0xB0, 3, 0);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT tensor, from_seq, to_seq FROM edge ORDER BY id"),
            (Rows{row(birth, birth, "-"), row("-", census, "-"), row("-", census, "-")}));
}

TEST_F(CensusBookTest, OfAStorageThatEndedMeanwhileTheEdgesHaveEnded) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  s.census(RecordType::kCensusBegin, 1, 0xB0, 1, 3);
  s.census_tensor(1, 0xA0, 1, 0, 0);
  s.thread = 2;
  s.storage_death(0xB0);
  s.thread = 1;
  const auto to = s.census(RecordType::kCensusEnd, 1, 0xB0, 1, 0);
  for (const bool commits : {false, true}) {
    Database db = record(s, commits);
    EXPECT_EQ(rows(db, "SELECT to_seq, to_ns FROM edge"), (Rows{row(to, to * 1000)}));
  }
}

TEST_F(CensusBookTest, TheAssignmentIsTheLatestOneAboveTheFramesLine) {
  // Two branches assign, in lines 3 and 5.
  const auto line_of = [this](int current) {
    TestStream s;
    s.birth(0xA0, 0xB0, 0, 4096);
    s.code(0xC0, "generated.py", "call");
    s.census(RecordType::kCensusBegin, 1, 0xB0, 1, 3);
    s.census_tensor(1, 0xA0, 1, 0x90, 1);
    s.census_local(1, 0x90, 0xC0, 1, 82, current, "buf");
    body(s, 0xC0, "two_branches");
    s.census(RecordType::kCensusEnd, 1, 0xB0, 1, 0);
    Database db = record(s);
    return rows(db,
                "SELECT line, current_line, delete_line, return_line, assignment, model_line FROM edge"
                " WHERE holder = 'local'");
  };
  EXPECT_EQ(line_of(6), (Rows{"5|6|-|7|-|-"}));
  EXPECT_EQ(line_of(5), (Rows{"5|5|-|7|-|-"}));
  EXPECT_EQ(line_of(4), (Rows{"3|4|-|7|-|-"}));
  EXPECT_EQ(line_of(1), (Rows{"5|1|-|7|-|-"})) << "a loop brought the value around";
  EXPECT_EQ(line_of(0), (Rows{"5|-|-|7|-|-"})) << "the frame's line is not known";
}

TEST_F(CensusBookTest, TheModelsLineMayComeLater) {
  const std::string file = write_source();
  for (const bool commits : {false, true}) {
    TestStream s;
    census(s, file, Body::kBefore);
    s.source_line(file, 3, " File \"/home/u/model.py\", line 55, in forward\n    y = x\n");
    Database db = record(s, commits);
    EXPECT_EQ(
        rows(db,
             "SELECT name, line, model_file, model_line, model_text FROM holder WHERE name IS NOT NULL ORDER BY id"),
        (Rows{"buf|2|/home/u/model.py|41|x = F.linear(x, self.weight)", "alias|3|/home/u/model.py|55|y = x"}));
  }
}

TEST_F(CensusBookTest, WhatBelongsToNoCensusIsNothing) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  s.census_tensor(1, 0xA0, 1, 0x90, 1);  // before its begin, which was lost
  s.census_local(1, 0x90, 0xC0, 0, 52, 4, "x");
  s.census(RecordType::kCensusEnd, 1, 0xB0, 1, 0);
  s.census(RecordType::kCensusBegin, 2, 0xB0, 1, 3);
  s.census_tensor(2, 0xA0, 1, 0, 0);
  s.census(RecordType::kCensusBegin, 2, 0xB0, 1, 3);  // twice
  Database db = record(s);                            // and without an end
  for (const char* table : {"edge", "sample", "mark WHERE kind = 'census'"}) {
    EXPECT_EQ(rows(db, std::string("SELECT count(*) FROM ") + table), (Rows{"0"})) << table;
  }
  EXPECT_EQ(
      rows(db, "SELECT string.text FROM diagnostic JOIN string ON string.id = diagnostic.text ORDER BY diagnostic.id")
          .size(),
      2u);
}

TEST_F(CensusBookTest, CensusesWithoutAnEndAndPiecesWithoutNumberAreBounded) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  for (std::uint64_t id = 1; id <= 257; ++id) s.census(RecordType::kCensusBegin, id, 0xB0, 1, 3);
  for (std::uint64_t id = 1; id <= 257; ++id) s.census(RecordType::kCensusEnd, id, 0xB0, 1, 0);
  Database open = record(s);
  EXPECT_EQ(rows(open, "SELECT count(*) FROM mark WHERE kind = 'census'"), (Rows{"256"})) << "the first one gave way";
  EXPECT_EQ(rows(open, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"1"}));

  TestStream long_one;
  long_one.birth(0xA0, 0xB0, 0, 4096);
  long_one.census(RecordType::kCensusBegin, 1, 0xB0, 1, 3);
  for (int i = 0; i < 65536; ++i) long_one.census_tensor(1, 0xA0, 1, 0, 0);
  long_one.census(RecordType::kCensusEnd, 1, 0xB0, 1, 0);
  Database pieces = record(long_one);
  EXPECT_EQ(rows(pieces, "SELECT count(*) FROM edge"), (Rows{"1"}));
  EXPECT_EQ(rows(pieces, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"1"}));
}

TEST_F(CensusBookTest, PiecesOfCodeMustFitTogether) {
  const auto bad = [this](wire::CodeBodyRecord piece, std::uint32_t part, const std::string& data) {
    TestStream s;
    wire::CodeBodyRecord first{};
    first.code = 0xC0;
    first.total = 8;
    first.bytes = 4;
    s.add(RecordType::kCodeBody, 1, first, "abcd");
    piece.code = 0xC0;
    piece.bytes = static_cast<std::uint32_t>(data.size());
    s.add(RecordType::kCodeBody, part, piece, data);
    Database db = record(s);
    return rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'") == Rows{"1"};
  };
  constexpr std::uint32_t kMost = 8u << 20;
  const auto piece = [](std::uint32_t total, std::uint32_t offset) {
    wire::CodeBodyRecord record{};
    record.total = total;
    record.offset = offset;
    return record;
  };
  EXPECT_FALSE(bad(piece(8, 4), 1, "efgh"));
  EXPECT_FALSE(bad(piece(8, 0), 1, "abcd")) << "the same again";
  EXPECT_FALSE(bad(piece(kMost, 0), 4, "ab"));
  EXPECT_TRUE(bad(piece(kMost + 1, 0), 4, "ab"));
  EXPECT_TRUE(bad(piece(8, 5), 1, "fgh")) << "a byte is missing";
  EXPECT_TRUE(bad(piece(8, 4), 1, "efghi")) << "more than all";
  EXPECT_TRUE(bad(piece(8, 9), 1, "")) << "behind the end";
  EXPECT_TRUE(bad(piece(8, 4), 2, "efgh")) << "its first piece is missing";
  EXPECT_TRUE(bad(piece(8, 4), 0, "efgh"));
  EXPECT_TRUE(bad(piece(8, 0), 5, "efgh"));
}

TEST_F(CensusBookTest, ASourceLineIsOfAFileAndHasAText) {
  TestStream s;
  const std::uint64_t text = s.text("generated.py");
  s.add(RecordType::kSourceLine, 1, wire::SourceLineRecord{{}, 0, text});
  s.add(RecordType::kSourceLine, 1, wire::SourceLineRecord{{}, text, 0});
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT count(*) FROM source_line"), (Rows{"0"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"2"}));
}

}  // namespace
}  // namespace dcmt::recorder

#include "collector/recorder/assemble/assembler.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "collector/recorder/testing/assembler_fixture.h"

namespace dcmt::recorder {
namespace {

using testing::AssemblerFixture;
using testing::kOrigin;
using testing::row;
using testing::Rows;
using testing::rows;
using testing::TestStream;
using wire::MarkKind;
using wire::RecordType;

using AssemblerTest = AssemblerFixture;

TEST_F(AssemblerTest, DefinitionsMayComeAfterTheirFirstUse) {
  TestStream s;
  wire::OpRecord op{};
  op.name = 0x77;
  op.ordinal = 1;
  s.add(RecordType::kOpBegin, 0, op);
  s.birth(0xA0, 0xB0, 0, 8, 0x51);
  s.publish_text(0x77, "late name");
  s.stack(0x51, {{0xC0, 0, 9}});
  s.code(0xC0, "f.py", "late function");
  s.birth(0xA1, 0xB0, 0, 8, 0x99);  // never defined
  for (const bool commits : {false, true}) {
    Database db = record(s, commits);
    EXPECT_EQ(rows(db, "SELECT text FROM operator JOIN string ON string.id = name"), (Rows{"late name"}));
    EXPECT_EQ(rows(db,
                   "SELECT fn.text, frame.line FROM tensor t JOIN stack ON stack.id = t.stack JOIN frame ON"
                   " frame.id = stack.frame JOIN string fn ON fn.id = frame.function ORDER BY t.id"),
              (Rows{"late function|9", "(unknown)|0"}));
  }
}

TEST_F(AssemblerTest, ClockFollowsTheReadings) {
  TestStream s;
  s.op_begin("a", 1);  // text at 1, operator at counter 2000: 1 GHz until there is another reading
  s.clock(1'000'000);  // at counter 3000
  s.skip(100'000);
  s.clock(1'000'000 + 200'002'000);  // 100'001 records of 1000 cycles later: 2 ns a cycle
  s.op_end(1);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT from_ns, to_ns FROM operator"), (Rows{"2000|201004000"}));
}

TEST_F(AssemblerTest, AJumpOfTheClockIsSaidAndTheErrorIsKept) {
  TestStream s;
  s.clock(1'000'000'000);  // at counter 1000
  s.skip(20'000);
  s.clock(1'020'000'100);  // 20'001'000 cycles later, 100 ns less than at 1 GHz
  s.skip(1'000'000);
  s.clock(1'030'000'000);  // 1 s of the counter, but 10 ms of the clock
  s.mark(RecordType::kMarkPoint, MarkKind::kUser, "after");
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT code FROM diagnostic"), (Rows{"clock"}));
  EXPECT_EQ(rows(db, "SELECT value FROM meta WHERE key IN ('clock_error_ns', 'clock_readings') ORDER BY key"),
            (Rows{"900", "3"}));
  EXPECT_EQ(rows(db, "SELECT from_ns FROM mark WHERE kind = 'user'"), (Rows{"1030002000"}));
}

TEST_F(AssemblerTest, LossesAndDiagnosticsAreRows) {
  TestStream s;
  wire::LostRecord lost{};
  lost.count = 5;
  lost.since_tsc = 400;
  s.add(RecordType::kLost, 1, lost);
  wire::DiagnosticRecord diagnostic{};
  diagnostic.text = s.text("no python");
  s.add(RecordType::kDiagnostic, 1, diagnostic);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT reason, count, from_ns FROM loss"), (Rows{"no_room|5|400"}));
  EXPECT_EQ(rows(db, "SELECT code, string.text FROM diagnostic JOIN string ON string.id = diagnostic.text"),
            (Rows{"provider_off|no python"}));
  EXPECT_EQ(totals_.lost, 5);
}

TEST_F(AssemblerTest, GapIsALoss) {
  Recording recording = start();
  Assembler& assembler = *recording.assembler;
  check(assembler.losses().gap(1, 3));
  check(assembler.losses().gap(5, 5, true));
  for (const auto& [from, to] : {std::pair<std::uint64_t, std::uint64_t>{0, 3}, {7, 6}, {7, wire::kMaxSequence + 1}}) {
    check(assembler.losses().gap(from, to));  // impossible gaps
  }
  EXPECT_EQ(assembler.last_seq(), 5u);
  check(assembler.losses().gap(4, 4));  // found later
  EXPECT_EQ(assembler.last_seq(), 5u);
  EXPECT_EQ(assembler.totals().lost, 5);
  check(assembler.finish());
  EXPECT_EQ(rows(recording.database(), "SELECT reason, count, from_seq, to_seq, ns FROM loss ORDER BY id"),
            (Rows{"in_flight|3|1|3|0", "damaged|1|5|5|0", "in_flight|1|4|4|0"}));
}

TEST_F(AssemblerTest, LossesThatOnlyTheCounterHasAreALossOfUnknownTime) {
  TestStream s;
  s.op("aten::relu");
  s.add(RecordType::kLost, 1, wire::LostRecord{{}, 5, 400});
  s.add(RecordType::kLost, 4, wire::LostRecord{{}, 9, 400});  // in flight: not lost for lack of space
  Recording recording = start();
  recording.apply(s);
  check(recording.assembler->losses().counted(5));
  check(recording.assembler->losses().counted(7));
  check(recording.assembler->losses().counted(7));
  check(recording.assembler->losses().counted(std::uint64_t{1} << 31));  // a counter that the job has overwritten
  check(recording.assembler->finish());
  const auto last = recording.assembler->last_seq();
  EXPECT_EQ(rows(recording.database(), "SELECT reason, count, from_ns, from_seq, to_seq, ns FROM loss ORDER BY id"),
            (Rows{row("no_room", 5, 400, last - 1, last - 1, (last - 1) * 1000),
                  row("in_flight", 9, 400, last, last, last * 1000), row("no_room", 2, "-", last, last, last * 1000)}));
  EXPECT_EQ(rows(recording.database(), "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"1"}));
  EXPECT_EQ(recording.assembler->totals().lost, 16);
}

TEST_F(AssemblerTest, ALossThatCannotBeIsNone) {
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 31) - 1;
  TestStream s;
  s.add(RecordType::kLost, 9, wire::LostRecord{{}, 5, 400});
  s.add(RecordType::kLost, 1, wire::LostRecord{{}, kMost + 1, 400});
  s.add(RecordType::kLost, 1, wire::LostRecord{{}, kMost, ~std::uint64_t{0} >> 2});  // lost in the future
  s.add(RecordType::kDiagnostic, 9, wire::DiagnosticRecord{});
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT count, from_ns, ns FROM loss"), (Rows{row(kMost, 3000, 3000)}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"3"}));
}

TEST_F(AssemblerTest, EachDiagnosticHasItsCodeAndItsPoint) {
  TestStream s;
  wire::DiagnosticRecord diagnostic{};
  const auto first = s.add(RecordType::kDiagnostic, 1, diagnostic);
  diagnostic.text = s.text("no memory");
  s.add(RecordType::kDiagnostic, 5, diagnostic);
  s.add(RecordType::kDiagnostic, 6, diagnostic);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT code, string.text, seq, ns FROM diagnostic JOIN string ON string.id = diagnostic.text"
                 " ORDER BY diagnostic.id"),
            (Rows{row("provider_off", "(unknown)", first, first * 1000),
                  row("key_table_full", "no memory", first + 2, (first + 2) * 1000),
                  row("note", "no memory", first + 3, (first + 3) * 1000)}));
}

TEST_F(AssemblerTest, WhatIsNoRecordOfOursIsSkipped) {
  TestStream s;
  s.op("aten::relu");
  TestStream bad;
  bad.op_end(1);
  auto* header = reinterpret_cast<wire::RecordHeader*>(bad.records.back().words.data());
  Recording recording = start();
  recording.apply(s);
  for (const std::uint64_t seq : {std::uint64_t{0}, wire::kMaxSequence + 1}) {
    header->seq = seq;
    check(recording.assembler->apply(*header, 1));
  }
  EXPECT_EQ(recording.assembler->last_seq(), 3u);
  header->seq = 2;  // a sequence that was used before
  check(recording.assembler->apply(*header, 1));
  EXPECT_EQ(recording.assembler->totals().records, 3);
  check(recording.assembler->finish());
  EXPECT_EQ(rows(recording.database(), "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"2"}));
}

TEST_F(AssemblerTest, AGarbledCounterDoesNotCarryTheClockAway) {
  constexpr std::uint64_t kDay = std::uint64_t{24} * 3600 * 1'000'000'000;
  TestStream s;
  s.mark(RecordType::kMarkPoint, MarkKind::kUser, "a");
  const auto at = [&](std::size_t record) {
    return reinterpret_cast<wire::RecordHeader*>(s.records[record].words.data());
  };
  for (const std::uint64_t days : {31, 29}) {
    s.mark(RecordType::kMarkPoint, MarkKind::kUser, "a");
    at(s.records.size() - 1)->tsc = days * kDay;
  }
  s.mark(RecordType::kMarkPoint, MarkKind::kUser, "a");  // the counter is as usual again; time does not go back
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT from_ns FROM mark ORDER BY id"), (Rows{"2000", "2000", row(29 * kDay), row(29 * kDay)}));
}

TEST_F(AssemblerTest, ChangesOfTheClockAreSaidAHundredTimesAtMost) {
  TestStream s;
  std::uint64_t ns = 1'000'000'000;
  s.clock(ns);
  for (int jump = 0; jump < 105; ++jump) {
    s.skip(20'000);
    s.clock(ns += 20'001'000);  // as with the counter's rate
    s.skip(1'000'000);
    s.clock(ns += 10'000'000);  // after a second of the counter
  }
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'clock'"), (Rows{"100"}));
  EXPECT_EQ(rows(db,
                 "SELECT string.text FROM diagnostic JOIN string ON string.id = diagnostic.text"
                 " ORDER BY diagnostic.id DESC LIMIT 1"),
            (Rows{"more changes of the clock; not listed"}));
}

TEST_F(AssemblerTest, TheRecordersOwnClockCountsIfItIsTheJobs) {
  for (const bool agrees : {true, false}) {
    TestStream s;
    s.clock(1'000'000'000);  // at counter 1000
    s.skip(20'000);
    s.clock(1'020'001'000);
    Recording recording = start();
    recording.apply(s);
    check(recording.assembler->clock().read_own({40'002'000, agrees ? 1'040'001'000u : 5u, 2'000'000'000}));
    check(recording.assembler->finish());
    EXPECT_EQ(rows(recording.database(), "SELECT value FROM meta WHERE key = 'clock_readings'"),
              (Rows{agrees ? "3" : "2"}));
    EXPECT_EQ(rows(recording.database(), "SELECT value FROM meta WHERE key = 'real_offset_ns'"),
              (Rows{agrees ? "959999000" : "-1020001000"}));
    EXPECT_EQ(rows(recording.database(), "SELECT count(*) FROM diagnostic"), (Rows{"0"}));
  }
}

TEST_F(AssemblerTest, ForkedChildrenAndDamagedChunksAreSaid) {
  Recording recording = start();
  check(recording.assembler->losses().forked_children(0));
  check(recording.assembler->losses().forked_children(1));
  check(recording.assembler->losses().forked_children(2));
  check(recording.assembler->losses().damaged_chunks(3, 8));
  check(recording.assembler->finish());
  const Rows said = rows(recording.database(),
                         "SELECT code, string.text FROM diagnostic"
                         " JOIN string ON string.id = diagnostic.text ORDER BY diagnostic.id");
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(said[0].find("note|a forked child is not recorded"), 0u) << said[0];
  EXPECT_EQ(said[1].find("note|2 forked children are not recorded"), 0u) << said[1];
  EXPECT_EQ(said[2].find("spool_damaged|3 of the 8 chunks"), 0u) << said[2];
}

TEST_F(AssemblerTest, AReadingIsWantedOfWhatIsLargeAndHasOutlivedItsStep) {
  constexpr std::uint64_t kLarge = 64 * 1024;
  const auto wanted = [this](int born_in, std::uint64_t bytes, bool ends) {
    TestStream s;
    for (int step = 1; step <= 4; ++step) {
      if (step == born_in) s.birth(0xA0, 0xB0, 0, bytes);
      if (step == 4 && ends) s.storage_death(0xB0);
      s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, step);
    }
    Recording recording = start();
    recording.apply(s);
    return recording.assembler->readings().wants_reading();
  };
  EXPECT_TRUE(wanted(2, kLarge, false));
  EXPECT_TRUE(wanted(3, kLarge, false));
  EXPECT_FALSE(wanted(2, kLarge - 1, false)) << "small";
  EXPECT_FALSE(wanted(2, kLarge, true)) << "gone";
  EXPECT_FALSE(wanted(1, kLarge, false)) << "the first step makes what a program keeps for good";
  EXPECT_FALSE(wanted(4, kLarge, false)) << "it may still be in use";
}

TEST_F(AssemblerTest, WhatHasOutlivedItsStepWithoutAHolderIsSearchedForInCpp) {
  constexpr std::uint64_t kLarge = 1 << 20;
  TestStream s;
  s.birth(0xA0, 0xB0, 0, kLarge);
  s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 1);
  s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 2);
  s.birth(0xA1, 0xB1, 0, 2 * kLarge);
  Recording recording = start();
  recording.apply(s);
  const Assembler& assembler = *recording.assembler;
  EXPECT_EQ(assembler.readings().without_holder(false).storages, (std::vector<std::uint64_t>{0xB0}));
  EXPECT_EQ(assembler.readings().without_holder(true).storages, (std::vector<std::uint64_t>{0xB0, 0xB1}));
  EXPECT_EQ(assembler.readings().without_holder(true).least, kLarge) << "more than a twentieth of what is allocated";
  EXPECT_TRUE(assembler.readings().lacks_holders());
  recording.assembler->readings().begins(scan::Scope::kAll);
  MemoryReading reading;
  reading.from_ns = 100;
  reading.to_ns = 200;
  for (const std::uint64_t address : {0xB0, 0xB1}) {
    scan::HeldStorage held;
    held.storage = address;
    held.bytes = kLarge;
    held.holders.push_back({"main: kept", "train.py:1", true, true});
    reading.found.storages.push_back(held);
  }
  check(recording.assembler->readings().ended(reading));
  EXPECT_EQ(assembler.readings().without_holder(true).storages, (std::vector<std::uint64_t>{}));
  EXPECT_FALSE(assembler.readings().lacks_holders());
}

TEST_F(AssemblerTest, WhatWasReadIsNotWantedAgain) {
  TestStream s;
  const auto steps = [&](int from, int to) {
    for (int step = from; step <= to; ++step) s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, step);
  };
  steps(1, 1);
  const auto storage = s.birth(0xA0, 0xB0, 0, 1 << 20);
  steps(2, 3);
  Recording recording = start();
  recording.apply(s);
  ASSERT_TRUE(recording.assembler->readings().wants_reading());
  recording.assembler->readings().begins(scan::Scope::kAll);
  check(recording.assembler->readings().failed("it went away"));
  EXPECT_TRUE(recording.assembler->readings().wants_reading()) << "it came to nothing";
  recording.assembler->readings().begins(scan::Scope::kAll);
  MemoryReading reading;
  reading.from_ns = 100;
  reading.to_ns = 200;
  scan::HeldStorage held;
  held.storage = 0xB0;
  held.bytes = 1 << 20;
  held.holders.push_back({"main: kept", "train.py:1", true, true});
  reading.found.storages.push_back(held);
  check(recording.assembler->readings().ended(reading));
  EXPECT_FALSE(recording.assembler->readings().wants_reading());
  steps(4, 6);
  recording.apply(s);
  EXPECT_FALSE(recording.assembler->readings().wants_reading());
  recording.assembler->readings().begins(scan::Scope::kAll);
  s.storage_death(0xB0);
  s.birth(0xA2, 0xB0, 0, 1 << 20);  // at its address, during the reading: which of the two the reading found is unknown
  recording.apply(s);
  reading.from_ns = 0;
  reading.to_ns = 1'000'000'000;
  check(recording.assembler->readings().ended(reading));
  s.birth(0xA1, 0xB1, 0, 1 << 20);
  steps(7, 8);
  recording.apply(s);
  EXPECT_TRUE(recording.assembler->readings().wants_reading()) << "something new";
  check(recording.assembler->finish());
  EXPECT_EQ(rows(recording.database(), "SELECT storage, text, last_scan FROM owner JOIN string ON string.id = path"),
            (Rows{row(storage, "main: kept", 1)}));
  EXPECT_EQ(rows(recording.database(), "SELECT code FROM diagnostic"), (Rows{"owners_off"}));
}

TEST_F(AssemblerTest, GrowthNeedsNoSteps) {
  for (const bool has_steps : {false, true}) {
    TestStream s;
    Recording recording = start();
    s.small_blocks(500);
    if (has_steps) s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 1);
    for (std::uint64_t i = 0; i < 8; ++i) {
      s.birth(0xA00 + i, 0xB00 + i, 0, 1000);
      s.birth(0xA80, 0xB80, 0, 500);
      s.storage_death(0xB80);
      s.death(0xA80);
      s.small_blocks(1000 * (i + 1));
      recording.apply(s);
      check(recording.assembler->commit("x"));
    }
    EXPECT_EQ(recording.assembler->readings().growing().goes_on, 8000);
    const SmallBlocksThen small = recording.assembler->readings().small_blocks();
    EXPECT_EQ(small.rounds, has_steps ? 1 : 0);
    EXPECT_EQ(small.bytes, has_steps ? 500 : 8000) << "at the end of a step, if there was one";
  }
}

TEST_F(AssemblerTest, AThreadIsKnownByItsFirstRecord) {
  TestStream s;
  s.op("aten::relu");
  s.thread = 70;
  s.op("aten::relu");
  s.thread = 1;
  s.op("aten::relu");
  s.thread = 6;
  s.op("aten::relu");
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT id, tid, name, from_seq FROM thread ORDER BY from_seq"),
            (Rows{"1|0|-|1", "70|0|-|4", "6|0|-|8"}));
}

TEST_F(AssemblerTest, TheTraceSaysHowFarItGoes) {
  TestStream s;
  s.clock(1'000'000'000);
  s.birth(0xA0, 0xB0);
  s.birth(0xA0, 0xB0);
  s.death(0xA7);
  const auto last = s.alloc(0xD0, 4096);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT key, value FROM meta WHERE key IN ('last_seq', 'end_ns', 'records', 'lost_deaths',"
                 " 'unseen_births', 'unseen_changes', 'real_offset_ns') ORDER BY key"),
            (Rows{row("end_ns", 1'000'000'000 + (last - 1) * 1000), row("last_seq", last), "lost_deaths|1",
                  row("real_offset_ns", -1'000'000'000), row("records", last), "unseen_births|1", "unseen_changes|0"}));
  EXPECT_EQ(rows(db, "SELECT records FROM interval"), (Rows{row(last)}));
  EXPECT_EQ(totals_.peak_bytes, 4096);
}

TEST_F(AssemblerTest, GarbageNeverCrashes) {
  std::mt19937_64 random(20240607);
  Expected<Database> database = create_trace(path("garbage"));
  Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
  Expected<std::unique_ptr<Assembler>> assembler = Assembler::start(*writer, kOrigin);
  ASSERT_TRUE(assembler.ok());
  std::uint64_t seq = 0;
  for (int i = 0; i < 60000; ++i) {
    std::vector<std::uint64_t> words(3 + random() % 40);
    // Small numbers make equal addresses, ids and enums; large ones overflow sums.
    for (auto& word : words) word = random() % 3 != 0 ? random() % 8 : random();
    auto* header = reinterpret_cast<wire::RecordHeader*>(words.data());
    header->type = static_cast<RecordType>(random() % (static_cast<unsigned>(RecordType::kBlockAllocInNode) + 2));
    header->words = static_cast<std::uint16_t>(words.size());
    if (i % 50 != 0) header->seq = ++seq;
    if (header->seq > seq + 1000000) header->seq = ++seq;
    seq = std::max(seq, header->seq);
    header->aux = static_cast<std::uint32_t>(random() % 2 != 0 ? random() % 6 : random());
    check((*assembler)->apply(*header, static_cast<std::uint32_t>(random() % 3)));
    if (i % 5000 == 0) check((*assembler)->commit({}));
  }
  check((*assembler)->finish());
  EXPECT_EQ(rows(writer->database(), "PRAGMA integrity_check"), (Rows{"ok"}));
  EXPECT_EQ(rows(writer->database(), "SELECT count(*) <= 1000 FROM diagnostic WHERE code = 'bad_record'"), (Rows{"1"}));
}

}  // namespace
}  // namespace dcmt::recorder

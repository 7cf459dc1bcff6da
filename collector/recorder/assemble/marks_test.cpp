#include "collector/recorder/assemble/marks.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "collector/recorder/testing/assembler_fixture.h"

namespace dcmt::recorder {
namespace {

using testing::AssemblerFixture;
using testing::line;
using testing::op;
using testing::row;
using testing::Rows;
using testing::rows;
using testing::TestStream;
using testing::two_places;
using wire::MarkKind;
using wire::RecordType;

using MarksTest = AssemblerFixture;

TEST_F(MarksTest, AMarkHasItsStack) {
  TestStream s;
  s.code(0xC0, "/home/u/model.py", "forward");
  s.stack(0x51, {{0xC0, 0, 12}});
  s.birth(0xA0, 0xB0, 0, 4096);
  s.key(RecordType::kGather, 3, 0xB0, 4096, 0, 0xA0, 1, 0x51);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT f.line FROM mark JOIN stack ON stack.id = mark.stack JOIN frame f ON f.id = frame"),
            (Rows{"12"}));
}

TEST_F(MarksTest, UserMarksArePointsAndSpans) {
  TestStream s;
  s.mark(RecordType::kMarkPoint, MarkKind::kUser, "moment");
  s.mark(RecordType::kMarkBegin, MarkKind::kPhase, "warmup", 5);
  s.mark(RecordType::kMarkBegin, MarkKind::kUser, "open", 6);
  s.mark(RecordType::kMarkEnd, MarkKind::kPhase, "warmup", 5);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT kind, text, to_seq - from_seq FROM mark JOIN string ON string.id = name ORDER BY mark.id"),
            (Rows{"user|moment|0", "phase|warmup|3", "user|open|-"}));
}

TEST_F(MarksTest, ReleaseCycleOfAKey) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  s.key(RecordType::kGather, 3, 0xB0, 4096, 0, 0xA0);
  s.key(RecordType::kWait, 3, 0xB0, 4096, 0, 0xA0);
  s.key(RecordType::kPersist, 4, 0, 0, wire::kKeyExplicit | wire::kKeyStorageDead);
  const auto begin = s.key(RecordType::kReleaseBegin, 3, 0xB0, 4096);
  s.repoint(0xA0, 0xB0, 0xB1);
  const auto end = s.key(RecordType::kRelease, 3, 0xB0, 4096, wire::kKeyFinal);
  const auto settled = s.key(RecordType::kReleaseSettled, 3, 0xB0, 4096);
  s.read(3, 0xB0, 0xA0, 4096);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT kind, text, graph, key, cycle, storage, tensor, bytes, flags FROM mark"
                 " JOIN string ON string.id = name WHERE kind IN ('gather', 'wait', 'persist') ORDER BY mark.id"),
            (Rows{"gather|zero::cycle|7|3|1|1|1|4096|-", "wait|zero::cycle|7|3|1|1|1|4096|-",
                  "persist|zero::cycle|7|4|1|-|-|0|explicit"}));
  EXPECT_EQ(rows(db,
                 "SELECT from_seq, to_seq, settled_seq, bytes, bytes_after, bytes_settled, declared, remaining, flags"
                 " FROM release"),
            (Rows{std::to_string(begin) + "|" + std::to_string(end) + "|" + std::to_string(settled) +
                  "|4096|4096|4096|2|0|final,metadata_only"}));
  EXPECT_EQ(rows(db,
                 "SELECT r.storage, r.bytes, text, p.kind FROM mark r JOIN mark p ON p.id = r.parent"
                 " JOIN string ON string.id = r.name WHERE r.kind = 'read'"),
            (Rows{"1|4096|aten::addmm|release"}));
  EXPECT_EQ(rows(db, "SELECT storage, tensor FROM mark WHERE kind = 'repoint'"), (Rows{"1|1"}));
}

TEST_F(MarksTest, OfAnUntrackedStorageNoBytesAreKnown) {
  TestStream s;
  s.key(RecordType::kGather, 3, 0, 0, wire::kKeyUntracked, 0xA0);
  s.key(RecordType::kReleaseBegin, 3, 0, 0, wire::kKeyUntracked);
  s.key(RecordType::kRelease, 3, 0, 0, wire::kKeyFinal | wire::kKeyUntracked);
  s.key(RecordType::kReleaseSettled, 3, 0, 0, wire::kKeyUntracked);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT kind, storage, bytes, bytes_after, bytes_settled, flags FROM mark ORDER BY id"),
            (Rows{"gather|-|-|-|-|untracked", "release|-|-|-|-|final,untracked"}));
  EXPECT_EQ(rows(db, "SELECT final, residual FROM key_sum"), (Rows{"1|0"}));
}

TEST_F(MarksTest, WhatIsOnlyWrittenIsNoRead) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  s.key(RecordType::kGather, 3, 0xB0, 4096, 0, 0xA0);
  s.key(RecordType::kRelease, 3, 0xB0, 4096, wire::kKeyFinal);
  s.read(3, 0xB0, 0xA0, 4096, wire::kReadOverwrites);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT kind, storage, parent > 0 FROM mark WHERE kind IN ('read', 'write')"),
            (Rows{"write|1|1"}));
  EXPECT_EQ(rows(db, "SELECT reads FROM key_sum"), (Rows{"0"}));
}

TEST_F(MarksTest, KernelsReadByTheirNames) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  s.key(RecordType::kGather, 3, 0xB0, 4096, 0, 0xA0);
  const auto before = s.launches(true, 10, 1);
  s.key(RecordType::kReleaseBegin, 3, 0xB0, 4096);
  s.last_touch(3, 0xB0, "_Z4usesPf", 5, 1000);
  s.key(RecordType::kRelease, 3, 0xB0, 4096, wire::kKeyFinal);
  s.read(3, 0xB0, 0xA0, 4096);
  s.kernel_read(3, 0xB0, "_ZN2at6native4fillIfEEvPT_");
  s.kernel_read(3, 0xB0, "triton_poi_fused_add_0");
  s.kernel_read(3, 0xB0, "_Z is no such name");
  const auto after = s.launches(false, 20, 3, 2);
  s.launches(true, std::uint64_t{1} << 63);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT text, flags, storage, tensor, bytes, p.kind FROM mark JOIN string ON string.id = name"
                 " JOIN (SELECT id AS release, kind FROM mark) p ON release = parent WHERE mark.kind = 'read'"
                 " ORDER BY mark.id"),
            (Rows{"aten::addmm|-|1|1|4096|release", "void at::native::fill<float>(float*)|kernel|1|-|4096|release",
                  "triton_poi_fused_add_0|kernel|1|-|4096|release", "_Z is no such name|kernel|1|-|4096|release"}));
  EXPECT_EQ(rows(db, "SELECT id, looking, calls, graphs, nccl, unknown, copies FROM launches"),
            (Rows{std::to_string(before) + "|1|10|1|0|0|0", std::to_string(after) + "|0|20|3|2|0|0"}));
  EXPECT_EQ(rows(db, "SELECT reads, kernel_reads FROM key_sum"), (Rows{"1|3"}));
  EXPECT_EQ(rows(db,
                 "SELECT text, graph, key, storage, value, to_seq - from_seq, to_ns > from_ns FROM mark"
                 " JOIN string ON string.id = name WHERE kind = 'touch'"),
            (Rows{"uses(float*)|7|3|1|5|0|1"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"1"}));
}

TEST_F(MarksTest, ReleaseThatFreesIsNotMetadataOnly) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 4096);
  s.key(RecordType::kReleaseBegin, 3, 0xB0, 4096);
  s.repoint(0xA0, 0xB0, 0xB1);
  s.storage_death(0xB0);
  s.key(RecordType::kRelease, 3, 0, 0, wire::kKeyFinal | wire::kKeyStorageDead);
  s.key(RecordType::kReleaseBegin, 4, 0xB1, 4096);
  s.thread = 2;
  s.repoint(0xA0, 0xB1, 0xB2);  // a re-point on another thread does not belong to this release
  s.thread = 1;
  s.key(RecordType::kRelease, 4, 0xB1, 4096);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT key, storage, bytes, bytes_after, bytes_settled, flags FROM release ORDER BY id"),
            (Rows{"3|1|4096|0|-|final", "4|4|4096|4096|-|-"}));
}

TEST_F(MarksTest, ReleaseWithoutABeginAndBeginWithoutAnEnd) {
  TestStream s;
  s.key(RecordType::kRelease, 3, 0xB0, 64);
  s.key(RecordType::kReleaseBegin, 3, 0xB0, 64);
  const auto again = s.key(RecordType::kReleaseBegin, 3, 0xB0, 64);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT bytes, bytes_after, declared, to_seq FROM release ORDER BY id"),
            (Rows{"-|64|2|" + std::to_string(2), "64|-|2|" + std::to_string(again), "64|-|2|-"}));
}

TEST_F(MarksTest, AParameterWithoutAMechanismIsNone) {
  TestStream s;
  wire::ParameterRecord parameter{};
  parameter.key = 3;
  s.add(RecordType::kParameter, 0, parameter);
  parameter.mechanism = s.text("FSDP2");
  s.add(RecordType::kParameter, 0, parameter);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT key, name, text FROM parameter JOIN string ON string.id = mechanism"),
            (Rows{"3|-|FSDP2"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"1"}));
}

TEST_F(MarksTest, AliasesOfAnOperatorAreRows) {
  TestStream s;
  wire::OperatorAliasRecord alias{};
  alias.declared = 1;
  s.add(RecordType::kOperatorAlias, 0, alias);  // without a name
  alias.name = s.text("my::wait.out");
  s.add(RecordType::kOperatorAlias, 0, alias);  // without a schema
  alias.schema = s.text("my::wait.out(Tensor(a) t) -> Tensor(a)");
  alias.observed = 1 << 9;
  s.add(RecordType::kOperatorAlias, 0, alias);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT n.text, s.text, declared, observed FROM operator_alias"
                 " JOIN string n ON n.id = name JOIN string s ON s.id = schema"),
            (Rows{"my::wait.out|my::wait.out(Tensor(a) t) -> Tensor(a)|1|512"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"2"}));
}

/// A record of key 3 of graph 7 with a different number in each field.
wire::KeyRecord key_record(TestStream& s) {
  wire::KeyRecord record{};
  record.graph = 7;
  record.key = 3;
  record.op = s.text("zero::cycle");
  record.tensor = 0xA0;
  record.storage = 0xB0;
  record.bytes = 4096;
  record.declared = 5;
  record.remaining = 4;
  record.cycle = 9;
  record.stack = 0x51;
  record.ordinal = 21;
  return record;
}

TEST_F(MarksTest, AGatherSaysWhatOfWhichParameterAndWhere) {
  TestStream s;
  two_places(s);
  const auto tensor = s.birth(0xA0, 0xB0, 0, 4096);
  s.thread = 2;
  s.op_begin("zero::gather", 20);
  const wire::KeyRecord gather = key_record(s);
  constexpr std::uint32_t kFloat = 6;
  const auto at = s.add(RecordType::kGather, (kFloat + 1) << wire::kKeyDtypeShift, gather);
  s.op_end(20);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT n.text, thread, graph, key, cycle, storage, tensor, bytes, d.text, flags, ordinal, " +
                         op("mark.operator") + ", " + line("mark.stack") +
                         ", from_seq, from_ns, to_seq, to_ns FROM mark JOIN string n ON n.id = name"
                         " JOIN string d ON d.id = dtype WHERE kind = 'gather'"),
            (Rows{row("zero::cycle", 2, 7, 3, 9, tensor, tensor, 4096, "float32", "-", 21, "zero::gather", 12, at,
                      at * 1000, at, at * 1000)}));
}

TEST_F(MarksTest, AReleaseSaysWhatItsUsesWereAndWhatItLeft) {
  TestStream s;
  two_places(s);
  const auto tensor = s.birth(0xA0, 0xB0, 0, 4096);
  s.thread = 2;
  s.op_begin("zero::release", 20);
  wire::KeyRecord release = key_record(s);
  const auto from = s.add(RecordType::kReleaseBegin, 0, release);
  release.bytes = 1024;
  release.declared = 6;
  release.cycle = 10;
  const auto to = s.add(RecordType::kRelease, wire::kKeyFinal, release);
  s.op_end(20);
  release.bytes = 512;
  const auto settled = s.add(RecordType::kReleaseSettled, 0, release);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT operator_name, thread, graph, key, cycle, storage, tensor, bytes, bytes_after,"
                 " bytes_settled, declared, remaining, flags, ordinal, " +
                     op("release.operator") + ", " + line("release.stack") +
                     ", from_seq, to_seq, to_ns, settled_seq, settled_ns FROM release"),
            (Rows{row("zero::cycle", 2, 7, 3, 10, tensor, tensor, 4096, 1024, 512, 6, 4, "final", 21, "zero::release",
                      12, from, to, to * 1000, settled, settled * 1000)}));
}

TEST_F(MarksTest, EachFlagOfAReleaseHasItsName) {
  TestStream s;
  const auto release = [&](std::int64_t key, std::uint32_t flags) {
    s.key(RecordType::kReleaseBegin, key, 0xB0, 64);
    s.key(RecordType::kRelease, key, 0xB0, 64, flags);
  };
  const std::vector<std::pair<std::uint32_t, const char*>> names{
      {wire::kKeyFinal, "final"},        {wire::kKeyPersistent, "persistent"},  {wire::kKeyMismatch, "mismatch"},
      {wire::kKeyNoGather, "no_gather"}, {wire::kKeyExplicit, "explicit"},      {wire::kKeyUnwound, "unwound"},
      {wire::kKeyFunction, "function"},  {wire::kKeyNotSettled, "not_settled"}, {wire::kKeyUntracked, "untracked"}};
  Rows expected;
  for (const auto& [flag, name] : names) {
    release(static_cast<std::int64_t>(expected.size()), flag);
    expected.emplace_back(name);
  }
  release(90, wire::kKeyFinal | wire::kKeyExplicit);
  expected.emplace_back("final,explicit");
  s.key(RecordType::kReleaseBegin, 91, 0xB0, 64);
  s.repoint(0xA0, 0xB0, 0xB1);
  s.key(RecordType::kRelease, 91, 0xB0, 64);
  s.key(RecordType::kReleaseSettled, 91, 0xB0, 64, wire::kKeyShared);
  expected.emplace_back("metadata_only,shared");
  release(92, 0);
  s.key(RecordType::kReleaseSettled, 92, 0xB0, 64, wire::kKeyShared);
  expected.emplace_back("shared");
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT flags FROM release ORDER BY id"), expected);
}

TEST_F(MarksTest, TheTypeOfTheElementsIsNamedWhereItIsKnown) {
  TestStream s;
  s.key(RecordType::kGather, 1, 0xB0, 64);
  s.key(RecordType::kGather, 2, 0xB0, 64, 1u << wire::kKeyDtypeShift);
  s.key(RecordType::kGather, 3, 0xB0, 64, 16u << wire::kKeyDtypeShift);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT text FROM mark LEFT JOIN string ON string.id = dtype WHERE kind = 'gather' ORDER BY key"),
            (Rows{"-", "uint8", "bfloat16"}));
}

TEST_F(MarksTest, AReleaseThatLeavesWhatItHadOrNothingIsNotMetadataOnlyByThat) {
  TestStream s;
  const auto release = [&](std::int64_t key, std::uint64_t storage, std::uint64_t before, std::uint64_t after) {
    s.key(RecordType::kReleaseBegin, key, storage, before);
    s.repoint(0xA0, storage, 0xBF);
    s.key(RecordType::kRelease, key, storage, after);
  };
  release(1, 0xB1, 64, 64);
  release(2, 0xB2, 64, 32);  // it freed some bytes
  release(3, 0xB3, 0, 0);    // there was nothing to free
  s.key(RecordType::kReleaseBegin, 4, 0xB4, 64);
  s.repoint(0xA0, 0xB5, 0xBF);  // a tensor of another storage
  s.key(RecordType::kRelease, 4, 0xB4, 64);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT flags FROM release ORDER BY key"), (Rows{"metadata_only", "-", "-", "-"}));
}

TEST_F(MarksTest, ResidualIsWhatAFinalReleaseLeavesAndNothingElseKeeps) {
  TestStream s;
  const auto release = [&](std::int64_t key, std::uint32_t flags, std::uint32_t settled, std::uint64_t bytes) {
    s.key(RecordType::kRelease, key, 0xB0, 64, flags);
    s.key(RecordType::kReleaseSettled, key, 0xB0, bytes, settled);
  };
  using namespace wire;
  release(1, kKeyFinal, 0, 64);
  release(1, kKeyFinal, 0, 32);
  release(2, kKeyFinal | kKeyPersistent, 0, 64);
  release(3, kKeyFinal | kKeyNoGather, 0, 64);
  release(4, 0, 0, 64);
  release(5, kKeyFinal, kKeyShared, 64);
  release(6, kKeyFinal, kKeyStorageDead, 64);
  release(7, kKeyFinal, kKeyUntracked, 64);
  release(8, kKeyFinal, 0, 0);
  Database db = record(s);
  EXPECT_EQ(
      rows(db, "SELECT key, releases, final, residual, residual_bytes FROM key_sum ORDER BY key"),
      (Rows{"1|2|2|2|96", "2|1|0|0|0", "3|1|0|0|0", "4|1|0|0|0", "5|1|1|0|0", "6|1|1|0|0", "7|1|1|0|0", "8|1|1|0|0"}));
  EXPECT_EQ(rows(db, "SELECT releases, residual, residual_bytes FROM interval"), (Rows{"6|2|96"}));
}

TEST_F(MarksTest, WhatAThreadThatDoesNotTrainSoonFreesWasNotLeft) {
  TestStream s;
  std::uint64_t storage = 0xB0;
  const auto released = [&](std::int64_t key) {
    s.storage_birth(++storage, 64);
    s.key(RecordType::kGather, key, storage, 64);
    s.key(RecordType::kRelease, key, storage, 64, wire::kKeyFinal);
    s.key(RecordType::kReleaseSettled, key, storage, 64);
    return storage;
  };
  const auto freed_by = [&](std::uint32_t thread, std::uint64_t each) {
    const std::uint32_t own = s.thread;
    s.thread = thread;
    s.storage_death(each);
    s.thread = own;
  };
  const auto step = [&](std::int64_t number) {
    s.mark(RecordType::kMarkPoint, wire::MarkKind::kStep, "step", 0, number);
  };
  s.thread = 3;
  s.op("AddBackward0", wire::OpScope::kBackward);
  s.thread = 1;
  freed_by(2, released(1));  // a worker's
  freed_by(1, released(2));  // the training's own
  freed_by(3, released(3));  // that of a thread of the engine
  s.skip(100);
  step(0);
  s.skip(100);
  const std::uint64_t soon = released(4), later = released(5);
  step(1);
  freed_by(2, soon);
  s.skip(1000);
  freed_by(2, later);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT key, final, residual, residual_bytes FROM key_sum ORDER BY key"),
            (Rows{"1|1|0|0", "2|1|1|64", "3|1|1|64", "4|1|0|0", "5|1|1|64"}));
  EXPECT_EQ(rows(db, "SELECT residual FROM interval ORDER BY id LIMIT 1"), (Rows{"2"}));
}

TEST_F(MarksTest, SumsCountTheGathersAndReadsOfEachKey) {
  TestStream s;
  for (const std::int64_t key : {3, 4}) {
    for (int cycle = 0; cycle < (key == 3 ? 1 : 2); ++cycle) s.key(RecordType::kGather, key, 0xB0, 64);
  }
  s.read(3, 0xB0, 0xA0, 0);  // its data had been freed
  s.read(3, 0xB0, 0xA0, 64);
  s.read(3, 0xB0, 0xA0, 0, wire::kReadOverwrites);
  s.kernel_read(3, 0xB0, "kernel");
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT graph, key, gathers, reads, empty_reads, kernel_reads FROM key_sum ORDER BY key"),
            (Rows{"7|3|1|2|1|1", "7|4|2|0|0|0"}));
}

TEST_F(MarksTest, AReadSaysWhoReadWhatAfterWhichRelease) {
  TestStream s;
  two_places(s);
  const auto tensor = s.birth(0xA0, 0xB0, 0, 4096);
  s.key(RecordType::kRelease, 3, 0xB0, 4096, wire::kKeyFinal);
  s.key(RecordType::kRelease, 4, 0xB0, 4096, wire::kKeyFinal);
  s.thread = 2;
  s.op_begin("aten::linear", 20);
  wire::ReadRecord read{};
  read.graph = 7;
  read.key = 3;
  read.storage = 0xB0;
  read.tensor = 0xA0;
  read.bytes = 4096;
  read.op = s.text("aten::addmm");
  read.ordinal = 21;
  read.stack = 0x51;
  const auto at = s.add(RecordType::kRead, 0, read);
  s.op_end(20);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT text, thread, graph, key, storage, tensor, bytes, ordinal,"
                 " (SELECT key FROM mark r WHERE r.id = mark.parent), " +
                     op("mark.operator") + ", " + line("mark.stack") +
                     ", from_seq, to_seq FROM mark JOIN string ON string.id = name WHERE kind = 'read'"),
            (Rows{row("aten::addmm", 2, 7, 3, tensor, tensor, 4096, 21, 3, "aten::linear", 12, at, at)}));
}

TEST_F(MarksTest, TheStepOfADefectIsKept) {
  const auto kept = [this](auto&& defect) {
    Recording recording = start({.steps = {{100, 100}}, .every = 0, .last = 0});
    TestStream s;
    for (int step = 1; step <= 3; ++step) {
      s.key(RecordType::kRelease, step, 0xB0, 64, wire::kKeyFinal);
      if (step == 2) defect(s);
      s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, step);
    }
    recording.apply(s);
    check(recording.assembler->finish());
    return rows(recording.database(), "SELECT step FROM interval WHERE kept = 'finding'");
  };
  EXPECT_EQ(kept([](TestStream& s) { s.key(RecordType::kReleaseSettled, 2, 0xB0, 64); }), (Rows{"2"}));
  EXPECT_EQ(kept([](TestStream& s) { s.read(2, 0xB0, 0xA0, 64); }), (Rows{"2"}));
  EXPECT_EQ(kept([](TestStream& s) { s.kernel_read(2, 0xB0, "kernel"); }), (Rows{"2"}));
  EXPECT_EQ(kept([](TestStream& s) { s.read(2, 0xB0, 0xA0, 64, wire::kReadOverwrites); }), Rows{});
  EXPECT_EQ(kept([](TestStream& s) { s.key(RecordType::kReleaseSettled, 2, 0xB0, 0); }), Rows{});
}

TEST_F(MarksTest, AReleaseThatIsNeverSettledIsARowAllTheSame) {
  TestStream s;
  s.key(RecordType::kRelease, 3, 0xB0, 64, wire::kKeyFinal);
  s.key(RecordType::kRelease, 3, 0xB0, 32, wire::kKeyFinal);
  for (const bool commits : {false, true}) {
    Database db = record(s, commits);
    EXPECT_EQ(rows(db, "SELECT bytes_after, flags, settled_seq FROM release ORDER BY id"),
              (Rows{"64|final|-", "32|final|-"}));
  }
}

TEST_F(MarksTest, ReleasesOfTwoThreadsAreApart) {
  TestStream s;
  s.key(RecordType::kReleaseBegin, 3, 0xB0, 64);
  s.thread = 2;
  s.key(RecordType::kReleaseBegin, 3, 0xB0, 32);
  s.key(RecordType::kRelease, 3, 0xB0, 32);
  s.thread = 1;
  s.key(RecordType::kRelease, 3, 0xB0, 64);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT thread, bytes, bytes_after FROM release ORDER BY id"), (Rows{"1|64|64", "2|32|32"}));
}

TEST_F(MarksTest, AStepCanBeASpan) {
  TestStream s;
  two_places(s);
  const auto before = s.op("aten::relu");
  const auto from = s.mark(RecordType::kMarkBegin, MarkKind::kStep, "step", 5, 42);
  s.op("aten::relu");
  const auto to = s.mark(RecordType::kMarkEnd, MarkKind::kStep, "step", 5, 42);
  const auto last = s.op("aten::relu") + 1;
  for (const bool commits : {false, true}) {
    Database db = record(s, commits);
    EXPECT_EQ(rows(db,
                   "SELECT text, thread, value, from_seq, from_ns, to_seq, to_ns FROM mark"
                   " JOIN string ON string.id = name WHERE kind = 'step'"),
              (Rows{row("step", 1, 42, from, from * 1000, to, to * 1000)}));
    EXPECT_EQ(rows(db, "SELECT step, to_seq FROM interval ORDER BY id"),
              (Rows{row("-", from), row(42, to), row("-", last)}));
  }
  EXPECT_LT(before, from);
}

TEST_F(MarksTest, AMarkSaysWhereItWasMadeAndOnlyAStepHasANumber) {
  TestStream s;
  two_places(s);
  s.thread = 2;
  s.op_begin("aten::relu", 1);
  wire::MarkRecord mark{};
  mark.name = s.text("here");
  mark.stack = 0x51;
  mark.value = 8;
  const auto at = s.add(RecordType::kMarkPoint, static_cast<std::uint32_t>(MarkKind::kUser), mark);
  mark.stack = 0x52;
  s.add(RecordType::kMarkPoint, static_cast<std::uint32_t>(MarkKind::kStep), mark);
  s.op_end(1);
  Database db = record(s);
  EXPECT_EQ(
      rows(db, "SELECT kind, text, thread, value, " + op("mark.operator") + ", " + line("mark.stack") +
                   ", to_seq FROM mark JOIN string ON string.id = name WHERE kind IN ('user', 'step') ORDER BY mark.id "
                   "DESC"),
      (Rows{row("step", "here", 2, 8, "aten::relu", 13, at + 1), row("user", "here", 2, "-", "aten::relu", 12, at)}));
}

TEST_F(MarksTest, AMarkThatCannotBeIsNone) {
  TestStream s;
  constexpr auto kUnknown = static_cast<MarkKind>(99);
  s.mark(RecordType::kMarkPoint, kUnknown, "m");
  s.mark(RecordType::kMarkBegin, kUnknown, "m", 5);
  s.mark(RecordType::kMarkBegin, MarkKind::kUser, "m", 0);  // no end can refer to it
  s.mark(RecordType::kMarkBegin, MarkKind::kUser, "m", 6);
  s.mark(RecordType::kMarkBegin, MarkKind::kUser, "m", 6);  // twice
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT count(*) FROM mark"), (Rows{"1"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"4"}));
}

TEST_F(MarksTest, LaunchesThatCannotBeCountedAreNone) {
  TestStream s;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 48;
  const auto good = s.add(RecordType::kLaunches, 1, wire::LaunchesRecord{{}, kMost, 2, 3, 4, 5});
  s.add(RecordType::kLaunches, 1, wire::LaunchesRecord{{}, kMost + 1, 2, 3, 4, 5});
  s.add(RecordType::kLaunches, 1, wire::LaunchesRecord{{}, 1, 2, 3, 4, kMost + 1});
  s.last_touch(3, 0xB0, "kernel", kMost + 1, 1000);
  s.last_touch(3, 0xB0, "kernel", kMost, 1000);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT id, ns, looking, calls, graphs, nccl, unknown, copies FROM launches"),
            (Rows{row(good, good * 1000, 1, kMost, 2, 3, 4, 5)}));
  EXPECT_EQ(rows(db, "SELECT value FROM mark WHERE kind = 'touch'"), (Rows{row(kMost)}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"3"}));
}

}  // namespace
}  // namespace dcmt::recorder

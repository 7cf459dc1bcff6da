#include "collector/recorder/assemble/assembler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "collector/recorder/testing/assembler_fixture.h"
#include "collector/recorder/testing/census_fixture.h"

namespace dcmt::recorder {
namespace {

using testing::dump;
using testing::kOrigin;
using testing::Rows;
using testing::rows;
using testing::TestRecord;
using testing::TestStream;
using wire::MarkKind;
using wire::OpScope;
using wire::RecordType;

/// The last one of a record's sequences.
std::uint64_t last_sequence(const TestRecord& record) {
  return record.header().seq + wire::sequences_of(record.header().type) - 1;
}

/// Rows that stay open for long, with a value in each column.
void more_of_everything(TestStream& s) {
  s.op_begin("zero::step", 200);
  s.storage_birth(0xE0, 8192, 0x51);
  s.birth(0xE1, 0xE0, 0, 8192, 0x51);
  s.birth(0xE2, 0);
  s.cuda_alloc(0x9000, 0x2000, 0x51);  // on the default stream
  s.birth(0xE3, 0xE8, 0x9100, 64, 0x52);
  s.cuda_alloc(0xB000, 0x100);
  s.birth(0xE6, 0xEA, 0xB000, 64);
  s.cuda_alloc(0xC000, 64, 0x51);
  s.birth(0xE7, 0xEB, 0xB040, 64);  // shares the block of 0xEA
  wire::BlockOwnerRecord owner{};
  owner.address = 0xC000;
  owner.owner = s.text("cuBLAS workspace");
  s.add(RecordType::kBlockOwner, wire::cuda_device(0), owner);
  wire::KeyRecord key{};
  key.graph = 7;
  key.key = 11;
  key.op = s.text("zero::release");
  key.tensor = 0xE1;
  key.storage = 0xE0;
  key.bytes = 8192;
  key.declared = 3;
  key.remaining = 2;
  key.cycle = 4;
  key.stack = 0x51;
  key.ordinal = 17;
  s.add(RecordType::kReleaseBegin, wire::kKeyExplicit, key);
  s.mark(RecordType::kMarkBegin, MarkKind::kPhase, "warmup", 6);
  s.op_begin("zero::inner", 201, OpScope::kUser);
  key.bytes = 4096;
  s.add(RecordType::kRelease, wire::kKeyFinal | wire::kKeyExplicit, key);
  s.alloc(0xD8, 32, 0x52);
  s.op_end(201);
  s.add(RecordType::kReleaseSettled, 0, key);
  s.repoint(0xE1, 0xE0, 0xE8, 0x52);
  s.cuda_free(0x9000, true, 0x52);
  s.death(0xE2, 0xE8);
  s.birth(0xE4, 0xE9, 0x9100, 64);  // behind the waiting block
  s.cuda_alloc(0xA000, 64);
  s.cuda_free_done(0x9000);
  s.cuda_free(0xC000);
  s.small_blocks(96, wire::cuda_device(0));
  s.resize(0xE0, 8192, 16, 0);
  s.mark(RecordType::kMarkEnd, MarkKind::kPhase, "warmup", 6);
  s.op_end(200);
  s.death(0xE1);
  s.storage_death(0xE0, 0x52);
  s.mark(RecordType::kMarkBegin, MarkKind::kStep, "span", 9, 42);
  s.op("aten::addmm");
  s.mark(RecordType::kMarkEnd, MarkKind::kStep, "span", 9, 42);
  s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 43);
  s.op("aten::addmm");
  s.small_blocks(0);
}

/// A holder with a line in the model, which holds for a while.
void held_by_a_line_of_the_model(TestStream& s, const std::string& file) {
  s.birth(0xA8, 0xB8, 0, 4096);
  s.code(0xC8, file, "Runner.call");
  testing::CensusFixture::straight_body(s, 0xC8);
  s.census(RecordType::kCensusBegin, 2, 0xB8, 1, 1);
  s.census_tensor(2, 0xA8, 1, 0x98, 1);
  s.census_local(2, 0x98, 0xC8, 0, 52, 4, "buf");
  s.census(RecordType::kCensusEnd, 2, 0xB8, 1, 0);
  s.op("aten::add");
  s.death(0xA8);
}

/// A small stream with some of everything, much of it unfinished at any time.
TestStream everything(const std::string& file) {
  TestStream s;
  s.clock(5'000'000);
  s.named_thread(100, "python");
  s.code(0xC1, "/x/model.py", "forward");
  s.stack(0x51, {{0xC1, 4, 12}, {0xC9, 8, 40}});  // 0xC9 is defined later
  s.alloc(0xD0, 4096);
  s.op_begin("aten::empty", 1);
  s.birth(0xA0, 0xB0, 0xD0, 4096, 0x51);
  s.op_end(1);
  s.birth(0xA1, 0xB0, 0xD0, 4096, 0x52);  // 0x52 is defined later
  s.code(0xC9, "/x/train.py", "main");
  s.stack(0x52, {{0xC9, 8, 41}});
  s.mark(RecordType::kMarkBegin, MarkKind::kUser, "span", 5);
  s.key(RecordType::kGather, 3, 0xB0, 4096, 0, 0xA0);
  s.key(RecordType::kReleaseBegin, 3, 0xB0, 4096);
  s.repoint(0xA0, 0xB0, 0xB1);
  s.key(RecordType::kRelease, 3, 0xB0, 4096, wire::kKeyFinal);
  s.op("aten::addmm");
  s.key(RecordType::kReleaseSettled, 3, 0xB0, 4096);
  s.code(0xC0, file, "Runner.call");
  s.source_line(file, 1, " File \"/home/u/model.py\", line 41, in forward\n    x = 1\n");
  s.census(RecordType::kCensusBegin, 1, 0xB0, 1, 1, 0, 3);
  s.census_tensor(1, 0xA1, 1, 0x90, 2);
  s.census_local(1, 0x90, 0xC0, 0, 52, 4, "buf");
  s.census_local(1, 0x90, 0xC0, 1, 52, 4, "alias");
  s.census(RecordType::kCensusEnd, 1, 0xB0, 1, 0, 0, 3);
  s.read(3, 0xB0, 0xA1, 4096);
  s.kernel_read(3, 0xB0, "_Z4readPf");
  s.launches(true, 7);
  s.thread = 2;
  s.op("AddmmBackward0", OpScope::kBackward);
  s.alloc_in_node("MmBackward0", 2, 0xD7, 100'000);
  s.free(0xD7);
  s.thread = 1;
  s.op("aten::norm");
  s.op("AddmmBackward0", OpScope::kBackward);
  s.op("Optimizer.step#SGD.step", OpScope::kUser);
  s.op("Optimizer.step#Adam.step", OpScope::kUser);
  s.op_begin("Optimizer.step#LBFGS.step", 60, OpScope::kUser);
  s.op_begin("autograd::engine::execute", 61, OpScope::kBackward);
  s.alloc(0xD2, 128);
  s.op_begin("AddmmBackward0", 62, OpScope::kBackward);
  s.op_end(62);
  s.op_end(61);
  s.free(0xD2);
  s.op_end(60);
  s.op("aten::addmm");
  s.mark(RecordType::kMarkEnd, MarkKind::kUser, "span", 5);
  s.small_blocks(64);
  s.alloc(0xD1, 64);
  s.small_blocks(32);
  s.resize(0xB0, 4096, 64, 0xD1);
  s.free(0xD0);
  s.reserved(8192, false);
  s.segment(wire::SegmentEvent::kListed, 0x4000, 4096);
  s.segment(wire::SegmentEvent::kListed, 0x6000, 4096, 0x55550000);
  s.segment(wire::SegmentEvent::kListEnds, 0, 0);
  s.reserved(8192, true);
  for (const std::uint64_t address : {0x10, 0x20, 0x30}) {
    s.cuda_alloc(address, 512);
    s.block_request(address, 0x55550000 + address % 0x20);
  }
  s.cuda_free(0x10, true);
  s.cuda_free(0x20, true);
  s.cuda_free_done(0x10);
  s.cuda_alloc(0x10, 256);
  s.block_request(0x10, 0x55550000);
  s.out_of_memory(wire::cuda_device(0), 4096, 768, 8192, 1, 8192);
  s.segment(wire::SegmentEvent::kEnds, 0x4000, 2048);
  s.reserved(6144, true);
  s.segment(wire::SegmentEvent::kBegins, 0x8000, 2048);
  s.reserved(8192, true);
  s.segment(wire::SegmentEvent::kEnds, 0x4800, 2048);
  s.reserved(6144, true);
  more_of_everything(s);
  held_by_a_line_of_the_model(s, file);
  return s;
}

class ResumeTest : public testing::CensusFixture {
 protected:
  /// Records up to `cut`, drops the recorder without a finish, and continues with another one.
  std::string cut_and_resumed(const TestStream& s, std::size_t cut, std::size_t uncommitted) {
    const std::string file = path("cut" + std::to_string(files_++));
    {
      Expected<Database> database = create_trace(file);
      Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
      Expected<std::unique_ptr<Assembler>> assembler = Assembler::start(*writer, kOrigin);
      for (std::size_t i = 0; i < cut; ++i) check((*assembler)->apply(s.records[i].header(), s.records[i].thread));
      check((*assembler)->commit("position " + std::to_string(cut)));
      for (std::size_t i = cut; i < std::min(s.records.size(), cut + uncommitted); ++i) {
        check((*assembler)->apply(s.records[i].header(), s.records[i].thread));
      }
    }
    Expected<Database> database = reopen_trace(file);
    EXPECT_TRUE(database.ok());
    Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
    Expected<std::unique_ptr<Assembler>> assembler = Assembler::resume(*writer, kOrigin);
    EXPECT_TRUE(assembler.ok()) << assembler.error().message;
    EXPECT_EQ((*assembler)->last_seq(), cut == 0 ? 0 : last_sequence(s.records[cut - 1]));
    EXPECT_EQ((*assembler)->drained(), "position " + std::to_string(cut));
    for (const TestRecord& r : s.records) check((*assembler)->apply(r.header(), r.thread));
    check((*assembler)->finish());
    EXPECT_EQ((*assembler)->totals().records, static_cast<std::int64_t>(last_sequence(s.records.back())));
    return dump(writer->database());
  }
};

TEST_F(ResumeTest, CutAtEveryRecordEqualsUninterrupted) {
  TestStream s = everything(write_source());
  s.death(0xA1);
  straight_body(s, 0xC0);  // for edges that have ended
  s.storage_death(0xB0);
  Database whole = record(s);
  const std::string expected = dump(whole);
  EXPECT_NE(expected.find("buf = gather()"), std::string::npos);
  for (std::size_t cut = 0; cut <= s.records.size(); ++cut) {
    ASSERT_EQ(cut_and_resumed(s, cut, 7), expected) << "cut after record " << cut;
  }
}

TEST_F(ResumeTest, CommitsChangeNothing) {
  TestStream s = everything(write_source());
  straight_body(s, 0xC0);
  Database once = record(s);
  Database often = record(s, true);
  EXPECT_EQ(dump(often), dump(once));
}

TEST_F(ResumeTest, EveryCommitIsAConsistentPicture) {
  const TestStream s = everything(write_source());
  const std::string file = path("growing");
  Expected<Database> database = create_trace(file);
  Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
  Expected<std::unique_ptr<Assembler>> assembler = Assembler::start(*writer, kOrigin);
  for (const TestRecord& r : s.records) {
    check((*assembler)->apply(r.header(), r.thread));
    check((*assembler)->commit({}));
    Expected<Database> reader = open_trace(file);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    EXPECT_EQ(rows(*reader, "SELECT value FROM meta WHERE key = 'last_seq'"), (Rows{std::to_string(last_sequence(r))}));
    for (const char* dangling :
         {"SELECT * FROM tensor WHERE storage IS NOT NULL AND storage NOT IN (SELECT id FROM storage)",
          "SELECT * FROM tensor WHERE object IS NOT NULL AND object NOT IN (SELECT id FROM tensor)",
          "SELECT * FROM tensor WHERE stack IS NOT NULL AND stack NOT IN (SELECT id FROM stack)",
          "SELECT * FROM tensor WHERE operator IS NOT NULL AND operator NOT IN (SELECT id FROM operator)",
          "SELECT * FROM stack WHERE frame IS NOT NULL AND frame NOT IN (SELECT id FROM frame)",
          "SELECT * FROM stack WHERE parent IS NOT NULL AND parent NOT IN (SELECT id FROM stack)",
          "SELECT * FROM frame WHERE file IS NOT NULL AND file NOT IN (SELECT id FROM string)",
          "SELECT * FROM operator WHERE name IS NOT NULL AND name NOT IN (SELECT id FROM string)",
          "SELECT * FROM operator WHERE parent IS NOT NULL AND parent NOT IN (SELECT id FROM operator)",
          "SELECT * FROM operator WHERE thread IS NOT NULL AND thread NOT IN (SELECT id FROM thread)",
          "SELECT * FROM block WHERE storage IS NOT NULL AND storage NOT IN (SELECT id FROM storage)",
          "SELECT * FROM mark WHERE parent IS NOT NULL AND parent NOT IN (SELECT id FROM mark)",
          "SELECT * FROM mark WHERE storage IS NOT NULL AND storage NOT IN (SELECT id FROM storage)",
          "SELECT * FROM edge WHERE census IS NOT NULL AND census NOT IN (SELECT id FROM mark)",
          "SELECT * FROM sample WHERE census IS NOT NULL AND census NOT IN (SELECT id FROM mark)"}) {
      EXPECT_EQ(rows(*reader, dangling), Rows{}) << dangling;
    }
  }
  check((*assembler)->finish());
}

TEST_F(ResumeTest, EveryTruncatedRecordIsSkipped) {
  const std::string file = path("generated.py");
  const TestStream s = everything(file);
  Expected<Database> database = create_trace(path("short"));
  Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
  Expected<std::unique_ptr<Assembler>> assembler = Assembler::start(*writer, kOrigin);
  std::uint64_t seq = 0;
  for (const TestRecord& r : s.records) {
    for (std::size_t words = 0; words < r.words.size(); ++words) {
      std::vector<std::uint64_t> cut(r.words.begin(),
                                     r.words.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(words, 3)));
      auto* header = reinterpret_cast<wire::RecordHeader*>(cut.data());
      header->words = static_cast<std::uint16_t>(words);
      header->seq = ++seq;
      check((*assembler)->apply(*header, r.thread));
    }
  }
  check((*assembler)->finish());
  EXPECT_EQ(rows(writer->database(), "SELECT count(*) FROM tensor"), (Rows{"0"}));
}

}  // namespace
}  // namespace dcmt::recorder

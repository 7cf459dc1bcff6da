#include "collector/recorder/assemble/lifetimes.h"

#include <gtest/gtest.h>

#include <string>
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

using LifetimesTest = AssemblerFixture;

TEST_F(LifetimesTest, TensorStorageAndBlockLifetimes) {
  TestStream s;
  s.named_thread(100, "python");
  s.code(0xC0, "/x/model.py", "forward");
  s.stack(0x51, {{0xC0, 4, 12}, {0xC0, 8, 40}});
  s.alloc(0xD000, 4096);
  s.op_begin("aten::empty", 3);
  s.birth(0xA0, 0xB0, 0xD000, 4096, 0x51);
  s.op_end(3);
  s.birth(0xA1, 0xB0, 0xD000, 4096);
  s.death(0xA0);
  s.death(0xA1);
  s.storage_death(0xB0, 0x51);
  s.free(0xD000);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT id, object, storage, to_seq IS NULL FROM tensor"), (Rows{"9|9|9|0", "11|11|9|0"}));
  EXPECT_EQ(rows(db,
                 "SELECT s.id, s.address, s.bytes, s.first_seen, o.ordinal, s.stack = s.end_stack, s.end_thread,"
                 " s.end_operator FROM storage s JOIN operator o ON o.id = s.operator"),
            (Rows{"9|176|4096|1|3|1|1|-"}));
  EXPECT_EQ(rows(db, "SELECT bytes, device, storage, to_seq - from_seq FROM block"), (Rows{"4096|cpu|9|9"}));
  EXPECT_EQ(rows(db,
                 "WITH RECURSIVE w(id, depth) AS (SELECT stack, 0 FROM storage UNION ALL"
                 " SELECT stack.parent, depth + 1 FROM w JOIN stack ON stack.id = w.id WHERE parent IS NOT NULL)"
                 " SELECT f.line, text FROM w JOIN stack ON stack.id = w.id JOIN frame f ON f.id = stack.frame"
                 " JOIN string ON string.id = f.function ORDER BY depth"),
            (Rows{"12|forward", "40|forward"}));
  EXPECT_EQ(rows(db, "SELECT thread.id, tid, text FROM thread JOIN string ON string.id = thread.name"),
            (Rows{"1|100|python"}));
  EXPECT_EQ(totals_.peak_bytes, 4096);
  EXPECT_EQ(totals_.allocated_bytes, 0);
  EXPECT_EQ(rows(db, "SELECT bytes FROM allocated"), (Rows{"4096", "0"}));
  EXPECT_EQ(rows(db, "SELECT name FROM sqlite_master WHERE name LIKE 'wire%' OR name LIKE 'recorder%'"), Rows{});
  EXPECT_EQ(rows(db, "SELECT count(*) FROM meta WHERE key = 'drained'"), (Rows{"0"}));
}

TEST_F(LifetimesTest, BirthAtALiveAddressIsALostDeath) {
  TestStream s;
  s.birth(0xA0, 0xB0);
  const auto tensor = s.birth(0xA0, 0xB0);
  s.alloc(0xD0, 8);
  const auto block = s.alloc(0xD0, 16);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT id, to_seq FROM tensor"), (Rows{"1|" + std::to_string(tensor), "2|-"}));
  EXPECT_EQ(rows(db, "SELECT id, to_seq FROM block"), (Rows{"3|" + std::to_string(block), "4|-"}));
  EXPECT_EQ(rows(db, "SELECT value FROM meta WHERE key = 'lost_deaths'"), (Rows{"2"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'lost_death'"), (Rows{"1"})) << "one example";
  EXPECT_EQ(totals_.allocated_bytes, 16);
}

TEST_F(LifetimesTest, AStorageInsideAMappedFileHasItsBlock) {
  TestStream s;
  s.alloc(0xD00000, 1 << 20);  // a file, of which each parameter is a part
  s.birth(0xA0, 0xB0, 0xD00000 + 152, 4096);
  s.birth(0xA1, 0xB1, 0xD00000 + (1 << 20), 4096);  // behind it
  s.alloc(0xE00000, 1 << 10);
  s.birth(0xA2, 0xB2, 0xE00000 + 8, 64);  // small blocks are matched by their begin only
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT b.bytes, s.address FROM block b LEFT JOIN storage s ON s.id = b.storage ORDER BY b.id"),
            (Rows{"1048576|176", "1024|-"}));
}

TEST_F(LifetimesTest, EndsOfWhatWasNotSeenToBeginAreCounted) {
  TestStream s;
  s.death(0xA0);
  s.free(0xD0);
  s.birth(0xA1, 0xB1);
  s.tensor(RecordType::kTensorRelease, 0xA1, 0xB1);
  s.death(0xA1);  // the second half of the same end
  wire::StorageRecord shown_at_its_end{};
  shown_at_its_end.storage = 0xB2;
  shown_at_its_end.bytes = 64;
  const auto storage = s.add(RecordType::kStorageDeath, 0, shown_at_its_end);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT value FROM meta WHERE key = 'unseen_births'"), (Rows{"2"}));
  const std::string point = std::to_string(storage);
  EXPECT_EQ(rows(db, "SELECT bytes, from_seq, to_seq FROM storage ORDER BY id DESC LIMIT 1"),
            (Rows{"64|" + point + "|" + point}));
}

TEST_F(LifetimesTest, AStorageCanLiveBeforeItsTensors) {
  TestStream s;
  wire::StorageRecord birth{};
  birth.storage = 0xB0;
  birth.bytes = 64;
  const auto from = s.add(RecordType::kStorageBirth, 0, birth);
  s.birth(0xA0, 0xB0, 0, 64);
  const auto again = s.add(RecordType::kStorageBirth, 0, birth);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT id, from_seq, to_seq FROM storage"),
            (Rows{"1|" + std::to_string(from) + "|" + std::to_string(again),
                  std::to_string(again) + "|" + std::to_string(again) + "|-"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'lost_death'"), (Rows{"1"}));
}

TEST_F(LifetimesTest, AChangeThatOnlyShowsAtTheEndIsSaid) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 64);
  s.birth(0xA1, 0xB1, 0, 64);
  wire::StorageRecord grown{};
  grown.storage = 0xB0;
  grown.bytes = 128;
  const auto moved = s.add(RecordType::kStorageDeath, 0, grown);
  const auto end = s.death(0xA0, 0xB1);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'unseen_change'"), (Rows{"2"}));
  EXPECT_EQ(rows(db, "SELECT value FROM meta WHERE key = 'unseen_changes'"), (Rows{"2"}));
  EXPECT_EQ(rows(db, "SELECT storage, bytes FROM mark WHERE kind = 'resize'"), (Rows{"1|128"}));
  const std::string point = std::to_string(moved);
  EXPECT_EQ(rows(db, "SELECT storage, from_seq, to_seq FROM tensor WHERE object = 1 ORDER BY id"),
            (Rows{"1|1|" + point, "2|" + point + "|" + std::to_string(end)}));
}

TEST_F(LifetimesTest, ReleaseEndsAndALaterDeathEndsNothing) {
  TestStream s;
  s.birth(0xA0, 0xB0);
  const auto tensor = s.tensor(RecordType::kTensorRelease, 0xA0, 0xB0);
  const auto storage = s.storage_end(RecordType::kStorageRelease, 0xB0);
  s.death(0xA0);
  s.storage_death(0xB0);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT to_seq FROM tensor"), (Rows{std::to_string(tensor)}));
  EXPECT_EQ(rows(db, "SELECT to_seq FROM storage"), (Rows{std::to_string(storage)}));
}

/// The record of the death has the values that the object's fields still have.
TEST_F(LifetimesTest, ADeathAfterAReleaseMakesNoSecondStorage) {
  TestStream s;
  s.storage_birth(0xB0, 64);
  wire::StorageRecord end{};
  end.storage = 0xB0;
  end.bytes = 64;
  const auto released = s.add(RecordType::kStorageRelease, 0, end);
  s.add(RecordType::kStorageDeath, 0, end);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT bytes, to_seq FROM storage"), (Rows{"64|" + std::to_string(released)}));
}

TEST_F(LifetimesTest, EndsOfTheUnknownAreIgnored) {
  TestStream s;
  s.death(0xA0);
  s.storage_death(0xB0);
  s.free(0xD0);
  s.op_end(9);
  s.mark(RecordType::kMarkEnd, MarkKind::kUser, "m", 77);
  Database db = record(s);
  for (const char* table : {"tensor", "storage", "block", "operator", "mark", "diagnostic"}) {
    EXPECT_EQ(rows(db, std::string("SELECT count(*) FROM ") + table), (Rows{"0"})) << table;
  }
}

TEST_F(LifetimesTest, RepointKeepsTheObjectAndMarksIt) {
  TestStream s;
  s.birth(0xA0, 0xB0, 0, 100);
  s.repoint(0xA0, 0xB0, 0xB1);
  s.death(0xA0);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT id, object, storage, from_seq, to_seq FROM tensor"), (Rows{"1|1|1|1|2", "2|1|2|2|3"}));
  EXPECT_EQ(rows(db, "SELECT tensor, storage, from_seq FROM mark WHERE kind = 'repoint'"), (Rows{"1|1|2"}));
}

TEST_F(LifetimesTest, ResizeLinksTheNewBlock) {
  TestStream s;
  s.alloc(0xD0, 100);
  s.birth(0xA0, 0xB0, 0xD0, 100);
  s.alloc(0xD1, 200);
  s.resize(0xB0, 100, 200, 0xD1);
  s.free(0xD0);
  s.resize(0xB0, 200, 0, 0);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT bytes, storage FROM block ORDER BY id"), (Rows{"100|2", "200|2"}));
  EXPECT_EQ(rows(db, "SELECT storage, bytes FROM mark WHERE kind = 'resize' ORDER BY id"), (Rows{"2|200", "2|0"}));
  EXPECT_EQ(rows(db, "SELECT bytes FROM storage"), (Rows{"100"}));
}

TEST_F(LifetimesTest, AnEmptyStorageThatGetsItsSizeBeginsWithIt) {
  TestStream s;
  s.resize(0xB0, 0, 200, 0xD1);
  s.resize(0xB0, 200, 300, 0xD2);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT bytes FROM storage"), (Rows{"200"}));
  EXPECT_EQ(rows(db, "SELECT bytes FROM mark WHERE kind = 'resize'"), (Rows{"300"}));
}

TEST_F(LifetimesTest, StreamsAndWhatTheCudaAllocatorHas) {
  TestStream s;
  s.reserved(2048, false);
  s.cuda_alloc(0x10, 512);  // before the allocator's trace was attached
  s.reserved(2048, true);
  s.cuda_alloc(0x20, 256);
  s.cuda_alloc(0x30, 128);
  s.block_request(0x30, 0x55550000, 100);
  s.cuda_alloc(0x40, 64);
  s.block_request(0x40, 0x66660000);
  s.cuda_alloc(0x50, 32);
  s.block_request(0x50, 0x55550000, 33);  // more than the block has
  s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 1);
  s.cuda_free(0x30, true);
  s.cuda_free(0x20);
  s.reserved(4096, true);
  s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 2);
  s.cuda_free_done(0x30);
  s.cuda_free_done(0x99);  // for an unknown block
  s.reserved(1024, true);
  s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 3);
  s.cuda_free(0x40, true);
  s.cuda_alloc(0x40, 64);  // reused: its wait was over, though no record said so
  s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 4);
  s.reserved(1, true, wire::kCpuDevice);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT address, stream, rounding FROM block ORDER BY id"),
            (Rows{"16|-|-", "32|0|0", "48|1|28", "64|2|64", "80|1|0", "64|0|0"}));
  EXPECT_EQ(rows(db,
                 "SELECT step, end_bytes, active_end_bytes, reserved_end_bytes, active_peak_bytes, reserved_peak_bytes"
                 " FROM interval JOIN interval_curve ON interval = id WHERE step IS NOT NULL AND device = 'cuda:0'"
                 " ORDER BY step"),
            (Rows{"1|992|992|2048|992|2048", "2|608|736|4096|992|4096", "3|608|608|1024|736|4096",
                  "4|608|608|1024|608|1024"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"1"}));
}

TEST_F(LifetimesTest, SumsOfSmallBlocksReplaceEachOther) {
  TestStream s;
  s.alloc(0x10, 1000);
  const auto first = s.small_blocks(64);
  s.small_blocks(80, wire::cuda_device(1));
  const auto second = s.small_blocks(32);
  s.free(0x10);
  const auto none = s.small_blocks(0);
  s.small_blocks(std::uint64_t{1} << 60);
  s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 1);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT from_seq, to_seq, bytes, gpu, address, thread FROM block JOIN string ON string.id = owner"
                 " WHERE text = 'under 64 KiB, not followed' ORDER BY from_seq"),
            (Rows{std::to_string(first) + "|" + std::to_string(second) + "|64|-|0|1",
                  std::to_string(first + 1) + "|-|80|1|0|1",
                  std::to_string(second) + "|" + std::to_string(none) + "|32|-|0|-"}));
  EXPECT_EQ(rows(db,
                 "SELECT device, peak_bytes, end_bytes, allocs, alloc_bytes, frees, free_bytes FROM interval_curve"
                 " JOIN interval ON interval = id WHERE step = 1 ORDER BY device"),
            (Rows{"cpu|1064|0|1|1064|1|1064", "cuda:1|80|80|0|80|0|0"}));
  EXPECT_EQ(rows(db, "SELECT max(bytes) FROM allocated WHERE device = 'cpu'"), (Rows{"1064"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"1"}));
}

TEST_F(LifetimesTest, HowLongFreedBlocksWaitedForStreams) {
  TestStream s;
  s.reserved(4096, true);
  for (const std::uint64_t address : {0x10, 0x20, 0x30, 0x40}) s.cuda_alloc(address, 64);
  s.alloc(0x50, 64);
  const auto freed = s.cuda_free(0x10, true);
  s.cuda_free(0x20);
  s.cuda_free(0x30, true);
  s.cuda_free(0x40, true);
  wire::BlockRecord nonsense{};
  nonsense.address = 0x50;
  nonsense.bytes = wire::kFreeAwaitsStream;
  s.add(RecordType::kBlockFree, wire::kCpuDevice, nonsense);
  const auto done = s.cuda_free_done(0x10);
  s.cuda_free_done(0x10);
  s.cuda_free_done(0x20);
  const auto again = s.cuda_alloc(0x30, 32);  // so its wait was over
  const std::string waited = "1|" + std::to_string(done - freed) + "|" + std::to_string((done - freed) * 1000) + "|";
  for (const bool commit_each : {false, true}) {
    Database db = record(s, commit_each);
    EXPECT_EQ(rows(db,
                   "SELECT address, to_seq IS NOT NULL, wait_seq_length, wait_ns_length, done_seq, done_ns = to_ns +"
                   " wait_ns_length FROM block ORDER BY id"),
              (Rows{"16|" + waited + std::to_string(done) + "|1", "32|1|-|-|-|-",
                    "48|1|" + std::to_string(again - freed - 2) + "|" + std::to_string((again - freed - 2) * 1000) +
                        "|" + std::to_string(again) + "|1",
                    "64|1|0|0|-|-", "80|1|-|-|-|-", "48|0|-|-|-|-"}));
  }
}

TEST_F(LifetimesTest, StoragesThatShareABlock) {
  TestStream s;
  s.cuda_alloc(0x1000, 0x100);
  s.cuda_alloc(0x2000, 0x100);
  const auto inside = s.birth(0xA0, 0xB0, 0x1040, 64);  // not at the block's begin
  const auto second = s.birth(0xA1, 0xB1, 0x1080, 64);
  s.birth(0xA2, 0xB2, 0x1100, 64);  // behind the block's end
  s.birth(0xA3, 0xB3, 0x0fff, 64);  // before the block
  const auto own = s.birth(0xA4, 0xB4, 0x2000, 256);
  Database db = record(s, true);
  EXPECT_EQ(rows(db, "SELECT address, storage FROM block ORDER BY id"),
            (Rows{"4096|" + std::to_string(inside), "8192|" + std::to_string(own)}));
  s.storage_death(0xB0);
  db = record(s, true);
  EXPECT_EQ(rows(db, "SELECT storage FROM block WHERE address = 4096"), (Rows{std::to_string(second)}))
      << "the next one that lies in it";
  s.cuda_free(0x1000);
  const auto fresh = s.cuda_alloc(0x1000, 0x80);
  const auto third = s.birth(0xA5, 0xB5, 0x1000, 64);
  s.storage_death(0xB1);
  db = record(s, true);
  EXPECT_EQ(rows(db, "SELECT storage FROM block WHERE id = " + std::to_string(fresh)), (Rows{std::to_string(third)}))
      << "what lay in an earlier block at this address has no part in it";
}

TEST_F(LifetimesTest, StoragesThatExchangeTheirDataExchangeTheirBlocks) {
  TestStream s;
  const auto one = s.cuda_alloc(0x1000, 0x100);
  const auto two = s.cuda_alloc(0x2000, 0x100);
  const auto first = s.birth(0xA0, 0xB0, 0x1000, 0x100);
  const auto second = s.birth(0xA1, 0xB1, 0x2000, 0x100);
  s.storage_end(RecordType::kStorageDeath, 0xB0, 0, 0x2000);
  s.cuda_free(0x2000);
  s.storage_end(RecordType::kStorageDeath, 0xB1, 0, 0x1000);
  s.cuda_free(0x1000);
  Database db = record(s, true);
  const auto of = [&](std::uint64_t block) { return "SELECT storage FROM block WHERE id = " + std::to_string(block); };
  EXPECT_EQ(rows(db, of(one)), (Rows{std::to_string(second)}));
  EXPECT_EQ(rows(db, of(two)), (Rows{std::to_string(first)}));
}

TEST_F(LifetimesTest, OwnersThatAreNoTensor) {
  TestStream s;
  s.cuda_alloc(0x1000, 0x100);
  wire::BlockOwnerRecord owner{};
  owner.address = 0x1000;
  owner.owner = s.text("cuBLAS workspace");
  s.add(RecordType::kBlockOwner, wire::cuda_device(0), owner);
  owner.address = 0x3000;  // no block
  s.add(RecordType::kBlockOwner, wire::cuda_device(0), owner);
  s.cuda_alloc(0x2000, 0x100);
  Database db = record(s, true);
  EXPECT_EQ(rows(db, "SELECT string.text FROM block LEFT JOIN string ON string.id = owner ORDER BY block.id"),
            (Rows{"cuBLAS workspace", "-"}));
}

TEST_F(LifetimesTest, ABlockHasThePlacesOfItsAllocationAndOfItsFree) {
  TestStream s;
  two_places(s);
  s.op_begin("aten::empty", 1);
  const auto from = s.cuda_alloc(0x1000, 256, 0x51);
  s.op_end(1);
  s.thread = 2;
  s.op_begin("aten::set_", 1);
  const auto to = s.cuda_free(0x1000, false, 0x52);
  s.op_end(1);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT id, address, bytes, device, thread, " + op("block.operator") + ", " + line("block.stack") +
                         ", free_thread, " + op("free_operator") + ", " + line("free_stack") +
                         ", from_seq, from_ns, to_seq, to_ns FROM block"),
            (Rows{row(from, 0x1000, 256, "cuda:0", 1, "aten::empty", 12, 2, "aten::set_", 13, from, from * 1000, to,
                      to * 1000)}));
}

TEST_F(LifetimesTest, AStorageHasThePlacesOfItsBirthAndOfItsEnd) {
  TestStream s;
  two_places(s);
  s.op_begin("aten::empty", 1);
  const auto from = s.storage_birth(0xB0, 256, 0x51);
  s.op_end(1);
  s.thread = 2;
  s.op_begin("aten::set_", 1);
  wire::StorageRecord death{};
  death.storage = 0xB0;
  death.bytes = 256;
  death.stack = 0x52;
  const auto to = s.add(RecordType::kStorageDeath, 7, death);
  s.op_end(1);
  Database db = record(s);
  EXPECT_EQ(
      rows(db, "SELECT id, address, bytes, first_seen, thread, " + op("storage.operator") + ", " +
                   line("storage.stack") + ", end_thread, " + op("end_operator") + ", " + line("end_stack") +
                   ", end_ordinal, from_seq, from_ns, to_seq, to_ns FROM storage"),
      (Rows{row(from, 0xB0, 256, 0, 1, "aten::empty", 12, 2, "aten::set_", 13, 7, from, from * 1000, to, to * 1000)}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM mark WHERE kind = 'resize'"), (Rows{"0"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic"), (Rows{"0"}));
  EXPECT_EQ(rows(db, "SELECT storages, tensors FROM interval"), (Rows{"1|0"}));
}

TEST_F(LifetimesTest, ATensorKeepsThePlaceOfItsBirthUntilItIsRepointed) {
  TestStream s;
  two_places(s);
  s.op_begin("aten::empty", 1);
  const auto from = s.birth(0xA0, 0xB0, 0, 64, 0x51);
  s.op_end(1);
  s.birth(0xA1, 0xB1, 0, 64);
  const auto moved = s.storage_death(0xB0);
  s.thread = 2;
  s.op_begin("aten::set_", 1);
  const auto repointed =
      s.repoint(0xA0, 0, 0xB1, 0x52);  // to a storage other than the one that it is recorded to have left
  const auto to = s.death(0xA0, 0xB1);
  s.op_end(1);
  Database db = record(s);
  EXPECT_EQ(
      rows(db, "SELECT id, object, address, storage, thread, " + op("tensor.operator") + ", " + line("tensor.stack") +
                   ", from_seq, from_ns, to_seq, to_ns FROM tensor WHERE address = 160"
                   " ORDER BY id"),
      (Rows{row(from, from, 0xA0, from, 1, "aten::empty", 12, from, from * 1000, repointed, repointed * 1000),
            row(repointed, from, 0xA0, from + 2, 2, "aten::set_", 13, repointed, repointed * 1000, to, to * 1000)}));
  EXPECT_EQ(rows(db, "SELECT thread, tensor, storage, " + op("mark.operator") + ", " + line("mark.stack") +
                         ", from_seq, to_seq FROM mark WHERE kind = 'repoint'"),
            (Rows{row(2, from, from, "aten::set_", 13, repointed, repointed)}));
  EXPECT_EQ(rows(db, "SELECT storages, tensors FROM interval"), (Rows{"2|2"}));
  EXPECT_LT(moved, repointed);
}

TEST_F(LifetimesTest, ATensorThatIsSeenFirstWhenItIsRepointedIsOne) {
  TestStream s;
  const auto at = s.repoint(0xA0, 0xB0, 0xB1);
  s.repoint(0, 0xB0, 0xB1);  // an unknown tensor
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT id, object, from_seq FROM tensor"), (Rows{row(at, at, at)}));
  EXPECT_EQ(rows(db, "SELECT tensor, storage FROM mark"), (Rows{row(at, "-")}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{"1"}));
}

TEST_F(LifetimesTest, ATensorThatWasSeenBeforeItHadAStorageHasTheOneOfItsEnd) {
  TestStream s;
  const auto from = s.birth(0xA0, 0);
  s.birth(0xA1, 0xB0, 0, 64);
  const auto to = s.death(0xA0, 0xB0);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT storage, from_seq, to_seq FROM tensor WHERE address = 160"),
            (Rows{row(from + 1, from, to)}));
}

TEST_F(LifetimesTest, AChangeOfSizeHasItsPlace) {
  TestStream s;
  two_places(s);
  const auto storage = s.birth(0xA0, 0xB0, 0, 64, 0x51);
  s.thread = 2;
  s.op_begin("aten::resize_", 1);
  const auto at = s.resize(0xB0, 64, 128, 0, 0x52);
  s.op_end(1);
  s.storage_death(0xB0);  // with its 128 bytes
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT thread, storage, bytes, " + op("mark.operator") + ", " + line("mark.stack") +
                         ", from_seq, to_seq FROM mark WHERE kind = 'resize'"),
            (Rows{row(2, storage, 128, "aten::resize_", 13, at, at)}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic"), (Rows{"0"}));
}

TEST_F(LifetimesTest, OfLostDeathsTheFirstIsSaid) {
  TestStream s;
  s.birth(0xA0, 0xB0);
  s.birth(0xA0, 0xB0);
  s.alloc(0xD0, 8);
  s.alloc(0xD0, 16);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT string.text FROM diagnostic JOIN string ON string.id = diagnostic.text"),
            (Rows{"a tensor began at 0xa0 while one lived there: its death was lost"}));
}

TEST_F(LifetimesTest, UnseenChangesAreSaidTenTimesAndOnceWhereRecordsWereLost) {
  for (const bool lost : {false, true}) {
    TestStream s;
    if (lost) s.add(RecordType::kLost, 1, wire::LostRecord{});
    for (std::uint64_t i = 0; i < 12; ++i) {
      s.birth(0xA00 + i, 0xB00 + i, 0, 64);
      wire::StorageRecord grown{};
      grown.storage = 0xB00 + i;
      grown.bytes = 128;
      s.add(RecordType::kStorageDeath, 0, grown);
    }
    Database db = record(s);
    EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic"), (Rows{lost ? "1" : "10"}));
    EXPECT_EQ(rows(db, "SELECT value FROM meta WHERE key = 'unseen_changes'"), (Rows{"12"}));
  }
}

TEST_F(LifetimesTest, AnAddressIsFreeAgainOnceSomethingBeginsThere) {
  TestStream s;
  s.birth(0xA0, 0xB0);
  s.tensor(RecordType::kTensorRelease, 0xA0, 0xB0);
  s.birth(0xA0, 0xB0);  // this birth shows that the earlier one has ended
  s.death(0xA0);
  s.death(0xA0);  // an unknown tensor
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT value FROM meta WHERE key = 'unseen_births'"), (Rows{"1"}));
}

TEST_F(LifetimesTest, WhatNoMemoryHasIsNoBlock) {
  constexpr std::uint64_t kKernels = std::uint64_t{1} << 63;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 46;
  TestStream s;
  s.alloc(0, 64);
  s.alloc(kKernels, 64);
  s.alloc(0x10, kMost + 1);
  s.free(kKernels);
  s.small_blocks(kMost + 1);
  s.reserved(kMost + 1, true);
  s.birth(0, 0xB0);
  wire::StorageRecord nowhere{};
  s.add(RecordType::kStorageBirth, 0, nowhere);
  s.add(RecordType::kStorageDeath, 0, nowhere);
  s.resize(0, 1, 2, 0);
  constexpr int kBad = 10;
  s.alloc(0x20, kMost);
  s.small_blocks(kMost);
  s.alloc(kKernels - 1, 1);
  s.reserved(kMost, true);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), (Rows{row(kBad)}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM block"), (Rows{"3"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM storage"), (Rows{"0"}));
  EXPECT_EQ(rows(db, "SELECT count(*) FROM tensor"), (Rows{"0"}));
}

TEST_F(LifetimesTest, OfEachDeviceTheSmallBlocksAreApart) {
  TestStream s;
  s.small_blocks(64);
  s.small_blocks(80, wire::cuda_device(0));
  s.small_blocks(96, wire::cuda_device(1));
  s.small_blocks(0, wire::cuda_device(0));
  s.birth(0xA0, 0xB0, std::uint64_t{1} << 63, 64);  // its data is far away from the blocks
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT device, bytes, to_seq IS NULL, storage FROM block ORDER BY id"),
            (Rows{"cpu|64|1|-", "cuda:0|80|0|-", "cuda:1|96|1|-"}));
}

TEST_F(LifetimesTest, ABlockStaysWithTheStorageThatHadItFirst) {
  TestStream s;
  s.cuda_alloc(0x1000, 0x100);
  const auto first = s.birth(0xA0, 0xB0, 0x1000, 64);
  s.birth(0xA1, 0xB1, 0x1040, 64);
  const auto third = s.birth(0xA2, 0xB2, 0x1080, 64);
  s.birth(0xA3, 0xB1, 0x1040, 64);  // the second storage is used again
  const auto holder = [&] {
    Database db = record(s, true);
    return rows(db, "SELECT storage FROM block");
  };
  EXPECT_EQ(holder(), (Rows{row(first)}));
  s.storage_death(0xB1);
  EXPECT_EQ(holder(), (Rows{row(first)})) << "the end of another one changes nothing";
  s.storage_death(0xB0);
  EXPECT_EQ(holder(), (Rows{row(third)})) << "not the one that has ended";
  s.storage_death(0xB2);
  const auto later = s.birth(0xA4, 0xB4, 0x1000, 64);
  EXPECT_EQ(holder(), (Rows{row(later)})) << "nobody has it any more";
}

TEST_F(LifetimesTest, OfWhatWasThereBeforeOnlyBlocksWithAHistoryAndTheirStoragesHaveAStack) {
  TestStream s;
  s.skip(100);
  two_places(s);
  Recording recording = start();
  const std::vector<PastStorage> storages = {
      {0xB0, 0x1000, 64, false}, {0xB1, 0x2000, 64, false}, {0xB2, 0x1040, 64, false}};
  const std::uint32_t gpu = wire::cuda_device(0);
  check(recording.assembler->begin_past(storages, {{gpu, 0x1000, 512, 0x51}, {gpu, 0x2000, 512, 0}}, 1, 0, 100));
  recording.apply(s);
  check(recording.assembler->finish());
  Database& db = recording.database();
  EXPECT_EQ(rows(db, "SELECT address, " + line("stack") + " FROM block ORDER BY address"),
            (Rows{row(0x1000, 12), row(0x2000, "-")}));
  EXPECT_EQ(rows(db, "SELECT address, " + line("stack") + " FROM storage ORDER BY address"),
            (Rows{row(0xB0, 12), row(0xB1, "-"), row(0xB2, "-")}))
      << "the third does not begin where the block does";
}

TEST_F(LifetimesTest, WhatBecomesMoreIsReportedAsGrowing) {
  TestStream s;
  for (int step = 0; step < 8; ++step) {
    s.birth(0xA00 + step, 0xB00 + step, 0, 1000);
    s.birth(0xA80, 0xB80, 0, 500);  // objects that end do not grow
    s.storage_death(0xB80);
    s.death(0xA80);
    s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, step);
  }
  record(s);
  EXPECT_EQ(growing_, 8000);
  for (int step = 0; step < 5; ++step) s.storage_death(0xB00 + step);
  record(s);
  EXPECT_EQ(growing_, 0) << "most of it has gone";
}

TEST_F(LifetimesTest, ABlockWhoseStorageMovedToAnotherBlockIsFreeForTheNext) {
  TestStream s;
  const auto one = s.cuda_alloc(0x1000, 0x100);
  const auto moved = s.birth(0xA0, 0xB0, 0x1000, 64);
  s.cuda_alloc(0x2000, 0x100);
  s.resize(0xB0, 64, 128, 0x2000);
  const auto next = s.birth(0xA1, 0xB1, 0x1000, 64);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT storage FROM block ORDER BY id"), (Rows{row(next), row(moved)}));
  EXPECT_LT(one, next);
}

}  // namespace
}  // namespace dcmt::recorder

#include "collector/recorder/assemble/out_of_memory.h"

#include <gtest/gtest.h>

#include <string>

#include "collector/recorder/testing/assembler_fixture.h"
#include "collector/recorder/testing/test_stream.h"

namespace dcmt::recorder {
namespace {

using testing::TestStream;
using wire::RecordType;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint32_t kGpu = wire::cuda_device(0);

class OutOfMemoryTest : public testing::RecordingFixture {
 protected:
  std::int64_t integer(const std::string& sql) {
    Expected<Statement> query = database().prepare(sql);
    EXPECT_TRUE(query.ok() && *query->step()) << sql;
    return query->integer(0);
  }
};

/// Two gathered parameters of 64 MiB, released and still held; a local of the user refers to the first. Another block
/// of 32 MiB, and one on the CPU.
void two_held(TestStream& s) {
  s.named_thread(100, "python");
  s.code(0xC0, "/home/u/app/train.py", "main");
  s.code(0xC1, "/v/lib/python3.12/site-packages/torch/nn/functional.py", "linear");
  s.stack(0x51, {{0xC1, 0, 900}, {0xC0, 0, 12}});
  s.stack(0x52, {{0xC0, 0, 13}});
  for (std::uint64_t i = 0; i < 2; ++i) {
    const auto key = static_cast<std::int64_t>(i);
    const std::uint64_t storage = 0xB0 + i;
    s.cuda_alloc(0x1000 + i, 64 * kMiB, 0x51);
    s.birth(0xA0 + i, storage, 0x1000 + i, 64 * kMiB, 0x51);
    s.key(RecordType::kGather, key, storage, 64 * kMiB);
    s.key(RecordType::kReleaseBegin, key, storage, 64 * kMiB);
    s.key(RecordType::kRelease, key, storage, 64 * kMiB, wire::kKeyFinal);
    s.key(RecordType::kReleaseSettled, key, storage, 64 * kMiB);
  }
  s.census(RecordType::kCensusBegin, 1, 0xB0, 1, 1);
  s.census_tensor(1, 0xA0, 1, 0x90, 1);
  s.census_local(1, 0x90, 0xC0, 0, 4, 12, "kept");
  s.census(RecordType::kCensusEnd, 1, 0xB0, 1, 0);
  s.cuda_alloc(0x2000, 32 * kMiB, 0x52);
  s.alloc(0x3000, 1 * kMiB);
}

TEST_F(OutOfMemoryTest, WhatIsAliveAndHeldAtThatPoint) {
  TestStream s;
  two_held(s);
  s.op_begin("ProfilerStep", 1, wire::OpScope::kUser);
  s.op_begin("aten::addmm", 2);
  s.op_begin("aten::empty", 3);
  const auto at = s.out_of_memory(kGpu, 512 * kMiB, 160 * kMiB, 170 * kMiB, 20 * kMiB, 200 * kMiB, 0x52);
  s.op_end(3);
  apply(s);
  const std::vector<OomFacts> seen = assembler().out_of_memory().drain();
  ASSERT_EQ(seen.size(), 1u);
  const OomFacts& facts = seen.front();
  EXPECT_EQ(facts.number, 1);
  EXPECT_EQ(facts.device, "cuda:0");
  EXPECT_EQ(facts.operator_name, "aten::addmm");
  EXPECT_EQ(facts.site, "app/train.py:13 main");
  EXPECT_EQ(facts.alive, static_cast<std::int64_t>(160 * kMiB)) << "the CPU's block is none of it";
  ASSERT_EQ(facts.groups.size(), 2u);
  EXPECT_EQ(facts.groups[0].site, "app/train.py:12 main") << "the user's frame, not torch's";
  EXPECT_EQ(facts.groups[0].bytes, static_cast<std::int64_t>(128 * kMiB));
  EXPECT_EQ(facts.groups[0].blocks, 2);
  EXPECT_TRUE(facts.has_releases);
  EXPECT_EQ(facts.held, static_cast<std::int64_t>(128 * kMiB));
  EXPECT_EQ(facts.held_storages, 2);
  ASSERT_EQ(facts.holders.size(), 2u);
  const OomHolder& named = facts.holders[facts.holders[0].function.empty() ? 1 : 0];
  EXPECT_EQ(named.function, "main");
  EXPECT_EQ(named.names, (std::vector<std::string>{"kept"}));
  EXPECT_EQ(named.bytes, static_cast<std::int64_t>(64 * kMiB));
  EXPECT_TRUE(assembler().out_of_memory().drain().empty()) << "each is reported once";
  EXPECT_EQ(assembler().totals().out_of_memory, 1);
  EXPECT_EQ(integer("SELECT id FROM oom WHERE device = 'cuda:0' AND reserved = 178257920"),
            static_cast<std::int64_t>(at));
}

TEST_F(OutOfMemoryTest, AFunctionOfTheUsersHasAskedWhereNoOperatorHas) {
  TestStream s;
  s.op_begin("autograd::engine::evaluate_function: Probe", 1);
  s.op_begin("my_function", 2);
  s.out_of_memory(kGpu, kMiB);
  s.op_end(2);
  s.op_end(1);
  apply(s);
  const std::vector<OomFacts> seen = assembler().out_of_memory().drain();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen.front().operator_name, "my_function") << "not what the engine names";
}

TEST_F(OutOfMemoryTest, SmallBlocksAreAGroupOfTheirOwn) {
  TestStream s;
  two_held(s);
  s.small_blocks(3 * kMiB, wire::cuda_device(0));
  s.op_begin("aten::empty", 3);
  s.out_of_memory(kGpu, 512 * kMiB, 163 * kMiB, 170 * kMiB, 20 * kMiB, 200 * kMiB, 0x52);
  s.op_end(3);
  apply(s);
  const std::vector<OomFacts> seen = assembler().out_of_memory().drain();
  ASSERT_EQ(seen.size(), 1u);
  const std::vector<OomGroup>& groups = seen.front().groups;
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups.back().bytes, static_cast<std::int64_t>(3 * kMiB));
  EXPECT_EQ(groups.back().blocks, 0) << "nobody counted them";
  EXPECT_EQ(groups[0].bytes + groups[1].bytes, static_cast<std::int64_t>(160 * kMiB));
}

TEST_F(OutOfMemoryTest, TheOperatorIsTheOneBelowTheNodeThatRuns) {
  TestStream s;
  s.op_begin("my::trains_itself", 1);
  s.op_begin("AddmmBackward0", 2, wire::OpScope::kBackward);
  s.op_begin("aten::mm", 3);
  s.out_of_memory(kGpu, 512 * kMiB, 163 * kMiB, 170 * kMiB, 20 * kMiB, 200 * kMiB);
  for (const std::uint64_t ordinal : {3, 2, 1}) s.op_end(ordinal);
  apply(s);
  const std::vector<OomFacts> seen = assembler().out_of_memory().drain();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen.front().operator_name, "aten::mm");
}

TEST_F(OutOfMemoryTest, WhoHoldsItThenIsReportedOnceTheOperatorHasEnded) {
  TestStream s;
  two_held(s);
  s.op_begin("aten::empty", 3);
  s.out_of_memory(kGpu, 512 * kMiB, 160 * kMiB, 170 * kMiB);
  apply(s);
  EXPECT_TRUE(assembler().out_of_memory().drain().empty()) << "its census is still to come";
  s.census(RecordType::kCensusBegin, 2, 0xB0, 1, 2);
  s.census_tensor(2, 0xA0, 1, 0x90, 1);
  s.census_local(2, 0x90, 0xC0, 0, 5, 12, "later");
  s.census(RecordType::kCensusEnd, 2, 0xB0, 1, 0);
  s.op_end(3);
  apply(s);
  const std::vector<OomFacts> seen = assembler().out_of_memory().drain();
  ASSERT_EQ(seen.size(), 1u);
  const std::vector<OomHolder>& holders = seen.front().holders;
  ASSERT_EQ(holders.size(), 2u);
  EXPECT_EQ(holders[holders[0].function.empty() ? 1 : 0].names, (std::vector<std::string>{"later"}));
}

TEST_F(OutOfMemoryTest, WhatIsReadGatheredAgainOrGoneIsNotHeld) {
  TestStream s;
  two_held(s);
  s.read(0, 0xB0, 0xA0, 64 * kMiB);
  s.key(RecordType::kGather, 1, 0xB1, 64 * kMiB, 0, 0, 2);
  s.out_of_memory(kGpu, 512 * kMiB, 160 * kMiB, 170 * kMiB);
  apply(s);
  const std::vector<OomFacts> seen = assembler().out_of_memory().drain();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen.front().held, 0);
  EXPECT_TRUE(seen.front().holders.empty());
}

TEST_F(OutOfMemoryTest, EachIsAnalysedAndHasARow) {
  TestStream s;
  for (int i = 0; i < 5; ++i) s.out_of_memory(wire::kCpuDevice, 512 * kMiB);
  apply(s);
  EXPECT_EQ(assembler().out_of_memory().drain().size(), 5u);
  EXPECT_EQ(assembler().totals().out_of_memory, 5);
  EXPECT_EQ(integer("SELECT count(*) FROM oom WHERE gpu IS NULL AND allocated IS NULL AND total IS NULL"), 5);
}

TEST_F(OutOfMemoryTest, TheStepInWhichMemoryRanOutIsKept) {
  begin({.steps = {{100, 100}}, .every = 0, .last = 0});
  TestStream s;
  for (int step = 1; step <= 4; ++step) {
    s.op("aten::relu");
    if (step == 2) s.out_of_memory(kGpu, kMiB);
    s.mark(RecordType::kMarkPoint, wire::MarkKind::kStep, "step", 0, step);
  }
  apply(s);
  ASSERT_TRUE(assembler().finish().ok());
  EXPECT_EQ(integer("SELECT step FROM interval WHERE kept = 'finding'"), 2);
  EXPECT_EQ(integer("SELECT count(*) FROM interval WHERE step IN (1, 3, 4) AND kept IS NULL"), 3);
}

TEST_F(OutOfMemoryTest, NonsenseIsSkipped) {
  TestStream s;
  s.out_of_memory(200, kMiB);
  s.out_of_memory(kGpu, ~std::uint64_t{0});
  s.out_of_memory(kGpu, kMiB, ~std::uint64_t{0});
  apply(s);
  EXPECT_TRUE(assembler().out_of_memory().drain().empty());
  EXPECT_EQ(integer("SELECT count(*) FROM oom"), 0);
  EXPECT_EQ(integer("SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), 3);
}

TEST_F(OutOfMemoryTest, ARowSaysWhatWasAskedForWhereAndWhatThereWas) {
  TestStream s;
  two_held(s);
  s.thread = 2;
  const auto op = s.op_begin("aten::empty", 3);
  const auto at = s.out_of_memory(kGpu, 1, 2, 3, 4, 5, 0x52);
  s.out_of_memory(kGpu, 1, 2, 3, 4, 0);  // CUDA returned no figures
  s.op_end(3);
  apply(s);
  EXPECT_EQ(integer("SELECT count(*) FROM oom WHERE id = " + std::to_string(at) +
                    " AND gpu = 0 AND requested = 1 AND allocated = 2 AND reserved = 3 AND free = 4 AND total = 5"
                    " AND thread = 2 AND operator = " +
                    std::to_string(op) + " AND ns = " + std::to_string(at * 1000)),
            1);
  EXPECT_EQ(integer("SELECT f.line FROM oom JOIN stack k ON k.id = oom.stack JOIN frame f ON f.id = k.frame"), 13);
  EXPECT_EQ(integer("SELECT count(*) FROM oom WHERE free IS NULL AND total IS NULL"), 1);
  const std::vector<OomFacts> seen = assembler().out_of_memory().drain();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].figures.requested, 1);
  EXPECT_EQ(seen[0].figures.allocated, 2);
  EXPECT_EQ(seen[0].figures.reserved, 3);
  EXPECT_EQ(seen[0].figures.free, 4);
  EXPECT_EQ(seen[0].total, 5);
  EXPECT_EQ(seen[1].number, 2);
}

TEST_F(OutOfMemoryTest, GroupsAndHoldersComeLargestFirstAndPlacesAreOne) {
  TestStream s;
  two_held(s);
  s.stack(0x53, {{0xC0, 0, 13}, {0xC1, 0, 900}});  // like 0x52, with another caller
  s.cuda_alloc(0x4000, 1 * kMiB, 0x53);
  s.cuda_alloc(0x5000, 256 * kMiB);  // without a Python frame
  s.stack(0x54, {{0xC1, 0, 900}});   // only frames of torch
  s.cuda_alloc(0x6000, 2 * kMiB, 0x54);
  s.out_of_memory(kGpu, kMiB);
  apply(s);
  const std::vector<OomFacts> seen = assembler().out_of_memory().drain();
  ASSERT_EQ(seen.size(), 1u);
  std::vector<std::string> groups;
  for (const OomGroup& group : seen.front().groups) {
    groups.push_back(std::to_string(group.bytes / static_cast<std::int64_t>(kMiB)) + " in " +
                     std::to_string(group.blocks) + ": " + group.site);
  }
  EXPECT_EQ(groups, (std::vector<std::string>{"256 in 1: no Python frame, or blocks too small to be followed",
                                              "128 in 2: app/train.py:12 main", "33 in 2: app/train.py:13 main",
                                              "2 in 1: nn/functional.py:900 linear"}));
}

TEST_F(OutOfMemoryTest, BeyondTheLargestThreeHundredStacksPlacesAreNotNamed) {
  TestStream s;
  s.code(0xC0, "/home/u/app/train.py", "main");
  for (std::uint64_t i = 0; i < 302; ++i) {
    s.stack(0x100 + i, {{0xC0, 0, static_cast<std::int32_t>(i)}});
    s.cuda_alloc(0x10000 + 16 * i, 1000 - i, 0x100 + i);
  }
  s.out_of_memory(kGpu, kMiB);
  apply(s);
  const std::vector<OomFacts> seen = assembler().out_of_memory().drain();
  ASSERT_EQ(seen.size(), 1u);
  const std::vector<OomGroup>& groups = seen.front().groups;
  ASSERT_EQ(groups.size(), 301u);
  EXPECT_EQ(groups.front().site, "other places");
  EXPECT_EQ(groups.front().bytes, 700 + 699);
}

TEST_F(OutOfMemoryTest, TheHoldersNamesHaveTheirPlace) {
  TestStream s;
  two_held(s);
  s.code(0xC2, "/home/u/app/other.py", "other");
  s.census(RecordType::kCensusBegin, 2, 0xB1, 1, 1);
  s.census_tensor(2, 0xA1, 1, 0x91, 3);
  s.census_local(2, 0x91, 0xC2, 0, 4, 12, "x");
  s.census_local(2, 0x91, 0xC2, 1, 4, 12, "y");
  s.census_local(2, 0x91, 0xC0, 2, 4, 12, "caller's");
  s.census_local(2, 0x91, 0xC2, 0, 4, 12, "", wire::LocalKind::kEvalStack);
  s.census(RecordType::kCensusEnd, 2, 0xB1, 1, 0);
  s.out_of_memory(kGpu, kMiB);
  apply(s);
  const std::vector<OomFacts> seen = assembler().out_of_memory().drain();
  ASSERT_EQ(seen.size(), 1u);
  ASSERT_EQ(seen.front().holders.size(), 2u);
  const OomHolder& other = seen.front().holders[seen.front().holders[0].function == "other" ? 0 : 1];
  EXPECT_EQ(other.function, "other");
  EXPECT_EQ(other.names, (std::vector<std::string>{"x", "y", "(evaluation stack)"})) << "the frame that comes first";
  EXPECT_EQ(other.storages, 1);
  EXPECT_EQ(other.bytes, static_cast<std::int64_t>(64 * kMiB));
}

TEST_F(OutOfMemoryTest, AnotherThreadsOperatorEndsNoWait) {
  TestStream s;
  two_held(s);
  s.op_begin("aten::empty", 3);
  s.out_of_memory(kGpu, kMiB);
  s.thread = 2;
  s.op("aten::relu");
  apply(s);
  EXPECT_TRUE(assembler().out_of_memory().drain().empty()) << "its census is still to come";
  ASSERT_TRUE(assembler().finish().ok());
  EXPECT_EQ(assembler().out_of_memory().drain().size(), 1u) << "it never came";
}

TEST_F(OutOfMemoryTest, TheLargestThatADeviceCanHaveIsAccepted) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 46;
  TestStream s;
  s.out_of_memory(kGpu, std::uint64_t{1} << 61, kMost, kMost, kMost, kMost);
  for (int figure = 0; figure < 4; ++figure) {
    std::uint64_t figures[4] = {1, 1, 1, 1};
    figures[figure] = kMost + 1;
    s.out_of_memory(kGpu, 1, figures[0], figures[1], figures[2], figures[3]);
  }
  apply(s);
  EXPECT_EQ(integer("SELECT count(*) FROM oom"), 1);
  EXPECT_EQ(integer("SELECT count(*) FROM diagnostic WHERE code = 'bad_record'"), 4);
}

TEST_F(OutOfMemoryTest, WhatAWaitGaveAgainIsNotHeldAndAHolderThatHasGoneIsNotNamed) {
  TestStream s;
  two_held(s);
  s.key(RecordType::kWait, 1, 0xB1, 64 * kMiB);
  s.death(0xA0);  // the tensor that `kept` referred to; something else holds the storage
  s.out_of_memory(kGpu, kMiB);
  apply(s);
  const std::vector<OomFacts> seen = assembler().out_of_memory().drain();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen.front().held, static_cast<std::int64_t>(64 * kMiB));
  ASSERT_EQ(seen.front().holders.size(), 1u);
  EXPECT_TRUE(seen.front().holders[0].names.empty());
}

}  // namespace
}  // namespace dcmt::recorder

#include "analyzer/gate/fact.h"

#include <gtest/gtest.h>

namespace dcmt::gate {
namespace {

analyzer::MemoryFacts process(std::int64_t rank, std::int64_t steps, std::int64_t peak) {
  analyzer::MemoryFacts facts;
  facts.rank = rank;
  facts.steps = steps;
  facts.torch = "2.11";
  facts.path = "rank" + std::to_string(rank) + ".dcmt";
  facts.counts = {{"gathers", 3}};
  analyzer::DeviceFacts device;
  device.device = "cuda:" + std::to_string(std::max<std::int64_t>(0, rank));
  device.peak = Bytes(peak);
  device.peaks = {{"forward", Bytes(peak), 0, {}}};
  analyzer::DeviceFacts host;
  host.device = "cpu";
  host.peak = Bytes(5);
  facts.devices = {device, host};
  return facts;
}

TEST(Recording, BytesAreOfTheRankThatHasMostAndCountsAreSums) {
  const Recording recording = recording_of({process(0, 6, 100), process(1, 6, 130)});
  EXPECT_EQ(recording.section, "cuda, torch 2.11");
  EXPECT_EQ(recording.ranks, 2);
  EXPECT_EQ(recording.fact("peak.forward")->value, 130);
  EXPECT_EQ(recording.fact("peak.forward")->rank, 1);
  EXPECT_EQ(recording.fact("peak.cpu"), nullptr);  // it had no peak
  EXPECT_EQ(recording.fact("gathers")->value, 6);
}

TEST(Recording, WorkersThatLoadDataAreNoRanks) {
  analyzer::MemoryFacts worker = process(0, 0, 900);
  worker.unfit = {"its program failed (signal 15)"};
  const Recording ranked = recording_of({worker, process(0, 6, 100), process(1, 6, 100), process(-1, 0, 700)});
  EXPECT_EQ(ranked.ranks, 2);
  EXPECT_TRUE(ranked.unfit.empty());
  EXPECT_EQ(ranked.fact("peak.forward")->value, 100);
  worker.rank = -1;
  const Recording alone = recording_of({process(-1, 6, 100), worker});
  EXPECT_EQ(alone.ranks, 1);
  EXPECT_TRUE(alone.unfit.empty());
  EXPECT_EQ(alone.fact("peak.forward")->rank, -1);
}

TEST(Recording, TheOrderOfOperatorsIsAHash) {
  analyzer::MemoryFacts a = process(0, 6, 100);
  analyzer::MemoryFacts b = a;
  a.operators = {{"aten::mm", Bytes(1)}, {"aten::relu", Bytes(2)}};
  b.operators = {{"aten::relu", Bytes(1)}, {"aten::mm", Bytes(2)}};
  EXPECT_EQ(recording_of({a}).order, recording_of({a}).order);
  EXPECT_NE(recording_of({a}).order, recording_of({b}).order);
  EXPECT_EQ(recording_of({a}).operators, 2);
}

}  // namespace
}  // namespace dcmt::gate

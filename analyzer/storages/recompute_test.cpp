#include "analyzer/storages/recompute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "analyzer/testing/layers.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

constexpr std::int64_t kMiB = 1 << 20;

std::vector<Recompute> choices_of(TestTrace& trace) {
  const TraceData data = trace.load();
  const PhaseIndex phases(data);
  return recomputes(data, phases, steps_of(data), data.blocks.begin()->device);
}

Recompute choice(const std::vector<Recompute>& choices, std::string_view modules) {
  const auto found = std::ranges::find(choices, modules, &Recompute::modules);
  EXPECT_NE(found, choices.end()) << modules;
  return found != choices.end() ? *found : Recompute();
}

TEST(Recompute, KeepsTheOutputsAndMakesOneLayerAgainAtATime) {
  TestTrace trace;
  trace.allocate(10 * kMiB);  // parameters
  testing::add_step_of_layers(trace, 4, 3, kMiB);
  const std::vector<Recompute> choices = choices_of(trace);
  const Recompute layers = choice(choices, "model.layers.*");
  EXPECT_EQ(layers.instances, 4);
  EXPECT_EQ(layers.saved.value, 4 * 3 * kMiB);
  // The parameters, and the outputs of three layers; of the last layer three saved blocks, and two gradients. Its own
  // output, which none of its nodes saves, is not made again.
  EXPECT_EQ(layers.peak.value, (10 + 3 + 3 + 2) * kMiB);
  EXPECT_EQ(choices.front().peak, layers.peak) << "lowest first";
  // All layers as one call: nothing is saved but all of it is made again.
  EXPECT_EQ(choice(choices, "model").instances, 1);
  EXPECT_GT(choice(choices, "model").peak, layers.peak);
}

TEST(Recompute, WhatOutlivesTheBackwardIsNotMadeAgain) {
  TestTrace trace;
  std::vector<TestTrace::Handle> saved;
  TestTrace::Handle output = 0;
  trace.phase("forward", [&] {
    trace.module = "model";
    trace.allocate(8 * kMiB);  // a library's workspace
    for (int i = 0; i < 4; ++i) saved.push_back(trace.allocate(kMiB));
    output = trace.allocate(kMiB);
    trace.module.clear();
    trace.drop(trace.allocate(kMiB));
  });
  trace.phase("backward", [&] {
    trace.drop(output);
    trace.module = "model";
    const auto gradient = trace.allocate(kMiB);
    for (const auto block : saved) trace.drop(block);
    trace.drop(gradient);
  });
  trace.step(1);
  EXPECT_EQ(choice(choices_of(trace), "model").peak.value, (8 + 4 + 1) * kMiB);
}

TEST(Recompute, NothingWithoutABackward) {
  TestTrace trace;
  trace.module = "model.layers.0";
  const auto block = trace.allocate(kMiB);
  trace.module.clear();
  trace.allocate(kMiB);
  trace.drop(block);
  trace.step(1);
  EXPECT_TRUE(choices_of(trace).empty());
}

}  // namespace
}  // namespace dcmt::analyzer

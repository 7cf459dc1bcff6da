#include "analyzer/ranks/rank_comparison.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;
using Handle = TestTrace::Handle;

/// A gather of `bytes`, on a line that depends on the parameter, and its final release, which frees or not.
struct Use {
  std::int64_t key = 0, bytes = 1000, uses = 1;
  bool freed = true;
};

void gather_and_release(TestTrace& trace, const Use& use) {
  Handle buffer = 0;
  trace.stack = {{"/home/user/model.py", "forward", 100 + use.key}};
  trace.op("zero3::allgather_param", [&] {
    buffer = trace.allocate(use.bytes);
    trace.gather(use.key, buffer);
  });
  for (std::int64_t left = use.uses - 1; left >= 0; --left) {
    trace.release(use.key, buffer, {.declared = use.uses, .remaining = left, .flags = left == 0 ? "final" : ""}, [&] {
      if (left == 0 && use.freed) trace.resize_to_zero(buffer);
    });
  }
  trace.op("aten::mm");
}

void gather_only(TestTrace& trace, std::int64_t key) {
  trace.stack = {{"/home/user/model.py", "forward", 100 + key}};
  trace.op("zero3::allgather_param", [&] { trace.gather(key, trace.allocate(1000)); });
}

/// The ranks of one run; `train` records one of them.
class RankComparisonTest : public ::testing::Test {
 protected:
  void rank(std::int64_t rank, const std::function<void(TestTrace&)>& train, std::int64_t world_size = 2) {
    TestTrace trace;
    trace.meta_integers["rank"] = rank;
    trace.meta_integers["world_size"] = world_size;
    train(trace);
    const TraceData data = trace.load();
    const Analysis analysis = analyze(data);
    facts.push_back(rank_facts(analysis));  // texts of its own: the trace goes
  }
  RankComparison compare() {
    Expected<RankComparison> result = compare_ranks(facts);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return std::move(*result);
  }
  void expect_not_comparable(const std::string& part) {
    const Expected<RankComparison> result = compare_ranks(facts);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kNotComparable);
    EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
  }

  std::vector<RankFacts> facts;
};

/// `steps` steps that gather `keys` in that order.
std::function<void(TestTrace&)> train(std::int64_t steps, const std::vector<std::int64_t>& keys) {
  return [=](TestTrace& trace) {
    for (std::int64_t step = 1; step <= steps; ++step) {
      for (const std::int64_t key : keys) gather_and_release(trace, {.key = key});
      trace.step(step);
    }
  };
}

TEST_F(RankComparisonTest, RanksThatAgreeHaveNoDifference) {
  rank(1, train(2, {3, 1, 2}));
  rank(0, train(2, {3, 1, 2}));
  const RankComparison result = compare();
  EXPECT_FALSE(result.differs());
  EXPECT_EQ(result.ranks[0].rank, 0);
  EXPECT_EQ(result.ranks[1].rank, 1);
  EXPECT_TRUE(result.missing.empty());
  EXPECT_TRUE(result.lacking.empty());
  EXPECT_EQ(result.steps, (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(result.graphs_by_order.empty());
  ASSERT_EQ(result.ends.size(), 1u);
  EXPECT_EQ(result.ends[0].ranks, (Ranks{0, 1}));
  EXPECT_EQ(result.ends[0].step, 2);
  EXPECT_EQ(result.ends[0].position, 2u);
  const RankFacts& zero = result.ranks[0];
  EXPECT_EQ(zero.gathers(), 6);
  EXPECT_EQ(zero.final_releases(), 6);
  EXPECT_EQ(zero.residual_keys(), 0);
  ASSERT_EQ(zero.devices.size(), 1u);
  EXPECT_EQ(zero.devices[0].bytes, Bytes(1000));
  EXPECT_EQ(zero.devices[0].step, 1);
}

TEST_F(RankComparisonTest, TheFirstGatherThatDiffersIsNamed) {
  const auto swapped = [](TestTrace& trace) {
    train(1, {0, 1, 2, 3})(trace);
    for (const std::int64_t key : {0, 2, 1, 3}) gather_and_release(trace, {.key = key});
    trace.step(2);
    train(0, {})(trace);
    for (const std::int64_t key : {0, 1, 2}) gather_and_release(trace, {.key = key});
    trace.step(3);
  };
  rank(0, train(3, {0, 1, 2, 3}), 3);
  rank(1, swapped, 3);
  rank(2, train(3, {0, 1, 2, 3}), 3);
  const RankComparison result = compare();
  ASSERT_TRUE(result.order);
  const GatherDivergence& order = *result.order;
  EXPECT_EQ(order.step, 2);
  EXPECT_EQ(order.position, 1u);
  EXPECT_EQ(order.before, (Key{0, 0}));
  EXPECT_EQ(order.steps, (std::vector<std::int64_t>{2, 3}));
  ASSERT_EQ(order.branches.size(), 2u);
  EXPECT_EQ(order.branches[0].ranks, (Ranks{0, 2}));
  EXPECT_EQ(order.branches[0].key, (Key{0, 1}));
  EXPECT_EQ(order.branches[0].next, (std::vector<Key>{{0, 2}, {0, 3}}));
  EXPECT_EQ(order.branches[0].place.operator_name, "zero3::allgather_param");
  EXPECT_EQ(order.branches[0].place.site, "user/model.py:101 forward");
  EXPECT_EQ(order.branches[1].ranks, (Ranks{1}));
  EXPECT_EQ(order.branches[1].key, (Key{0, 2}));
  EXPECT_EQ(order.branches[1].place.site, "user/model.py:102 forward");
}

TEST_F(RankComparisonTest, AGatherThatIsMissingAtTheEndOfAStepDiffers) {
  rank(0, train(1, {0, 1, 2}));
  rank(1, train(1, {0, 1}));
  const RankComparison result = compare();
  ASSERT_TRUE(result.order);
  EXPECT_EQ(result.order->position, 2u);
  ASSERT_EQ(result.order->branches.size(), 2u);
  EXPECT_EQ(result.order->branches[0].key, (Key{0, 2}));
  EXPECT_EQ(result.order->branches[1].key, std::nullopt);
}

TEST_F(RankComparisonTest, ATraceThatEndsWithinAStepAgreesAsFarAsItGoes) {
  rank(0, [](TestTrace& trace) {
    train(1, {0, 1, 2})(trace);
    gather_only(trace, 0);
  });
  rank(1, [](TestTrace& trace) {
    train(1, {0, 1, 2})(trace);
    gather_only(trace, 0);
    gather_only(trace, 1);
  });
  const RankComparison result = compare();
  EXPECT_FALSE(result.differs());
  EXPECT_EQ(result.steps, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(result.ended, 1);
  ASSERT_EQ(result.ends.size(), 2u);
  EXPECT_EQ(result.ends[0].ranks, (Ranks{1}));
  EXPECT_EQ(result.ends[0].step, 2);
  EXPECT_EQ(result.ends[0].position, 1u);
  EXPECT_EQ(result.ends[1].ranks, (Ranks{0}));
  EXPECT_EQ(result.ends[1].position, 0u);
}

TEST_F(RankComparisonTest, AHangLeavesItsDivergenceInTheStepThatDidNotEnd) {
  rank(0, [](TestTrace& trace) {
    train(1, {0, 1, 2})(trace);
    gather_only(trace, 0);
    gather_only(trace, 1);
  });
  rank(1, [](TestTrace& trace) {
    train(1, {0, 1, 2})(trace);
    gather_only(trace, 0);
    gather_only(trace, 2);
  });
  const RankComparison result = compare();
  ASSERT_TRUE(result.order);
  EXPECT_EQ(result.order->step, 2);
  EXPECT_EQ(result.order->position, 1u);
}

TEST_F(RankComparisonTest, WithoutStepsTheWholeTracesAreCompared) {
  rank(0, [](TestTrace& trace) {
    gather_only(trace, 0);
    gather_only(trace, 1);
  });
  rank(1, [](TestTrace& trace) {
    gather_only(trace, 0);
    gather_only(trace, 5);
  });
  RankComparison result = compare();
  EXPECT_FALSE(result.has_steps);
  ASSERT_TRUE(result.order);
  EXPECT_EQ(result.order->position, 1u);

  // Beside a rank that has steps, such a trace ends in the first one.
  facts.erase(facts.begin());
  rank(0, train(2, {0, 1}));
  result = compare();
  ASSERT_TRUE(result.order);
  EXPECT_EQ(result.order->step, 1);
  EXPECT_EQ(result.steps, (std::vector<std::int64_t>{1}));
}

TEST_F(RankComparisonTest, GraphNumbersOfTheRanksOwnAreMatchedByOrder) {
  const auto train_graphs = [](std::int64_t first, std::int64_t second, std::int64_t last_key) {
    return [=](TestTrace& trace) {
      trace.graph = first;
      gather_and_release(trace, {.key = 7});
      trace.graph = second;
      gather_and_release(trace, {.key = 7, .freed = false});
      gather_and_release(trace, {.key = last_key});
      trace.step(1);
    };
  };
  rank(0, train_graphs(139'677'695'452'912, 139'677'695'000'000, 1));
  rank(1, train_graphs(140'000'000'000'000, 140'000'000'000'064, 1));
  RankComparison result = compare();
  EXPECT_EQ(result.graphs_by_order, (std::vector<std::int64_t>{0, 1}));
  EXPECT_FALSE(result.differs());
  EXPECT_EQ(result.graphs[0], (std::vector<std::int64_t>{139'677'695'452'912, 139'677'695'000'000}));
  EXPECT_EQ(result.graphs[1], (std::vector<std::int64_t>{140'000'000'000'000, 140'000'000'000'064}));
  EXPECT_EQ(result.ranks[1].parameters.at({1, 7}).residual, 1);

  facts.pop_back();
  rank(1, train_graphs(140'000'000'000'000, 140'000'000'000'064, 2));
  result = compare();
  ASSERT_TRUE(result.order);
  EXPECT_EQ(result.order->branches[0].key, (Key{1, 1}));
  EXPECT_EQ(result.order->branches[1].key, (Key{1, 2}));
}

/// A mark of the program's own has graph 0 on all ranks: that says nothing of graphs whose numbers are addresses.
TEST_F(RankComparisonTest, AGraphInCommonBesideAddressesIsNoDivergence) {
  const auto train_marked = [](std::int64_t address, std::int64_t last_key) {
    return [=](TestTrace& trace) {
      trace.graph = address;
      gather_and_release(trace, {.key = 7});
      trace.graph = 0;
      gather_and_release(trace, {.key = 3});
      trace.graph = address + 64;
      gather_and_release(trace, {.key = last_key});
      trace.step(1);
    };
  };
  rank(0, train_marked(139'677'695'452'912, 1));
  rank(1, train_marked(140'000'000'000'000, 1));
  RankComparison result = compare();
  EXPECT_FALSE(result.differs());
  EXPECT_EQ(result.graphs_by_order, (std::vector<std::int64_t>{1, 2})) << "0 is the number of a graph in common";
  EXPECT_EQ(result.graphs[1], (std::vector<std::int64_t>{140'000'000'000'000, 140'000'000'000'064}));
  EXPECT_EQ(result.ranks[0].parameters.count({0, 3}), 1u);

  facts.pop_back();
  rank(1, train_marked(140'000'000'000'000, 2));
  result = compare();
  ASSERT_TRUE(result.order);
  EXPECT_EQ(result.order->position, 2u);
  EXPECT_EQ(result.order->branches[0].key, (Key{2, 1}));
  EXPECT_EQ(result.order->branches[1].key, (Key{2, 2}));
}

/// One graph is gathered from on rank 0 only: small numbers mean the same on all ranks that have one in common.
TEST_F(RankComparisonTest, AGraphThatOnlyOneRankGathersFromKeepsItsNumber) {
  for (std::int64_t number : {0, 1}) {
    rank(number, [=](TestTrace& trace) {
      gather_and_release(trace, {.key = 7});
      trace.graph = number + 1;
      gather_and_release(trace, {.key = 7});
      trace.step(1);
    });
  }
  const RankComparison result = compare();
  EXPECT_TRUE(result.graphs_by_order.empty());
  ASSERT_TRUE(result.order);
  EXPECT_EQ(result.order->branches[1].key, (Key{2, 7}));
}

TEST_F(RankComparisonTest, AFindingThatOneRankHas) {
  for (const std::int64_t number : {0, 1, 2}) {
    rank(
        number,
        [=](TestTrace& trace) {
          gather_and_release(trace, {.key = 7, .freed = number != 1});
          trace.step(1);
        },
        3);
  }
  const RankComparison result = compare();
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].title, "release keeps storage");
  EXPECT_EQ(result.findings[0].place, "user/model.py:107 forward");
  ASSERT_EQ(result.findings[0].with.size(), 1u);
  EXPECT_EQ(result.findings[0].with[0].ranks, Ranks{1});
  EXPECT_EQ(result.findings[0].with[0].bytes, Bytes(1000));
  EXPECT_EQ(result.findings[0].without, (Ranks{0, 2}));
  EXPECT_TRUE(result.differs());
}

/// Another parameter is the first one to stay on each rank, so the lines differ.
TEST_F(RankComparisonTest, OneDefectIsOneFindingWhateverReleaseShowsItFirst) {
  for (const std::int64_t number : {0, 1}) {
    rank(number, [=](TestTrace& trace) {
      for (const std::int64_t key : {7, 8, 9}) {
        gather_and_release(trace, {.key = key, .freed = key == 8 - number});
      }
      trace.step(1);
    });
  }
  EXPECT_TRUE(compare().findings.empty());
  EXPECT_EQ(compare().residual.size(), 2u) << "the parameters do differ";
}

/// Both ranks keep what they release, in different functions.
TEST_F(RankComparisonTest, TwoDefectsOfOneKindAreTwoFindings) {
  for (const std::int64_t number : {0, 1}) {
    rank(number, [=](TestTrace& trace) {
      trace.stack = {{"/home/user/model.py", number == 0 ? "forward" : "evaluate", 100}};
      const Handle weight = trace.allocate(1000);
      trace.gather(7, weight);
      trace.release(7, weight);
      trace.op("aten::mm");
      trace.step(1);
    });
  }
  const RankComparison result = compare();
  ASSERT_EQ(result.findings.size(), 2u);
  EXPECT_EQ(result.findings[0].place, "user/model.py:100 evaluate");
  EXPECT_EQ(result.findings[0].with[0].ranks, Ranks{1});
  EXPECT_EQ(result.findings[0].without, Ranks{0});
  EXPECT_EQ(result.findings[1].place, "user/model.py:100 forward");
  EXPECT_EQ(result.findings[1].without, Ranks{1});
}

/// Gathers of a compiled graph and of ZeRO-3's own functions, whose keys are the ranks' own in common.
TEST_F(RankComparisonTest, MechanismsAreInCommonAndSayNothingOfGraphs) {
  const auto train_mixed = [](std::int64_t graph, std::int64_t eager_key) {
    return [=](TestTrace& trace) {
      trace.parameters = {{-1, eager_key, "", "ZeRO-3"}};
      trace.graph = graph;
      gather_and_release(trace, {.key = 7});
      trace.graph = -1;
      gather_and_release(trace, {.key = eager_key});
      trace.step(1);
    };
  };
  rank(0, train_mixed(139'677'695'452'912, 3));
  rank(1, train_mixed(140'000'000'000'000, 3));
  RankComparison result = compare();
  EXPECT_FALSE(result.differs());
  EXPECT_EQ(result.graphs_by_order, std::vector<std::int64_t>{0});
  EXPECT_EQ(result.graphs[1], (std::vector<std::int64_t>{140'000'000'000'000}));
  EXPECT_EQ(result.ranks[1].parameters.count({-1, 3}), 1u);
  EXPECT_EQ(result.mechanisms, (std::map<std::int64_t, std::string>{{-1, "ZeRO-3"}}));

  facts.pop_back();
  rank(1, train_mixed(140'000'000'000'000, 4));
  result = compare();
  ASSERT_TRUE(result.order);
  EXPECT_EQ(result.order->before, (Key{0, 7}));
  EXPECT_EQ(result.order->branches[0].key, (Key{-1, 3}));
  EXPECT_EQ(result.order->branches[1].key, (Key{-1, 4}));
}

/// Ranks number the parameters of FSDP2 as they gather them: equal numbers are not equal parameters.
TEST_F(RankComparisonTest, NamedParametersAreComparedByName) {
  const auto train_named = [](const std::vector<std::string>& names) {
    return [=](TestTrace& trace) {
      trace.graph = -2;
      for (const std::string& name : names) {
        const auto key = static_cast<std::int64_t>(trace.parameters.size());
        trace.parameters.push_back({-2, key, name, "FSDP2"});
        gather_and_release(trace, {.key = key});
      }
      trace.step(1);
    };
  };
  rank(0, train_named({"a.weight", "b.weight", "c.weight"}));
  rank(1, train_named({"a.weight", "c.weight", "b.weight"}));
  RankComparison result = compare();
  ASSERT_TRUE(result.order);
  EXPECT_EQ(result.order->position, 1u);
  EXPECT_EQ(result.order->branches[0].key, (Key{-2, 1}));
  EXPECT_EQ(result.order->branches[1].key, (Key{-2, 2}));
  EXPECT_EQ(result.names.at({-2, 2}), "c.weight");
  EXPECT_TRUE(result.parameters.empty());

  facts.pop_back();
  rank(1, train_named({"d.weight", "a.weight"}));  // a number that rank 0 gives to another name
  result = compare();
  EXPECT_EQ(result.names.size(), 4u);
  EXPECT_EQ(result.names.at({-2, 3}), "d.weight");
  EXPECT_EQ(result.order->branches[1].key, (Key{-2, 3}));
}

TEST_F(RankComparisonTest, ANameThatNeedsANumberOfItsOwnHasOneBesideTheLargestNumber) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const auto train_named = [](const std::string& name) {
    return [=](TestTrace& trace) {
      trace.graph = -2;
      trace.parameters.push_back({-2, kLargest, name, "FSDP2"});
      gather_and_release(trace, {.key = 7});
      trace.step(1);
    };
  };
  rank(0, train_named("a.weight"));
  rank(1, train_named("b.weight"));
  const RankComparison result = compare();
  EXPECT_EQ(result.names.at({-2, kLargest}), "a.weight");
  EXPECT_EQ(result.names.at({-2, 0}), "b.weight");
}

TEST_F(RankComparisonTest, ParametersAreComparedInBytesUsesAndPersistence) {
  const auto train_with = [](const Use& first, bool persistent) {
    return [=](TestTrace& trace) {
      train(1, {0, 1})(trace);
      gather_and_release(trace, first);
      if (persistent) trace.persist(1);
      gather_and_release(trace, {.key = 1});
      trace.step(2);
    };
  };
  rank(0, train_with({.key = 0, .bytes = 2000, .uses = 2}, false), 3);
  rank(1, train_with({.key = 0, .bytes = 2000, .uses = 1}, true), 3);
  rank(2, train_with({.key = 0, .bytes = 2000, .uses = 2}, false), 3);
  const RankComparison result = compare();
  EXPECT_FALSE(result.order);
  ASSERT_EQ(result.parameters.size(), 2u);
  const ParameterDifference& uses = result.parameters[0];
  EXPECT_EQ(uses.key, (Key{0, 0}));
  EXPECT_EQ(uses.step, 2) << "in step 1 they agree";
  ASSERT_EQ(uses.sides.size(), 2u);
  EXPECT_EQ(uses.sides[0].ranks, (Ranks{0, 2}));
  EXPECT_EQ(uses.sides[0].declared, 2);
  EXPECT_EQ(uses.sides[0].bytes, Bytes(2000));
  EXPECT_EQ(uses.sides[1].ranks, (Ranks{1}));
  EXPECT_EQ(uses.sides[1].declared, 1);
  const ParameterDifference& persistent = result.parameters[1];
  EXPECT_EQ(persistent.key, (Key{0, 1}));
  EXPECT_EQ(persistent.sides[0].persistent, false);
  EXPECT_EQ(persistent.sides[1].persistent, true);
}

TEST_F(RankComparisonTest, ADifferentPaddingDiffersInBytes) {
  rank(0, [](TestTrace& trace) { gather_and_release(trace, {.key = 4, .bytes = 1024}); });
  rank(1, [](TestTrace& trace) { gather_and_release(trace, {.key = 4, .bytes = 1040}); });
  const RankComparison result = compare();
  ASSERT_EQ(result.parameters.size(), 1u);
  EXPECT_EQ(result.parameters[0].sides[0].bytes, Bytes(1024));
  EXPECT_EQ(result.parameters[0].sides[1].bytes, Bytes(1040));
}

TEST_F(RankComparisonTest, AReleaseThatIsYetToComeIsNoDifference) {
  rank(0, [](TestTrace& trace) { gather_and_release(trace, {.key = 4}); });
  rank(1, [](TestTrace& trace) { gather_only(trace, 4); });
  EXPECT_TRUE(compare().parameters.empty());
}

TEST_F(RankComparisonTest, ResidualSetsAreNamedWithWhatBecameOfThemElsewhere) {
  rank(
      0,
      [](TestTrace& trace) {
        gather_and_release(trace, {.key = 0, .bytes = 3000, .freed = false});
        gather_and_release(trace, {.key = 1, .freed = false});
        gather_and_release(trace, {.key = 2, .freed = false});
        trace.step(1);
      },
      4);
  rank(
      1,
      [](TestTrace& trace) {
        gather_and_release(trace, {.key = 0});
        gather_and_release(trace, {.key = 1, .freed = false});
        gather_only(trace, 2);
        trace.step(1);
      },
      4);
  rank(
      3,
      [](TestTrace& trace) {
        gather_and_release(trace, {.key = 0, .bytes = 3000, .freed = false});
        gather_and_release(trace, {.key = 1, .freed = false});
        trace.step(1);
      },
      4);
  const RankComparison result = compare();
  EXPECT_EQ(result.missing, (Ranks{2}));
  EXPECT_EQ(result.ranks[0].residual_keys(), 3);
  EXPECT_EQ(result.ranks[0].residual_bytes(), Bytes(5000));
  ASSERT_EQ(result.residual.size(), 2u) << "id 1 is residual everywhere";
  const ResidualDifference& zero = result.residual[0];
  EXPECT_EQ(zero.key, (Key{0, 0}));
  ASSERT_EQ(zero.sides.size(), 2u);
  EXPECT_EQ(zero.sides[0].fate, Fate::kResidual);
  EXPECT_EQ(zero.sides[0].ranks, (Ranks{0, 3}));
  EXPECT_EQ(zero.sides[0].bytes, Bytes(3000));
  EXPECT_EQ(zero.sides[1].fate, Fate::kFreed);
  EXPECT_EQ(zero.sides[1].ranks, (Ranks{1}));
  const ResidualDifference& two = result.residual[1];
  ASSERT_EQ(two.sides.size(), 3u);
  EXPECT_EQ(two.sides[1].fate, Fate::kNotReleased);
  EXPECT_EQ(two.sides[2].fate, Fate::kNotGathered);
}

TEST_F(RankComparisonTest, OnlyStepsWhoseRowsBothRanksKeptAreComparedAndSumsOfTheWholeRunAre) {
  const auto with_window = [](bool window_in_two, std::int64_t residual) {
    return [=](TestTrace& trace) {
      gather_and_release(trace, {.key = 0});
      trace.step(1);
      trace.kept_interval(1, Kept::kAll);
      if (window_in_two) {
        gather_and_release(trace, {.key = 5});
        trace.step(2);
        trace.kept_interval(2, Kept::kPeak);
      } else {
        trace.sums_only_interval(2, 4, 0, 1000, 0);
      }
      gather_and_release(trace, {.key = 0});
      trace.step(3);
      trace.kept_interval(3, Kept::kLast);
      trace.key_sums.push_back({0, 0, 3, 3, 3, residual, residual * 1000, 0, 0});
    };
  };
  rank(0, with_window(true, 0), 3);
  rank(1, with_window(false, 1), 3);
  RankComparison result = compare();
  EXPECT_EQ(result.steps, (std::vector<std::int64_t>{1, 3}));
  EXPECT_FALSE(result.order) << "what rank 0 gathered in step 2 is compared with nothing";
  EXPECT_TRUE(result.lacking.empty());
  ASSERT_EQ(result.residual.size(), 1u);
  EXPECT_EQ(result.residual[0].sides[0].ranks, (Ranks{1}));
  EXPECT_EQ(result.residual[0].sides[0].bytes, Bytes(1000));
  EXPECT_EQ(result.ranks[1].gathers(), 3);

  rank(2, with_window(true, 1), 3);
  result = compare();
  EXPECT_EQ(result.steps, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(result.lacking, (Ranks{1}));
  EXPECT_FALSE(result.order);
}

TEST_F(RankComparisonTest, TracesThatAreNotOfOneRunAreRefused) {
  rank(-1, train(1, {0}));
  expect_not_comparable("no trace of a rank");
  rank(0, train(1, {0}));
  EXPECT_EQ(compare().left_out.size(), 1u);
  rank(0, [](TestTrace&) {});  // a child that inherited RANK and trained nothing
  EXPECT_EQ(compare().left_out.size(), 2u);
  EXPECT_EQ(compare().ranks[0].steps_ended, 1);
  facts.pop_back();
  rank(0, train(1, {0}));
  expect_not_comparable("two traces of rank 0");
  facts.pop_back();
  rank(1, train(1, {0}), 8);
  expect_not_comparable("of 2 and of 8 ranks");
}

}  // namespace
}  // namespace dcmt::analyzer

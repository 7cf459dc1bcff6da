#include "analyzer/growth/growing_sites.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/testing/test_trace.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;
using Handle = TestTrace::Handle;

constexpr std::int64_t kLine = 21;  ///< of what may grow

void at_line(TestTrace& trace, std::int64_t line) { trace.stack = {{"train.py", "main", line}}; }

/// The turns of a loop without steps. Each makes two storages and drops them; `turn` is what it does besides.
void loop(TestTrace& trace, int turns, const std::function<void(int)>& turn, std::int64_t line = 1) {
  for (int i = 0; i < turns; ++i) {
    at_line(trace, line);
    const Handle input = trace.allocate(700), output = trace.allocate(300);
    at_line(trace, kLine);
    turn(i);
    trace.drop(input);
    trace.drop(output);
  }
}

std::optional<OutlivingSite> growing(TestTrace& trace, TraceData& data) {
  data = trace.load();
  const auto sites = growing_sites(data).sites;
  for (const auto& [stack, site] : sites) {
    if (data.frames.find(data.stacks.find(stack)->frame)->line == kLine) return site;
  }
  EXPECT_TRUE(sites.empty());
  return std::nullopt;
}

TEST(GrowingSites, AListGrowsInALoopWithoutSteps) {
  TestTrace trace;
  loop(trace, 12, [&](int) { trace.allocate(100); });
  TraceData data;
  const auto site = growing(trace, data);
  ASSERT_TRUE(site);
  EXPECT_EQ(site->living.size(), 12u);
  EXPECT_EQ(site->rounds->kind(), RoundKind::kCall);
}

/// The values of some programs are all small but those that they keep. Without any, nothing separates a loop from the
/// making of a data set.
TEST(GrowingSites, SmallBlocksThatEndAreWork) {
  for (const bool works : {true, false}) {
    TestTrace trace;
    std::string sums;
    Handle sum = trace.allocate(200);
    const auto change_to = [&](std::int64_t bytes) {
      trace.drop(sum);
      at_line(trace, 1);
      sum = trace.allocate(bytes);
      sums += (sums.empty() ? "" : ", ") + std::to_string(trace.storage_id(sum).value);
    };
    for (int i = 0; i < 12; ++i) {
      if (works) change_to(200 + 64);
      at_line(trace, kLine);
      trace.allocate(100);
      if (works) change_to(200);
    }
    const TraceData data = trace.load(
        "INSERT INTO string(id, text) SELECT max(id) + 1, 'under 64 KiB, not followed' FROM string;"
        "UPDATE block SET owner = (SELECT max(id) FROM string) WHERE storage IN (" +
        sums +
        ");"
        "DELETE FROM storage WHERE id IN (" +
        sums + ")");
    EXPECT_EQ(growing_sites(data).sites.size(), works ? 1u : 0u);
  }
}

/// Small storages have rows once their size grows, here after most of the growth. So much more ends then.
TEST(GrowingSites, LaterRowsOfSmallStoragesDoNotMakeGrowthUneven) {
  for (const bool goes_on : {true, false}) {
    TestTrace trace;
    for (int i = 0; i < 60; ++i) {
      at_line(trace, 1);
      for (int small = 0; small < (i < 40 ? 1 : 50); ++small) trace.drop(trace.allocate(100));
      at_line(trace, kLine);
      if (i < 40 || goes_on) trace.allocate(kFollowedBytes);
    }
    TraceData data;
    EXPECT_EQ(growing(trace, data).has_value(), goes_on);
  }
}

TEST(GrowingSites, GrowthBeginsLateSkipsTurnsAndNeedsFiveBirths) {
  for (const auto& [every, from, grows] : {std::tuple(1, 8, true), std::tuple(2, 2, true), std::tuple(3, 0, false)}) {
    TestTrace trace;
    loop(trace, 12, [&, every = every, from = from](int i) {
      if (i >= from + (every == 1 ? -1 : 0) && i % every == 0) trace.allocate(100);
    });
    TraceData data;
    EXPECT_EQ(growing(trace, data).has_value(), grows) << every << ' ' << from;
  }
}

TEST(GrowingSites, FewOfManyGrowIfMoreAndMoreAreAliveAtOnce) {
  // Every eighth, or as many at random, as the ancestors of a population; and a sample of those that came by, in which
  // a new one takes the place of one of them.
  enum class Keeps { kRegularly, kAtRandom, kASample };
  for (const Keeps keeps : {Keeps::kRegularly, Keeps::kAtRandom, Keeps::kASample}) {
    TestTrace trace;
    std::vector<Handle> sample;
    loop(trace, 96, [&](int i) {
      const Handle made = trace.allocate(100);
      const int random = i * i % 97;
      if (keeps == Keeps::kASample && i >= 12 && random < 12)
        std::swap(sample[static_cast<std::size_t>(random)], sample.back());
      if (keeps == Keeps::kASample && i >= 12) {
        if (random >= 12) return trace.drop(made);
        trace.drop(sample.back());
        sample.back() = made;
        return;
      }
      if (keeps == Keeps::kASample) return sample.push_back(made);
      if ((keeps == Keeps::kRegularly ? i : random) % 8 != 0) trace.drop(made);
    });
    TraceData data;
    EXPECT_EQ(growing(trace, data).has_value(), keeps != Keeps::kASample);
  }
}

/// One line makes the gradients and values of two inner steps for each of four weights; a table keeps the last values.
TEST(GrowingSites, FewOfManyGrowIfTheyComeInGroups) {
  TestTrace trace;
  loop(trace, 20, [&](int) {
    for (int i = 0; i < 16; ++i) {
      const Handle made = trace.allocate(100);
      if (i < 8 || i % 2 == 0) trace.drop(made);
    }
  });
  TraceData data;
  EXPECT_TRUE(growing(trace, data));
}

TEST(GrowingSites, ValuesThatTheNextOnesReplaceGrowIfSomethingKeepsThem) {
  // `net = Net()` makes the next one before it drops the one before.
  TestTrace trace;
  std::vector<Handle> net;
  loop(trace, 12, [&](int i) {
    std::vector<Handle> next = {trace.allocate(100), trace.allocate(100)};
    for (const Handle each : net) {
      if (i < 3) trace.drop(each);
    }
    net = next;
  });
  TraceData data;
  EXPECT_TRUE(growing(trace, data));
}

TEST(GrowingSites, FourInACycleGrowIfTheCollectorIsOff) {
  for (const bool is_off : {true, false}) {
    TestTrace trace;
    loop(trace, 12, [&](int i) {
      if (i % 3 != 0) return;
      trace.held(trace.allocate(100),
                 {.path = is_off ? "cycle A.x → A (Python's collector is off)" : "cycle A.x → A", .otherwise = true});
    });
    TraceData data;
    EXPECT_EQ(growing(trace, data).has_value(), is_off);
  }
}

TEST(GrowingSites, ACompilersWorkInTheFirstTurnsIsNoWorkOfTheLoop) {
  // A list that each step appends to, and a cache that is full after three of twenty steps.
  for (const int kept : {20, 3}) {
    TestTrace trace;
    for (int i = 0; i < 20; ++i) {
      at_line(trace, 1);
      const Handle input = trace.allocate(700);
      at_line(trace, kLine);
      for (int k = 0; i < kept && k < 2; ++k) trace.allocate(100);
      at_line(trace, 2);
      for (int k = 0; i < 2 && k < 500; ++k) trace.drop(trace.allocate(50));
      trace.drop(input);
      trace.step(i);
    }
    TraceData data;
    EXPECT_EQ(growing(trace, data).has_value(), kept == 20);
  }
}

TEST(GrowingSites, WhatIsBoundedDoesNotGrow) {
  const auto bounded = [](std::size_t most, int turns) {
    TestTrace trace;
    std::deque<Handle> kept;
    loop(trace, turns, [&](int) {
      kept.push_back(trace.allocate(100));
      if (kept.size() <= most) return;
      trace.drop(kept.front());
      kept.pop_front();
    });
    TraceData data;
    return !growing(trace, data);
  };
  EXPECT_TRUE(bounded(1, 12)) << "a variable";
  EXPECT_TRUE(bounded(3, 20)) << "a ring";
  EXPECT_TRUE(bounded(10, 13)) << "a replay buffer that has just begun to drop";
}

TEST(GrowingSites, ACacheThatIsFullDoesNotGrowThoughTheProgramGoesOn) {
  TestTrace trace;
  loop(trace, 40, [&](int i) {
    if (i < 10) trace.allocate(100);
  });
  TraceData data;
  EXPECT_FALSE(growing(trace, data));
}

TEST(GrowingSites, ADataSetThatIsMadeAtTheStartDoesNotGrow) {
  TestTrace trace;
  loop(
      trace, 10, [&](int) { trace.allocate(100); }, 5);
  int step = 0;
  loop(trace, 30, [&](int) { trace.step(step++); });
  TraceData data;
  EXPECT_FALSE(growing(trace, data));
}

TEST(GrowingSites, FeaturesForAHeadThatMakesSmallStoragesOnlyDoNotGrow) {
  TestTrace trace;
  loop(
      trace, 10, [&](int) { trace.allocate(100); }, 5);
  for (int step = 0; step < 30; ++step) trace.step(step);
  TraceData data;
  EXPECT_FALSE(growing(trace, data));
}

TEST(GrowingSites, APhaseThatHasEndedGrewIfItHadSteps) {
  TestTrace trace;
  int step = 0;
  loop(
      trace, 12,
      [&](int) {
        trace.allocate(100);
        trace.step(step++);
      },
      5);
  loop(trace, 30, [](int) {});
  TraceData data;
  const auto site = growing(trace, data);
  ASSERT_TRUE(site);
  EXPECT_EQ(site->living.size(), 12u);
  EXPECT_EQ(site->rounds->kind(), RoundKind::kStep);
}

/// Two threads train alike; the one that keeps something is done earlier. A thread that only fills a cache is no loop.
TEST(GrowingSites, WhatAThreadsTrainingKeptGrewThoughAnotherGoesOn) {
  for (const bool trains : {true, false}) {
    TestTrace trace;
    int step = 0;
    loop(trace, 40, [&](int turn) {
      trace.step(step++);
      if (turn >= 20) return;
      trace.thread = 2;
      at_line(trace, 1);
      const Handle input = trace.allocate(700), output = trace.allocate(300);
      at_line(trace, kLine);
      trace.allocate(100);
      if (trains) trace.step(step++);
      trace.drop(input);
      trace.drop(output);
      trace.thread = 1;
    });
    TraceData data;
    EXPECT_EQ(growing(trace, data).has_value(), trains);
  }
}

TEST(GrowingSites, AValueThatALargerOneReplacesGrows) {
  TestTrace trace;
  std::optional<Handle> rows;
  loop(trace, 12, [&](int i) {
    const Handle more = trace.allocate(100);
    const Handle larger = trace.allocate(100 * (i + 2));
    trace.drop(more);
    if (rows) trace.drop(*rows);
    rows = larger;
  });
  TraceData data;
  const auto site = growing(trace, data);
  ASSERT_TRUE(site);
  EXPECT_EQ(site->living.size(), 1u);
  EXPECT_GE(site->living.front().replaced.size(), 10u);
}

TEST(GrowingSites, AValueThatEachRequestFillsAgainDoesNotGrow) {
  for (const int requests : {1, 3}) {
    TestTrace trace;
    for (int request = 0; request < requests; ++request) {
      std::optional<Handle> keys;
      loop(trace, 12, [&](int i) {
        const Handle larger = trace.allocate(100 * (i + 2));
        if (keys) trace.drop(*keys);
        keys = larger;
      });
      if (request + 1 < requests) trace.drop(*keys);
    }
    TraceData data;
    EXPECT_EQ(growing(trace, data).has_value(), requests == 1);
  }
}

TEST(GrowingSites, AValueThatTwoWaysThroughTheProgramAppendToGrows) {
  // Training and, in each third turn, evaluation. A library's line is no such value: it makes each caller's.
  for (const bool in_library : {false, true}) {
    TestTrace trace;
    const std::string file = in_library ? "/usr/lib/python3.11/site-packages/torch/functional.py" : "train.py";
    std::optional<Handle> rows;
    int appended = 0;
    const auto append = [&](std::int64_t from) {
      trace.stack = {{file, "append", kLine}, {"train.py", "main", from}};
      const Handle larger = trace.allocate(100 * (++appended + 1));
      if (rows) trace.drop(*rows);
      rows = larger;
    };
    loop(trace, 12, [&](int i) {
      append(5);
      for (int k = 0; i % 3 == 2 && k < 2; ++k) append(6);
    });
    TraceData data;
    const auto site = growing(trace, data);
    ASSERT_EQ(site.has_value(), !in_library);
    if (site) {
      EXPECT_EQ(site->living.front().replaced.size(), 19u);
    }
  }
}

TEST(GrowingSites, ALineThatReplacesOneForEachLayerGrows) {
  for (const bool grow : {true, false}) {
    TestTrace trace;
    std::vector<Handle> layers;
    loop(trace, 12, [&](int i) {
      for (std::size_t layer = 0; layer < 3; ++layer) {
        const Handle larger = trace.allocate(grow ? 100 * (i + 2) : 100 * (1 + i % 3));
        if (i > 0) trace.drop(std::exchange(layers[layer], larger));
        if (i == 0) layers.push_back(larger);
      }
    });
    TraceData data;
    const auto site = growing(trace, data);
    ASSERT_EQ(site.has_value(), grow);
    if (!grow) continue;
    EXPECT_EQ(site->living.size(), 3u);
    for (const Living& living : site->living) {
      EXPECT_EQ(living.replaced.size(), 11u);
      for (const Storage* each : living.replaced) EXPECT_LT(each->bytes, living.bytes);
    }
  }
}

TEST(GrowingSites, AValueOfLargerAndLargerBatchesDoesNotGrow) {
  for (const bool larger_batches : {false, true}) {
    TestTrace trace;
    std::optional<Handle> scores;
    for (int i = 0; i < 12; ++i) {
      at_line(trace, 1);
      const Handle batch = trace.allocate(larger_batches ? 50 * (i + 4) : 700);
      at_line(trace, 2);
      const Handle output = trace.allocate(larger_batches ? 60 * (i + 4) : 300);
      at_line(trace, kLine);
      const Handle next = trace.allocate(100 * (i + 2));
      for (const Handle each : {batch, output}) trace.drop(each);
      if (scores) trace.drop(*scores);
      scores = next;
    }
    TraceData data;
    EXPECT_EQ(growing(trace, data).has_value(), !larger_batches);
  }
}

TEST(GrowingSites, AConversionOfWhatWasThereDoesNotGrow) {
  for (const bool converts : {false, true}) {
    TestTrace trace;
    at_line(trace, 1);
    std::vector<Handle> before(20);
    for (Handle& each : before) each = trace.allocate(200);
    for (const Handle each : before) {
      at_line(trace, kLine);
      trace.allocate(100);
      at_line(trace, 2);
      trace.drop(trace.allocate(10));
      if (converts) trace.drop(each);
    }
    TraceData data;
    EXPECT_EQ(growing(trace, data).has_value(), !converts);
  }
}

TEST(GrowingSites, AnAverageIsReplacedAndDoesNotGrow) {
  TestTrace trace;
  std::optional<Handle> average;
  loop(trace, 12, [&](int) {
    const Handle next = trace.allocate(100);
    if (average) trace.drop(*average);
    average = next;
  });
  TraceData data;
  EXPECT_FALSE(growing(trace, data));
}

}  // namespace
}  // namespace dcmt::analyzer

#include "analyzer/storages/phase_lives.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/storages/holder_names.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;
using Handle = TestTrace::Handle;

constexpr std::int64_t kWeights = 5000, kSaved = 300, kTransient = 200, kBatch = 100;

/// A reading finds the weights. What is made after it is made at one place.
void load_weights(TestTrace& trace) {
  trace.stack = {{"train.py", "load", 3}};
  trace.held(trace.allocate(kWeights), {.path = "main: model.w", .otherwise = true, .role = "parameter"});
  trace.stack = {{"train.py", "train", 7}};
}

/// Training of so many steps. Each makes, at one place, a batch before its phases that the next step replaces,
/// something in the forward that ends in the backward, and something that the backward makes and drops. A reading finds
/// the weights only.
TraceData training(int steps, bool one_outlives_its_backward = false) {
  TestTrace trace;
  load_weights(trace);
  std::optional<Handle> batch;
  for (int i = 0; i < steps; ++i) {
    const Handle next = trace.allocate(kBatch);
    if (batch) trace.drop(*batch);
    batch = next;
    std::optional<Handle> saved;
    trace.phase("forward", [&] { saved = trace.allocate(kSaved); });
    trace.phase("backward", [&] {
      trace.drop(trace.allocate(kTransient));
      if (i > 0 || !one_outlives_its_backward) trace.drop(*saved);
    });
    if (i == 0 && one_outlives_its_backward) trace.drop(*saved);
    trace.step(i);
  }
  return trace.load();
}

std::string category_of(const TraceData& data, std::int64_t bytes) {
  for (const Storage& storage : data.storages) {
    if (storage.bytes == Bytes(bytes)) return HolderNames(data).category_of(storage.id);
  }
  return "no storage";
}

TEST(PhaseLives, WhatEndsInTheBackwardIsSavedForItAndWhatThatDropsIsTemporary) {
  const TraceData data = training(4);
  EXPECT_EQ(category_of(data, kWeights), "parameter");
  EXPECT_EQ(category_of(data, kSaved), "saved for backward");
  EXPECT_EQ(category_of(data, kTransient), "temporary");
  EXPECT_EQ(category_of(data, kBatch), "replaced each step");
}

/// As in a program whose places are not known: what is kept has the place and size of what is not.
TEST(PhaseLives, WhatIsKeptIsNotTemporaryAsOthersOfItsPlaceAre) {
  TestTrace trace;
  load_weights(trace);
  for (int i = 0; i < 6; ++i) {
    trace.phase("forward", [&] {
      trace.allocate(kSaved);
      trace.drop(trace.allocate(kSaved));
    });
    trace.step(i);
  }
  const TraceData data = trace.load();
  std::vector<std::string> categories;
  for (const Storage& storage : data.storages) categories.push_back(HolderNames(data).category_of(storage.id));
  ASSERT_EQ(categories.size(), 13u);
  EXPECT_EQ(categories[1], "not attributed");
  EXPECT_EQ(categories[2], "temporary");
}

/// As in a compiled backward: its code has in variables what the graph saved, and the graph has dropped it.
TEST(PhaseLives, WhatAReadingFoundInVariablesOfTheBackwardOnlyWasSavedForIt) {
  const auto category = [](const char* read_in, bool in_list) {
    TestTrace trace;
    load_weights(trace);
    for (int i = 0; i < 4; ++i) {
      std::optional<Handle> saved;
      const auto read = [&] {
        trace.begin_reading();
        testing::HeldOf held{.path = "Runner.call: buf1", .otherwise = true};
        if (in_list) held = {.containers = {"backward: all_args"}};
        trace.held(*saved, held);
      };
      trace.phase("forward", [&] { saved = trace.allocate(kSaved); });
      if (read_in == std::string_view("between")) read();
      trace.phase("backward", [&] {
        if (read_in == std::string_view("backward")) read();
        trace.drop(*saved);
      });
      trace.step(i);
    }
    return category_of(trace.load(), kSaved);
  };
  for (const bool in_list : {false, true}) {
    EXPECT_EQ(category("backward", in_list), "saved for backward") << in_list;
    EXPECT_EQ(category("between", in_list), "variable") << "the program's variable: its loop runs then";
  }
}

TEST(PhaseLives, OneThatLivesOtherwiseLeavesAllOfThemOpen) {
  EXPECT_EQ(category_of(training(4, true), kSaved), "not attributed");
}

/// Training whose backward makes so many of the size of the weights, which the next step drops; before them, at the
/// same place, so many that the backward drops itself.
TraceData with_gradients(int each_step, std::int64_t bytes = kWeights, int dropped = 0) {
  TestTrace trace;
  load_weights(trace);
  std::vector<Handle> gradients;
  for (int i = 0; i < 5; ++i) {
    for (const Handle gradient : gradients) trace.drop(gradient);
    gradients.clear();
    trace.phase("backward", [&] {
      for (int k = 0; k < dropped; ++k) trace.drop(trace.allocate(bytes));
      for (int k = 0; k < each_step; ++k) gradients.push_back(trace.allocate(bytes));
    });
    trace.step(i);
  }
  return trace.load();
}

/// Training whose optimizer's step calls forward and backward: each makes, before the backward, something that ends in
/// it, and in it a gradient that the next step drops; both of the size of no other. `kept`: the first of them outlives
/// the backward.
TraceData by_closures(bool kept = false) {
  TestTrace trace;
  load_weights(trace);
  std::optional<Handle> gradient;
  for (int i = 0; i < 5; ++i) {
    trace.phase("optimizer", [&] {
      const Handle saved = trace.allocate(kSaved);
      if (gradient) trace.drop(*gradient);
      trace.phase("backward", [&] {
        if (i != 0 || !kept) trace.drop(saved);
        gradient = trace.allocate(kWeights);
      });
      if (i == 0 && kept) trace.drop(saved);
    });
    trace.step(i);
  }
  return trace.load();
}

/// Of the one that was made last.
std::string last_category_of(const TraceData& data, std::int64_t bytes) {
  std::string category;
  for (const Storage& storage : data.storages) {
    if (storage.bytes == Bytes(bytes)) category = HolderNames(data).category_of(storage.id);
  }
  return category;
}

TEST(PhaseLives, WhatABackwardMakesForEachParameterAndTheNextStepDropsIsAGradient) {
  EXPECT_EQ(last_category_of(with_gradients(1), kWeights), "gradient");
}

TEST(PhaseLives, ABackwardThatAnOptimizersStepCallsIsOneToo) {
  const TraceData data = by_closures();
  EXPECT_EQ(last_category_of(data, kSaved), "saved for backward");
  EXPECT_EQ(last_category_of(data, kWeights), "gradient");
  EXPECT_EQ(last_category_of(by_closures(true), kSaved), "not attributed");
}

/// Training whose optimizer makes something in its step that the next step's backward drops, or the same step's.
std::string of_optimizers_own(bool backward_inside) {
  TestTrace trace;
  load_weights(trace);
  std::optional<Handle> made;
  for (int i = 0; i < 5; ++i) {
    trace.phase("optimizer", [&] { made = trace.allocate(kSaved); });
    const auto backward = [&] { trace.phase("backward", [&] { trace.drop(*made); }); };
    if (backward_inside) {
      trace.phase("optimizer", backward);
    } else {
      backward();
    }
    trace.step(i);
  }
  return category_of(trace.load(), kSaved);
}

TEST(PhaseLives, WhatAnotherStepOfAnOptimizerMadeIsNotSavedForTheBackward) {
  EXPECT_EQ(of_optimizers_own(false), "not attributed");
  EXPECT_EQ(of_optimizers_own(true), "not attributed");
}

TEST(PhaseLives, AGradientAmongOthersOfItsSizeIsFoundByItsTurn) {
  EXPECT_EQ(last_category_of(with_gradients(1, kWeights, 1), kWeights), "gradient");
  EXPECT_EQ(last_category_of(with_gradients(2, kWeights, 1), kWeights), "not attributed")
      << "there is one parameter of that size";
}

TEST(PhaseLives, MoreOfThemThanParametersAreSomethingElseToo) {
  EXPECT_EQ(last_category_of(with_gradients(2), kWeights), "not attributed");
}

TEST(PhaseLives, ASizeThatNoParameterHasIsNoGradients) {
  EXPECT_EQ(last_category_of(with_gradients(1, 300), 300), "not attributed");
}

/// Training whose batches all differ in size: at one place each forward makes one that its backward drops, and one that
/// the next forward drops. Returns the categories of both of the third step.
std::vector<std::string> of_batches(bool saved_outlives_once) {
  TestTrace trace;
  load_weights(trace);
  std::optional<Handle> kept;
  for (int i = 0; i < 5; ++i) {
    std::optional<Handle> saved;
    trace.phase("forward", [&] {
      saved = trace.allocate(1000 + i);
      const Handle next = trace.allocate(2000 + i);
      if (kept) trace.drop(*kept);
      kept = next;
    });
    const bool outlives = saved_outlives_once && i == 4;
    trace.phase("backward", [&] {
      if (!outlives) trace.drop(*saved);
    });
    if (outlives) trace.drop(*saved);
    trace.step(i);
  }
  const TraceData data = trace.load();
  return {category_of(data, 1002), category_of(data, 2002)};
}

TEST(PhaseLives, WhereSizesDifferThoseOfTheSameTurnInAStepSayIt) {
  EXPECT_EQ(of_batches(false), (std::vector<std::string>{"saved for backward", "replaced each step"}));
  EXPECT_EQ(of_batches(true), (std::vector<std::string>{"not attributed", "replaced each step"}));
}

/// Training that keeps what so many of its latest steps made, or all.
std::string of_kept(std::size_t latest, bool drops_first = false) {
  TestTrace trace;
  load_weights(trace);
  std::vector<Handle> kept;
  for (int i = 0; i < 9; ++i) {
    if (drops_first && !kept.empty()) {
      trace.drop(kept.front());
      kept.clear();
    }
    kept.push_back(trace.allocate(kBatch));
    if (kept.size() > latest) {
      trace.drop(kept.front());
      kept.erase(kept.begin());
    }
    trace.step(i);
  }
  for (const Handle each : kept) trace.drop(each);
  return category_of(trace.load(), kBatch);
}

TEST(PhaseLives, WhatTheNextStepsOwnReplacesIsSo) {
  EXPECT_EQ(of_kept(1), "replaced each step");
  EXPECT_EQ(of_kept(2), "not attributed") << "two of them are kept";
  EXPECT_EQ(of_kept(9), "not attributed") << "all of them are kept to the end";
  EXPECT_EQ(of_kept(9, true), "not attributed") << "it is dropped before the next is made";
}

/// Training by batches, of which some were received early; two readings find one each, and disagree on what it is for.
TraceData by_workers() {
  TestTrace trace;
  load_weights(trace);
  const std::vector<std::vector<int>> received = {{0}, {2, 1}, {}, {3}, {4}, {5}, {6}, {7}};
  std::vector<Handle> batches(received.size());
  for (std::size_t i = 0; i < received.size(); ++i) {
    for (const int batch : received[i]) batches[static_cast<std::size_t>(batch)] = trace.allocate(kBatch);
    if (i > 0) trace.drop(batches[i - 1]);
    trace.step(static_cast<std::int64_t>(i));
  }
  trace.held(batches[3], {.path = "main: batch", .otherwise = true});
  trace.held(batches[5], {.path = "main: batch", .otherwise = true, .role = "saved for backward"});
  return trace.load();
}

TEST(PhaseLives, WhereReadingsDisagreeBatchesThatWaitedForTheirTurnAreReplacedEachStep) {
  const TraceData data = by_workers();
  std::vector<std::string> categories;
  for (const Storage& storage : data.storages) {
    if (storage.bytes == Bytes(kBatch)) categories.push_back(HolderNames(data).category_of(storage.id));
  }
  const std::string replaced = "replaced each step";
  EXPECT_EQ(categories, (std::vector<std::string>{replaced, replaced, replaced, "variable", replaced,
                                                  "saved for backward", replaced, replaced}));
}

TEST(PhaseLives, TwoStepsAreTooFew) { EXPECT_EQ(category_of(training(2), kSaved), "not attributed"); }

TEST(PhaseLives, ATemporaryNeedsNoOthers) { EXPECT_EQ(category_of(training(1), kTransient), "temporary"); }

}  // namespace
}  // namespace dcmt::analyzer

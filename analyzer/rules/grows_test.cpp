#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/testing/source_program.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::HeldOf;
using testing::TestTrace;
using Handle = TestTrace::Handle;

const HeldOf kSeen{.containers = {"main: probe.seen"}, .path = "main: probe.seen[0]"};

void at(TestTrace& trace, std::int64_t line) {
  trace.stack = {{"train.py", "forward", line}, {"train.py", "main", 32}};
}

/// A program of so many steps; `step` is what it does in each besides a matrix that it makes and drops.
TestTrace& program(TestTrace& trace, int steps, const std::function<void(int)>& step) {
  at(trace, 1);
  trace.allocate(5000);  // a parameter
  for (int i = 0; i < steps; ++i) {
    at(trace, 2);
    const Handle matrix = trace.allocate(700);
    step(i);
    trace.drop(matrix);
    trace.step(i);
  }
  return trace;
}

std::vector<Finding> findings_of(const TraceData& data) { return analyze(data).findings; }

TEST(Grows, AListThatEachStepAddsToIsNamedWithWhatItCosts) {
  TestTrace trace;
  std::vector<Handle> kept;
  program(trace, 10, [&](int) {
    at(trace, 21);
    kept.push_back(trace.allocate(100));
    if (kept.size() < 8) trace.held(kept.back(), kSeen);
  });
  at(trace, 99);
  for (const Handle each : kept) trace.drop(each);  // the program ends
  const TraceData data = trace.load();
  const std::vector<Finding> findings = findings_of(data);
  ASSERT_EQ(findings.size(), 1u);
  const Finding& finding = findings.front();
  ASSERT_TRUE(finding.growth);
  EXPECT_EQ(finding.growth->holder, "main: probe.seen");
  EXPECT_EQ(finding.growth->type, "list");
  EXPECT_EQ(finding.growth->place, "train.py:37");
  EXPECT_EQ(finding.growth->storages.size(), 10u);
  EXPECT_EQ(finding.growth->seen, 7);
  EXPECT_EQ(finding.growth->rounds, 10);
  EXPECT_EQ(finding.growth->per_round, Bytes(100));
  EXPECT_EQ(finding.growth->alone, Bytes(1000));
  EXPECT_EQ(finding.bytes, Bytes(1000));
  EXPECT_EQ(finding.confidence, Confidence::kPartial) << "three were made after the scan";
  EXPECT_EQ(finding.identity.holder, "main: probe.seen");
  // In the last step: a parameter, the matrix, ten kept, of which nine are of steps that have ended.
  EXPECT_EQ(finding.dead_at_peak, Bytes(900));
  EXPECT_EQ(finding.predicted_peak, Bytes(5000 + 700 + 100));
}

TEST(Grows, WhatALaterReadingDidNotFindThereIsNotHeldThere) {
  // In each turn `model` has other parameters. Something else keeps them.
  for (const bool keeps : {false, true}) {
    TestTrace trace;
    std::vector<Handle> kept;
    program(trace, 10, [&](int) {
      at(trace, 21);
      kept.push_back(trace.allocate(100));
      trace.begin_reading();
      for (const Handle each : kept) {
        if (keeps || each == kept.back()) trace.held(each, {.containers = {"main: model"}, .path = "main: model.w"});
      }
    });
    const std::vector<Finding> findings = findings_of(trace.load());
    EXPECT_EQ(!findings.empty() && findings.front().growth->holder == "main: model", keeps);
  }
}

TEST(Grows, TwoReadingsOfOneStateAreOne) {
  // Of variables, and of everything: the second has the latest word on one of the storages.
  for (const bool same : {true, false}) {
    TestTrace trace;
    std::vector<Handle> kept;
    program(trace, 10, [&](int) {
      at(trace, 21);
      kept.push_back(trace.allocate(100));
    });
    trace.begin_reading();
    for (const Handle each : kept) {
      if (each != kept.back()) trace.held(each, kSeen);
    }
    at(trace, 3);
    if (!same) trace.drop(trace.allocate(10));
    trace.begin_reading();
    trace.held(kept.back(), kSeen);
    EXPECT_EQ(findings_of(trace.load()).size(), same ? 1u : 0u);
  }
}

TEST(Grows, ListsOfSeveralObjectsAreOneCauseAlsoThroughTheVariableOfALoop) {
  for (const bool loop_variable : {false, true}) {
    TestTrace trace;
    std::vector<Handle> kept[3];
    program(trace, 12, [&](int turn) {
      at(trace, 21);
      for (auto& each : kept) each.push_back(trace.allocate(100));
      trace.begin_reading();
      for (std::size_t i = 0; i < 3; ++i) {
        const bool is_current = loop_variable && static_cast<int>(i) == turn % 3;
        const std::string list = is_current ? "main: layer.maps" : "main: layers[" + std::to_string(i) + "].maps";
        for (const Handle each : kept[i]) trace.held(each, {.containers = {list}, .path = list + "[0]"});
      }
    });
    const std::vector<Finding> findings = findings_of(trace.load());
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings.front().growth->holder, "main: layers[*].maps");
    EXPECT_EQ(findings.front().growth->type, "list");
    EXPECT_EQ(findings.front().bytes, Bytes(3600));
  }
}

TEST(Grows, SiblingsMayDifferInSeveralSubscripts) {
  // Each turn has other keys, as those of hooks that are registered anew.
  TestTrace trace;
  std::vector<Handle> kept[2];
  program(trace, 12, [&](int turn) {
    at(trace, 21);
    for (auto& each : kept) each.push_back(trace.allocate(100));
    trace.begin_reading();
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string key = std::to_string(2 * turn + static_cast<int>(i));
      const std::string list = "main: net['a'].layers[" + std::to_string(i) + "].hooks[" + key + "].masks";
      for (const Handle each : kept[i]) trace.held(each, {.containers = {list}, .path = list + "[0]"});
    }
  });
  const std::vector<Finding> findings = findings_of(trace.load());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].growth->holder, "main: net['a'].layers[*].hooks[*].masks");
  EXPECT_EQ(findings[0].growth->type, "list");
  EXPECT_EQ(findings[0].bytes, Bytes(2400));
}

TEST(Grows, AContainerThatHadFewOfManyDoesNotHoldTheOthers) {
  // A reading beside the running program: what it found in the list may have been anywhere.
  for (const std::size_t found : {2u, 10u}) {
    TestTrace trace;
    std::vector<Handle> kept;
    program(trace, 60, [&](int turn) {
      at(trace, 21);
      kept.push_back(trace.allocate(100));
      if (turn != 50) return;
      trace.begin_reading();
      for (std::size_t i = 0; i < found; ++i)
        trace.held(kept[4 * i], {.containers = {"main: rows"}, .path = "main: rows[" + std::to_string(i) + "]"});
    });
    const std::vector<Finding> findings = findings_of(trace.load());
    ASSERT_EQ(findings.size(), found == 2 ? 0u : 1u);
    if (found == 10) {
      EXPECT_EQ(findings[0].growth->holder, "main: rows");
      EXPECT_EQ(findings[0].bytes, Bytes(6000));
    }
  }
}

TEST(Grows, WhatLeadsToManySiblingsAtOnceHasThemAll) {
  // Trials in a list, each with a state of its own: two readings find the states of some, the last one finds the list.
  TestTrace trace;
  std::vector<Handle> kept;
  program(trace, 12, [&](int turn) {
    at(trace, 21);
    kept.push_back(trace.allocate(100));
    kept.push_back(trace.allocate(100));
    trace.begin_reading();
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const std::string trial = "main: trials[" + std::to_string(i / 2) + "].state";
      const std::string list = turn < 6 ? trial : "main: trials";
      trace.held(kept[i], {.containers = {list}, .path = trial + "[0]"});
    }
  });
  const std::vector<Finding> findings = findings_of(trace.load());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].growth->holder, "main: trials");
  EXPECT_EQ(findings[0].growth->type, "list");
  EXPECT_EQ(findings[0].bytes, Bytes(2400));
}

TEST(Grows, BlocksOfOneObjectOfCAreOneContainer) {
  // What an itertools.tee holds is in blocks of 57, each of which leads to the next.
  TestTrace trace;
  std::vector<Handle> kept;
  program(trace, 12, [&](int) {
    at(trace, 21);
    kept.push_back(trace.allocate(100));
    trace.begin_reading();
    std::string block = "main: stream.preview (ahead)";
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (i > 0 && i % 3 == 0) block += " (next)";
      trace.held(kept[i], {.containers = {block}, .path = block + "[0]", .type = "_tee_dataobject"});
    }
  });
  const std::vector<Finding> findings = findings_of(trace.load());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].growth->holder, "main: stream.preview");
  EXPECT_EQ(findings[0].growth->type, std::nullopt) << "it is not the block's";
  EXPECT_EQ(findings[0].bytes, Bytes(1200));
}

TEST(Grows, WhatHangsOnAnEntryOfAContainerGoesWithIt) {
  // Of a sparse tensor, the readings find the way to its parts only by C++ memory: no container has them.
  for (const bool elsewhere : {false, true}) {
    TestTrace trace;
    std::vector<Handle> kept, parts;
    program(trace, 12, [&](int) {
      at(trace, 21);
      kept.push_back(trace.allocate(100));
      at(trace, 22);
      parts.push_back(trace.allocate(50));
      trace.begin_reading();
      for (std::size_t i = 0; i < kept.size(); ++i) {
        const std::string entry = "main: spans[" + std::to_string(i) + "]";
        trace.held(kept[i], {.containers = {"main: spans"}, .path = entry + ".x"});
        trace.held(parts[i], {.path = (elsewhere ? "main: rows" + entry.substr(11) : entry) + ".a → C++ memory",
                              .otherwise = true});
      }
    });
    const std::vector<Finding> findings = findings_of(trace.load());
    ASSERT_GE(findings.size(), 1u);
    EXPECT_EQ(findings[0].growth->holder, "main: spans");
    EXPECT_EQ(findings[0].bytes, Bytes(elsewhere ? 1200 : 1800));
    EXPECT_EQ(findings[0].growth->alone, findings[0].bytes);
  }
}

TEST(Grows, AnAttributeHasOneValue) {
  TestTrace trace;
  program(trace, 10, [&](int) {
    at(trace, 21);
    const Handle made = trace.allocate(100);
    trace.begin_reading();
    trace.held(made, {.path = "main: state.last", .otherwise = true});
  });
  EXPECT_TRUE(findings_of(trace.load()).empty()) << "something else keeps the others";
}

TEST(Grows, AVariableOfAnUnknownTypeThatHadSeveralAtOnceHoldsMany) {
  // A static map of C++ without debug information: no reading has a container.
  TestTrace trace;
  std::vector<Handle> kept;
  program(trace, 12, [&](int step) {
    at(trace, 21);
    kept.push_back(trace.allocate(100));
    if (step != 7) return;
    trace.begin_reading();
    for (const Handle each : kept) trace.held(each, {.path = "libcache.so: cache"});
  });
  const std::vector<Finding> findings = findings_of(trace.load());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].growth->holder, "libcache.so: cache");
  EXPECT_EQ(findings[0].bytes, Bytes(1200));
  EXPECT_EQ(findings[0].growth->seen, 8);
}

TEST(Grows, StoragesOfTwoPlacesAreInTheOrderOfTheirBirths) {
  TestTrace trace;
  program(trace, 10, [&](int) {
    for (const std::int64_t line : {21, 22}) {
      at(trace, line);
      trace.held(trace.allocate(100), kSeen);
    }
  });
  const TraceData data = trace.load();
  const std::vector<Finding> findings = findings_of(data);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].growth->sites.size(), 2u);
  EXPECT_TRUE(std::ranges::is_sorted(findings[0].growth->storages, {}, &GrowingStorage::storage));
}

TEST(Grows, WithoutAHolderItIsARemark) {
  TestTrace trace;
  program(trace, 10, [&](int) {
    at(trace, 21);
    trace.allocate(100);
  });
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  EXPECT_TRUE(analysis.findings.empty());
  ASSERT_EQ(analysis.remarks.size(), 1u);
  EXPECT_EQ(analysis.remarks.front().kind, RemarkKind::kGrows);
  EXPECT_EQ(analysis.remarks.front().count, 10);
  EXPECT_EQ(analysis.remarks.front().bytes, Bytes(1000));
  EXPECT_EQ(analysis.remarks.front().per_step, Bytes(100));
  EXPECT_EQ(analysis.remarks.front().seen, 0) << "nobody read the memory";
}

TEST(Grows, WhatTheFirstReadingAtTheEndFoundInACycleIsNotHeldOutsideOfPython) {
  for (const bool is_found : {true, false}) {
    TestTrace trace;
    std::vector<TestTrace::Handle> kept;
    program(trace, 10, [&](int) {
      at(trace, 21);
      kept.push_back(trace.allocate(100));
    });
    trace.begin_reading();
    for (const TestTrace::Handle each : kept) {
      trace.held(each, {.path = is_found ? "cycle R.me → R (Python's collector can free it)" : "", .otherwise = true});
    }
    trace.begin_reading();
    TraceData data = trace.load();
    for (Scan& each : data.owners.scans) each.everything = each.ended = true;
    const Analysis analysis = analyze(data);
    ASSERT_EQ(analysis.remarks.size(), 1u);
    EXPECT_EQ(analysis.remarks.front().searched, is_found ? 0 : 10);
  }
}

TEST(Grows, OnlyACycleThatPythonsCollectorCannotSeeIsALeak) {
  const auto found = [](const std::string& path) {
    TestTrace trace;
    program(trace, 10, [&](int) {
      at(trace, 21);
      trace.held(trace.allocate(100), {.path = path, .otherwise = true});
    });
    const TraceData data = trace.load();
    std::vector<std::string> holders;
    for (const Finding& finding : findings_of(data)) holders.push_back(finding.growth->holder);
    return holders;
  };
  EXPECT_EQ(found("cycle R.me → R (Python's collector can free it); it keeps R.out"), std::vector<std::string>());
  EXPECT_EQ(found("cycle Kept.x → SigmoidBackward0._saved_result → Kept (through autograd nodes, which Python's "
                  "collector cannot see)"),
            (std::vector<std::string>{"cycle Kept.x → SigmoidBackward0._saved_result → Kept"}));
}

TEST(Grows, TheVariableThatHasWhatWasMadeLastDoesNotGrow) {
  TestTrace trace;
  program(trace, 10, [&](int step) {
    at(trace, 21);
    trace.held(trace.allocate(100), step < 9 ? kSeen : HeldOf{.path = "main: x", .otherwise = true});
  });
  const TraceData data = trace.load();
  const std::vector<Finding> findings = findings_of(data);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().growth->holder, "main: probe.seen");
  EXPECT_EQ(findings.front().bytes, Bytes(900));
}

/// Every third round makes a value that a list and the variable `v` have. The reading came before the list got the
/// latest.
TEST(Grows, WhatAVariableHadWhenItWasReadIsHeldLikeTheOthers) {
  TestTrace trace;
  program(trace, 13, [&](int step) {
    if (step % 3 != 0) return;
    for (int i = 0; i < 2; ++i) {
      at(trace, 21);
      const Handle kept = trace.allocate(1000);
      if (step < 9) trace.held(kept, {.containers = {"main: losses"}, .path = "main: losses[0]"});
      if (step == 9) trace.held(kept, {.containers = {"main: v"}, .path = "main: v", .type = "graph"});
    }
  });
  const TraceData data = trace.load();
  const std::vector<Finding> findings = findings_of(data);
  ASSERT_EQ(findings.size(), 1u);
  const Finding& finding = findings.front();
  EXPECT_EQ(finding.growth->holder, "main: losses");
  EXPECT_EQ(finding.bytes, Bytes(10 * 1000)) << "those of step 9, too: `v` has had another value since";
  EXPECT_EQ(finding.growth->seen, 6) << "no reading found those of steps 9 and 12 there";
  EXPECT_EQ(finding.growth->alone, Bytes(8 * 1000)) << "`v` has those of step 12";
  // The peak is in step 12. No reading between two rounds says that `v` has the values of step 9 until then.
  EXPECT_EQ(finding.dead_at_peak, Bytes(8000));
  EXPECT_EQ(finding.predicted_peak, Bytes(5000 + 700 + 2000));
}

/// Each reading found another value of `x`, and nothing said who holds the earlier ones.
TEST(Grows, AVariableThatWasReadWithManyValuesHoldsTheLastOne) {
  TestTrace trace;
  program(trace, 10, [&](int) {
    at(trace, 21);
    const Handle made = trace.allocate(100);
    trace.begin_reading();
    trace.held(made, {.path = "main: x", .otherwise = true});
  });
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  EXPECT_TRUE(analysis.findings.empty());
  ASSERT_EQ(analysis.remarks.size(), 1u);
  EXPECT_EQ(analysis.remarks.front().kind, RemarkKind::kGrows);
}

/// A function's list keeps what ten steps make; it is in a cycle when the function has returned. Readings found the
/// last so many of the first eight in it; the last one found only the cycle.
std::optional<Finding> of_returned_function(std::size_t found) {
  TestTrace trace;
  std::vector<Handle> made;
  program(trace, 10, [&](int step) {
    at(trace, 21);
    made.push_back(trace.allocate(100));
    if (step != 7) return;
    trace.begin_reading();
    for (std::size_t i = made.size() - found; i < made.size(); ++i) {
      trace.held(made[i], {.containers = {"fit: errors"}, .path = "fit: errors[0].value"});
    }
  });
  trace.begin_reading();
  for (const Handle each : made) {
    trace.held(each, {.path = "cycle E.frame → frame: errors → list[0] → E (Python's collector can free it)",
                      .otherwise = true});
  }
  const TraceData data = trace.load();
  std::vector<Finding> findings = findings_of(data);
  EXPECT_LE(findings.size(), 1u);
  return findings.empty() ? std::nullopt : std::optional(std::move(findings.front()));
}

TEST(Grows, AListWhoseFunctionHasReturnedHeldWhatWaitsForTheCollector) {
  const std::optional<Finding> finding = of_returned_function(8);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->growth->holder, "fit: errors");
  EXPECT_EQ(finding->bytes, Bytes(1000)) << "those of the last two steps, too";
  EXPECT_EQ(finding->growth->seen, 8);
  EXPECT_EQ(finding->predicted_peak, Bytes(5000 + 700 + 100));
}

TEST(Grows, AListThatHadAFewOfThemDidNotHoldWhatWaitsForTheCollector) {
  EXPECT_FALSE(of_returned_function(3)) << "fewer than are called growth";
  EXPECT_TRUE(of_returned_function(4));
}

/// As a graph of nodes whose links a reading did not follow. `found`: by step, how many a reading found.
std::vector<Finding> of_returned_graph(const std::map<int, std::size_t>& found) {
  TestTrace trace;
  std::vector<Handle> made;
  program(trace, 12, [&](int step) {
    at(trace, 21);
    made.push_back(trace.allocate(100));
    const auto here = found.find(step);
    if (here == found.end()) return;
    trace.begin_reading();
    for (std::size_t i = made.size() - here->second; i < made.size(); ++i)
      trace.held(made[i], {.containers = {"fit: nodes"}, .path = "fit: nodes[0].links[0].value"});
  });
  trace.begin_reading();
  for (const Handle each : made)
    trace.held(each, {.path = "cycle Node.links → list[0] → Node (Python's collector can free it)", .otherwise = true});
  const TraceData data = trace.load();
  return findings_of(data);
}

TEST(Grows, AReadingThatMissesWhatLaterOnesFindAgainDoesNotSayThatItHasGone) {
  const std::vector<Finding> again = of_returned_graph({{6, 7}, {7, 1}, {8, 9}, {9, 1}});
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].growth->holder, "fit: nodes");
  EXPECT_TRUE(of_returned_graph({{6, 7}, {8, 9}, {9, 1}}).empty()) << "it may have been cleared";
}

TEST(Grows, AChainOfObjectsIsOneHolder) {
  TestTrace trace;
  std::vector<Handle> made;
  program(trace, 10, [&](int) {
    at(trace, 21);
    made.push_back(trace.allocate(100));
  });
  trace.begin_reading();
  std::string links;
  for (auto each = made.rbegin(); each != made.rend(); ++each, links += ".before") {
    trace.held(*each, {.path = "main: head" + links + ".value", .otherwise = true});
  }
  const TraceData data = trace.load();
  const std::vector<Finding> findings = findings_of(data);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].growth->holder, "main: head.before….value");
  EXPECT_EQ(findings[0].bytes, Bytes(1000));
  EXPECT_EQ(findings[0].growth->seen, 10);
  EXPECT_EQ(findings[0].growth->alone, Bytes(1000)) << "only `head` leads to them";
}

/// One list after the other: the first one has stopped to grow.
TEST(Grows, TheRoundsOfAListThatStoppedAreThoseInWhichItGrew) {
  TestTrace trace;
  program(trace, 20, [&](int step) {
    at(trace, 21);
    const std::string list = step < 10 ? "main: first" : "main: second";
    trace.held(trace.allocate(100), {.containers = {list}, .path = list + "[0]", .type = "list"});
  });
  const TraceData data = trace.load();
  const std::vector<Finding> findings = findings_of(data);
  ASSERT_EQ(findings.size(), 2u);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.growth->rounds, 10) << finding.growth->holder;
    EXPECT_EQ(finding.growth->per_round, Bytes(100)) << finding.growth->holder;
  }
}

/// Memory runs out in the last step.
TEST(Grows, WhatIsKeptIsTheCauseOfAnErrorWhoseRequestFitsWithoutIt) {
  for (const bool fits : {true, false}) {
    TestTrace trace;
    program(trace, 10, [&](int step) {
      at(trace, 21);
      trace.held(trace.allocate(100), kSeen);
      if (step == 9) trace.op("aten::empty", [&] { trace.out_of_memory({.requested = fits ? 500 : 5000}); });
    });
    const TraceData data = trace.load();
    const std::vector<Finding> findings = findings_of(data);
    ASSERT_EQ(findings.size(), 2u);
    ASSERT_EQ(findings[0].rule, "out_of_memory");
    EXPECT_EQ(findings[0].why.find("(finding 2)") != std::string::npos, fits) << findings[0].why;
  }
}

/// `rows = torch.cat([rows, x])`, or `rows[i] = …`: the program ended before its last value was read.
TEST(Grows, AValueThatLargerOnesReplaceIsWhereTheOnesBeforeWere) {
  for (const bool is_entry : {false, true}) {
    TestTrace trace;
    std::optional<Handle> rows;
    program(trace, 10, [&](int step) {
      at(trace, 21);
      const Handle larger = trace.allocate(100 * (step + 1));
      if (rows) trace.drop(*rows);
      rows = larger;
      if (step == 9) return;
      trace.begin_reading();
      // A function that worked with it had the latest one when it was read.
      if (is_entry) trace.held(larger, {.containers = {"main: rows"}, .path = "main: rows[0]", .otherwise = step == 8});
      if (!is_entry) trace.held(larger, {.path = "main: rows", .otherwise = true});
    });
    const TraceData data = trace.load();
    const std::vector<Finding> findings = findings_of(data);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].growth->holder, "main: rows");
    EXPECT_EQ(findings[0].growth->seen, 0);
    EXPECT_EQ(findings[0].growth->per_round, Bytes(100)) << "without the 100 bytes it began with";
    EXPECT_EQ(findings[0].predicted_peak, Bytes(5000 + 700)) << is_entry;
  }
}

/// `self.usage = torch.cat([self.usage, x])` in a part of a module. Other parts have storages, too, so that the
/// readings say that the module's parts hold it.
TEST(Grows, TheOnlyGrowingValueInAContainerIsNamedByItsAttribute) {
  for (const bool is_alone : {false, true}) {
    TestTrace trace;
    std::optional<Handle> values[2];
    program(trace, 10, [&](int step) {
      for (int part = 0; part < (is_alone ? 1 : 2); ++part) {
        at(trace, 21 + part);
        const Handle larger = trace.allocate(100 * (step + 1));
        if (values[part]) trace.drop(*values[part]);
        values[part] = larger;
        const std::string path = part == 0 ? "main: net.counts.usage" : "main: net.codes.seen";
        trace.held(larger, {.containers = {"main: net._modules"}, .path = path});
      }
    });
    const TraceData data = trace.load();
    const std::vector<Finding> findings = findings_of(data);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].growth->holder, is_alone ? "main: net.counts.usage" : "main: net._modules");
  }
}

/// The sums of small blocks of a program.
class Sums {
 public:
  void become(TestTrace& trace, std::int64_t bytes) {
    at(trace, 50);
    const Handle before = sum_;
    if (!ids_.empty()) trace.drop(before);
    sum_ = trace.allocate(bytes);
    ids_ += (ids_.empty() ? "" : ", ") + std::to_string(trace.storage_id(sum_).value);
  }
  [[nodiscard]] std::string changes() const {
    return "INSERT INTO string(id, text) SELECT max(id) + 1, 'under 64 KiB, not followed' FROM string; "
           "UPDATE block SET owner = (SELECT max(id) FROM string) WHERE storage IN (" +
           ids_ + ")";
  }

 private:
  Handle sum_ = 0;
  std::string ids_;
};

/// Each tensor of a list drags others along, which are too small to be followed. Sums have 300 bytes besides.
TEST(Grows, WhatIsTooSmallForRowsGoesWithWhatHoldsIt) {
  for (const std::int64_t small : {50, 500'000}) {  // also if there is more of it than of what has rows
    TestTrace trace;
    Sums sums;
    sums.become(trace, 300);
    program(trace, 10, [&](int step) {
      at(trace, 21);
      const Handle kept = trace.allocate(100000);
      sums.become(trace, 300 + small * (step + 1));
      if (step < 5) trace.held(kept, {.containers = {"main: losses"}, .path = "main: losses[0]", .small = 10 * small});
    });
    const TraceData data = trace.load(sums.changes());
    const std::vector<Finding> findings = findings_of(data);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].predicted_peak, Bytes(5000 + 700 + 300 + 100000 + small)) << "the last step's are in use";
    EXPECT_EQ(findings[0].dead_at_peak, Bytes(900000 + 9 * small));
  }
}

/// Two readings found entries of one list that are containers of their own, the later one with more in them.
TEST(Grows, WhatSiblingsHaveInSmallStoragesIsWhatTheLatestReadingFound) {
  TestTrace trace;
  Sums sums;
  sums.become(trace, 300);
  program(trace, 12, [&](int step) {
    at(trace, 21);
    const Handle kept = trace.allocate(100000);
    sums.become(trace, 300 + 50 * (step + 1));
    const std::string name = "main: rows[" + std::to_string(step % 2) + "].maps";
    trace.held(kept, {.containers = {name}, .path = name + "[0]", .small = 300});
  });
  const TraceData data = trace.load(sums.changes());
  const std::vector<Finding> findings = findings_of(data);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].growth->holder, "main: rows[*].maps");
  EXPECT_EQ(findings[0].predicted_peak, Bytes(5000 + 700 + 300 + 100000 + 50));
}

/// Sums of small blocks with 300 bytes of others, and 1,000 of each of the first six steps that a list keeps.
TEST(Grows, WhatWasMadeBeforeItsSizeWasTrackedIsKeptToo) {
  TestTrace trace;
  Sums sums;
  program(trace, 12, [&](int step) {
    if (step < 6) return sums.become(trace, 300 + 1000 * (step + 1));
    at(trace, 21);
    const Handle kept = trace.allocate(1000);
    if (step < 10) trace.held(kept, {.containers = {"main: losses"}, .path = "main: losses[0]", .small = 6000});
  });
  const TraceData data = trace.load(sums.changes());
  const std::vector<Finding> findings = findings_of(data);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].growth->holder, "main: losses");
  EXPECT_EQ(findings[0].predicted_peak, Bytes(5000 + 700 + 300 + 1000)) << "what the last step made is in use";
  EXPECT_EQ(findings[0].dead_at_peak, Bytes(6000 + 5000));
}

/// The same where no reading counts them. The sums rose by as much as the list would have added, and then no more.
TEST(Grows, WhatTheSumsHadOfASizeBeforeItWasTrackedIsOfItsHolder) {
  for (const int every : {1, 2}) {  // steps
    TestTrace trace;
    Sums sums;
    program(trace, 24, [&](int step) {
      if (step < 8) return sums.become(trace, 300 + 1000 * (step / every + 1));
      if (step % every != 0) return;
      at(trace, 21);
      trace.held(trace.allocate(1000), {.containers = {"main: losses"}, .path = "main: losses[0]"});
    });
    const TraceData data = trace.load(sums.changes());
    const std::vector<Finding> findings = findings_of(data);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].predicted_peak, Bytes(5000 + 700 + 300 + 1000 * every))
        << "the last one is in use; where only some steps make one, until the next is there";
  }
}

/// What the sums have more of in the first steps alone, as an optimizer's state, is something else's.
TEST(Grows, WhatTheSumsHaveFromTheBeginIsNotOfAHolder) {
  TestTrace trace;
  Sums sums;
  program(trace, 24, [&](int step) {
    if (step == 0) sums.become(trace, 90000);
    at(trace, 21);
    const Handle kept = trace.allocate(1000);
    trace.held(kept, {.containers = {"main: losses"}, .path = "main: losses[0]"});
  });
  const TraceData data = trace.load(sums.changes());
  const std::vector<Finding> findings = findings_of(data);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].predicted_peak, Bytes(5000 + 700 + 90000 + 1000));
}

/// Two lists, with one storage of each step in each.
std::vector<Finding> findings_of_two(std::string_view first, std::string_view second, int second_from) {
  TestTrace trace;
  program(trace, 12, [&](int step) {
    for (const std::string_view list : {first, second}) {
      if (list == second && (step < second_from || (second_from > 0 && step % 2 == 0))) continue;
      at(trace, list == first ? 21 : 22);
      const Handle kept = trace.allocate(list == first ? 100000 : 50000);
      trace.held(kept, {.containers = {std::string(list)}, .path = std::string(list) + "[0]"});
    }
  });
  static TraceData data = trace.load();  // findings refer to it
  data = trace.load();
  return findings_of(data);
}

TEST(Grows, PartsOfOneObjectThatGrowInTheSameRoundsAreOneFinding) {
  const std::vector<Finding> findings = findings_of_two("main: metric.scores", "main: metric.labels", 0);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].growth->holder, "main: metric.scores");
  EXPECT_EQ(findings[0].growth->also, std::vector<std::string>{"main: metric.labels"});
  EXPECT_EQ(findings[0].growth->storages.size(), 24u);
  EXPECT_EQ(findings[0].predicted_peak, Bytes(5000 + 700 + 150000));
}

TEST(Grows, PartsOfOneObjectThatGrowInOtherRoundsAreTwoFindings) {
  EXPECT_EQ(findings_of_two("main: metric.scores", "main: metric.labels", 1).size(), 2u);
  EXPECT_EQ(findings_of_two("main: scores", "main: labels", 0).size(), 2u) << "two variables are no parts of an object";
}

/// Every fourth turn uses what the list has.
TEST(Grows, WhatAStatementUsesStaysUntilItRunsAtMost) {
  testing::SourceProgram source;
  for (int turn = 0; turn < 16; ++turn) {
    source.trace.held(source.made_at(4), {.containers = {"main: rows"}, .path = "main: rows[0]"});
    if (turn % 4 == 3) source.dropped_at(6, source.made_at(6));
    source.dropped_at(7, source.made_at(7));
    source.trace.step(turn);
  }
  const Analysis analysis = analyze(source.load(
      "def main():\n  rows = []\n  for x in data:\n    rows.append(net(x))\n    if x:\n      torch.cat(rows)\n"
      "    other(x)\n"));
  ASSERT_EQ(analysis.findings.size(), 1u);
  EXPECT_EQ(analysis.findings[0].predicted_peak, Bytes(100)) << "the statement has made it";
  EXPECT_EQ(analysis.findings[0].predicted_if_used, Bytes(400 + 100));
}

/// The first entries are of another place, which does not grow.
TEST(Grows, WhatElseTheContainerAloneHasGoesWithIt) {
  for (const bool otherwise : {false, true}) {
    TestTrace trace;
    program(trace, 12, [&](int step) {
      at(trace, step < 2 ? 20 : 21);
      const Handle kept = trace.allocate(step < 2 ? 3000 : 100);
      trace.held(kept, {.containers = {"main: rows"}, .path = "main: rows[0]", .otherwise = otherwise && step < 2});
    });
    const TraceData data = trace.load();
    const std::vector<Finding> findings = findings_of(data);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].growth->storages.size(), 10u);
    EXPECT_EQ(findings[0].predicted_peak, Bytes(5000 + 700 + 100 + (otherwise ? 6000 : 3000 - 100)));
  }
}

/// Readings of variables found the latest one in an attribute, and one of everything the earlier ones in a list.
TEST(Grows, WhatAnAttributeHadIsInTheContainerOfTheOthers) {
  TestTrace trace;
  std::vector<Handle> kept;
  program(trace, 12, [&](int step) {
    at(trace, 21);
    kept.push_back(trace.allocate(100));
    if (step != 5 && step != 7 && step != 9) return;
    trace.begin_reading();
    if (step != 5) return trace.held(kept.back(), {.path = "main: session.value", .otherwise = true});
    for (const Handle each : kept) trace.held(each, kSeen);
  });
  const TraceData data = trace.load();
  const std::vector<Finding> findings = findings_of(data);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].growth->holder, "main: probe.seen");
  EXPECT_EQ(findings[0].growth->storages.size(), 12u);
}

TEST(Grows, WhatOnlyACycleHoldsGoesWithIt) {
  TestTrace trace;
  const HeldOf cycle{.path = "cycle Kept.x → N._saved_result → Kept (through autograd nodes)", .otherwise = true};
  program(trace, 10, [&](int) {
    at(trace, 21);
    trace.held(trace.allocate(100), cycle);
  });
  const TraceData data = trace.load();
  const std::vector<Finding> findings = findings_of(data);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().growth->alone, Bytes(1000));
  // At the peak, in the last step, nine are of steps that have ended.
  EXPECT_EQ(findings.front().predicted_peak, Bytes(5000 + 700 + 100));
}

/// Python's collector runs in the third and sixth steps, and never again.
TEST(Grows, WhatTheCollectorFreedBeforeWasInSuchCyclesToo) {
  TestTrace trace;
  const HeldOf cycle{.path = "cycle Kept.x → N._saved_result → Kept (through autograd nodes)", .otherwise = true};
  std::vector<TestTrace::Handle> garbage;
  program(trace, 20, [&](int step) {
    at(trace, 21);
    const auto made = trace.allocate(100);
    if (step >= 6) return trace.held(made, cycle);
    garbage.push_back(made);
    if (step % 3 != 2) return;
    for (const auto each : garbage) trace.drop(each);
    garbage.clear();
  });
  const TraceData data = trace.load();
  const std::vector<Finding> findings = findings_of(data);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().growth->storages.size(), 14u);
  EXPECT_EQ(findings.front().growth->beside.size(), 4u) << "two went in the steps that made them";
}

/// One reading found no root that leads to most of them, and a variable that still has the latest.
TEST(Grows, WhatMayBeInACycleIsNotHeldByAVariableThatHadOne) {
  TestTrace trace;
  const HeldOf cycle{
      .path = "cycle Kept.x → N._saved_result → Kept (through autograd nodes)", .otherwise = true, .confirmed = false};
  program(trace, 10, [&](int step) {
    at(trace, 21);
    trace.held(trace.allocate(100), step < 9 ? cycle : HeldOf{.path = "main: x", .otherwise = true});
  });
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  EXPECT_TRUE(analysis.findings.empty());
  ASSERT_EQ(analysis.remarks.size(), 1u);
  EXPECT_EQ(analysis.remarks.front().kind, RemarkKind::kGrows);
  EXPECT_EQ(analysis.remarks.front().bytes, Bytes(900));
}

TEST(Grows, EntriesThatOneLineFillsInTurnAreOneContainer) {
  // `states[i % 2].append(v)`, and `copies[i] = {…}`, whose entries grow no more.
  for (const int lists : {2, 10}) {
    TestTrace trace;
    std::vector<std::pair<Handle, std::string>> kept;
    program(trace, 10, [&](int i) {
      at(trace, 21);
      kept.emplace_back(trace.allocate(100), "main: states['" + std::to_string(i % lists) + "']");
      trace.begin_reading();
      for (const auto& [storage, in] : kept) trace.held(storage, {.containers = {in}, .path = in + "[0]"});
    });
    const std::vector<Finding> findings = findings_of(trace.load());
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].growth->holder, "main: states");
    EXPECT_EQ(findings[0].growth->storages.size(), 10u);
    EXPECT_EQ(findings[0].growth->alone, Bytes(1000));
    EXPECT_EQ(findings[0].confidence, Confidence::kCertain);
    EXPECT_EQ(findings[0].growth->type, std::nullopt);
    EXPECT_EQ(findings[0].fix, "remove what is not used any more, or keep a fixed number of entries; or keep numbers");
  }
}

TEST(Grows, WhatTwoListsShareGoesOnlyWithBoth) {
  TestTrace trace;
  program(trace, 12, [&](int step) {
    at(trace, 21);
    trace.held(trace.allocate(100), kSeen);
    if (step % 3 != 0) return;
    at(trace, 22);
    trace.held(trace.allocate(10), {.containers = {"main: losses"}, .path = "main: losses[0]"});
    at(trace, 23);
    trace.held(trace.allocate(1000), {.containers = {"main: losses", "main: probe.seen"}, .path = "main: losses[0]"});
  });
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 2u);
  const Finding& seen =
      analysis.findings[0].growth->holder == "main: probe.seen" ? analysis.findings[0] : analysis.findings[1];
  const Finding& losses = &seen == &analysis.findings[0] ? analysis.findings[1] : analysis.findings[0];
  EXPECT_EQ(seen.bytes, Bytes(12 * 100 + 4 * 1000));
  EXPECT_EQ(seen.growth->alone, Bytes(1200));
  EXPECT_EQ(losses.bytes, Bytes(4 * 1010));
  EXPECT_EQ(losses.growth->alone, Bytes(30)) << "no reading says that the program let go of the latest";
  EXPECT_EQ(seen.confidence, Confidence::kCertain);
  // The peak is in step 11: of step 9 and before all four of the shared and of the losses are kept.
  const Bytes peak = analysis.main().what_if.measured.bytes;
  EXPECT_EQ(peak, Bytes(5000 + 700 + 1200 + 4 * 1010));
  EXPECT_EQ(seen.predicted_peak, Bytes(5000 + 700 + 100 + 4 * 1010));
  EXPECT_EQ(losses.predicted_peak, Bytes(5000 + 700 + 1200 + 10 + 4 * 1000));
  ASSERT_EQ(analysis.main().shared.size(), 1u);
  EXPECT_EQ(analysis.main().shared.front().at_peak, Bytes(3000));
  // Without both it is where a step makes one of each.
  EXPECT_EQ(analysis.main().what_if.predicted.bytes, Bytes(5000 + 700 + 100 + 1010));
}

TEST(Grows, WhatSomethingElseHoldsTooIsNotSaidToGo) {
  TestTrace trace;
  program(trace, 10, [&](int) {
    at(trace, 21);
    trace.held(trace.allocate(100),
               {.containers = {"main: probe.seen"}, .path = "main: probe.seen[0]", .otherwise = true});
  });
  const TraceData data = trace.load();
  const std::vector<Finding> findings = findings_of(data);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().growth->alone, Bytes(0));
  EXPECT_FALSE(findings.front().predicted_peak);
}

TEST(Grows, AGraphThatOneVariableDragsAlongIsNamedByTheVariable) {
  TestTrace trace;
  program(trace, 10, [&](int) {
    at(trace, 21);
    trace.held(trace.allocate(100),
               {.path = "main: total.grad_fn AddBackward0 … 9 nodes → MulBackward0._saved_self", .otherwise = true});
  });
  const TraceData data = trace.load();
  const std::vector<Finding> findings = findings_of(data);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().growth->holder, "main: total.grad_fn");
  EXPECT_EQ(findings.front().growth->type, std::nullopt);
}

TEST(Grows, ARingThatIsFullACacheThatFillsAndWhatIsReplacedDoNot) {
  TestTrace trace;
  std::deque<Handle> ring;
  std::optional<Handle> average;
  std::vector<Handle> of_epoch;
  program(trace, 40, [&](int step) {
    at(trace, 21);
    ring.push_back(trace.allocate(100));
    if (ring.size() > 8) {
      trace.drop(ring.front());
      ring.pop_front();
    }
    at(trace, 22);
    if (step < 20) trace.allocate(100);  // a cache
    at(trace, 23);
    if (average) trace.drop(*average);
    average = trace.allocate(100);
    at(trace, 24);
    of_epoch.push_back(trace.allocate(100));
    if (step % 10 != 9) return;
    for (const Handle each : of_epoch) trace.drop(each);
    of_epoch.clear();
  });
  const TraceData data = trace.load();
  EXPECT_TRUE(findings_of(data).empty());
}

TEST(Grows, AFewStepsAndWhatAFewOfThemMadeProveNothing) {
  TestTrace few;
  program(few, 5, [&](int) { few.allocate(100); });
  const TraceData data = few.load();
  EXPECT_TRUE(findings_of(data).empty());
  TestTrace twice;
  program(twice, 30, [&](int step) {
    if (step == 10 || step == 28) twice.allocate(100);
  });
  const TraceData other = twice.load();
  EXPECT_TRUE(findings_of(other).empty());
}

TEST(Grows, ParametersThatAreGatheredAreForTheRulesOfReleases) {
  TestTrace trace;
  program(trace, 10,
          [&](int step) { trace.op("zero3::allgather_param", [&] { trace.gather(step, trace.allocate(100)); }); });
  const TraceData data = trace.load();
  for (const Finding& finding : findings_of(data)) EXPECT_NE(finding.rule, "grows");
}

TEST(Grows, EachStepsPeakIsPredictedWithoutIt) {
  TestTrace trace;
  program(trace, 10, [&](int) {
    at(trace, 21);
    trace.held(trace.allocate(100), kSeen);
  });
  const TraceData data = trace.load();
  const std::vector<StepPeak> steps = analyze(data).main().steps;
  ASSERT_EQ(steps.size(), 10u);
  for (std::int64_t step = 0; step < 10; ++step) {
    const StepPeak& peak = steps[static_cast<std::size_t>(step)];
    EXPECT_EQ(peak.peak, Bytes(5000 + 700 + 100 * (step + 1)));
    EXPECT_EQ(peak.predicted_peak, Bytes(5000 + 700 + 100)) << "what this step made is still in use";
  }
}

/// A parameter that is read after its release, in every step.
TEST(Grows, WhatIsReadAfterItsReleaseCouldGoAtThatReadBesidesWhatGrows) {
  TestTrace trace;
  program(trace, 10, [&](int) {
    at(trace, 21);
    trace.held(trace.allocate(100), kSeen);
    const Handle weight = trace.allocate(3000);
    trace.op("gather", [&] { trace.gather(0, weight); });
    const auto release = trace.release(0, weight);
    trace.op("aten::mm", [&] { trace.read(release, 0, weight, "aten::mm"); });
    trace.op("aten::add");
    trace.drop(trace.allocate(2000));
    trace.drop(weight);
  });
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  const WhatIf& what_if = analysis.main().what_if;
  EXPECT_EQ(what_if.measured.bytes, Bytes(5000 + 700 + 1000 + 3000 + 2000));
  EXPECT_EQ(what_if.predicted.bytes, Bytes(5000 + 700 + 100 + 3000 + 2000))
      << "it is read: that would break the program";
  EXPECT_EQ(what_if.predicted_last_use.bytes, Bytes(5000 + 700 + 100 + 3000)) << "gone before the 2,000 come";
}

TEST(Grows, WhatWasMadeAfterTheReadingIsHeldAsMostByAVariable) {
  TestTrace trace;
  program(trace, 10, [&](int step) {
    at(trace, 21);
    const Handle kept = trace.allocate(100);
    if (step < 7) trace.held(kept, {.path = "main: total.grad_fn AddBackward0 → x", .otherwise = true});
  });
  const TraceData data = trace.load();
  const std::vector<Finding> findings = findings_of(data);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].growth->holder, "main: total.grad_fn");
  EXPECT_EQ(findings[0].bytes, Bytes(1000));
  EXPECT_EQ(findings[0].growth->seen, 7);
}

TEST(Grows, TheFixIsThatOfWhatHoldsIt) {
  const auto fix = [](const HeldOf& of) {
    TestTrace trace;
    program(trace, 10, [&](int) {
      at(trace, 21);
      trace.held(trace.allocate(100), of);
    });
    const TraceData data = trace.load();
    const std::vector<Finding> findings = findings_of(data);
    EXPECT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings.front().rule, "grows");
    EXPECT_EQ(findings.front().title, "grows");
    EXPECT_EQ(findings.front().classes, (std::vector<std::string>{"D01"}));
    EXPECT_FALSE(findings.front().why.empty());
    return findings.front().fix;
  };
  HeldOf graph = kSeen;
  graph.type = "graph";
  HeldOf saved = kSeen;
  saved.role = "saved for backward";
  EXPECT_NE(fix(saved).find("store numbers, such as loss.item(), or detached copies"), std::string::npos);
  EXPECT_NE(fix(kSeen).find("remove what is not used any more"), std::string::npos);
  EXPECT_NE(fix(graph).find("add numbers to it, not tensors"), std::string::npos);
  EXPECT_NE(fix({.path = "main: total", .otherwise = true}).find("add numbers to it"), std::string::npos);
  EXPECT_NE(fix({.path = "cycle A.x → B → A (through autograd nodes)", .otherwise = true}).find("cut one reference"),
            std::string::npos);
  EXPECT_NE(
      fix({.path = "cycle AccumulateGrad.variable → CopyBackwards.next_functions[1] → … → AccumulateGrad (through "
                   "autograd nodes)",
           .otherwise = true})
          .find("torch.autograd.grad()"),
      std::string::npos);
}

/// A program without steps that calls its model so many times; what a call returns is kept.
TestTrace& service(TestTrace& trace, int calls, const HeldOf& by) {
  at(trace, 1);
  trace.allocate(5000);  // a parameter
  for (int i = 0; i < calls; ++i) {
    at(trace, 2);
    const Handle input = trace.allocate(700);
    at(trace, 21);
    trace.held(trace.allocate(100), by);
    trace.drop(input);
  }
  return trace;
}

const HeldOf kGraph{
    .containers = {"main: cache.results"}, .path = "main: cache.results[0]", .role = "saved for backward"};

TEST(Grows, WithoutStepsGraphsThatNoBackwardNeedsAreAFindingByCalls) {
  TestTrace trace;
  const std::vector<Finding> findings = findings_of(service(trace, 20, kGraph).load());
  ASSERT_EQ(findings.size(), 1u);
  ASSERT_TRUE(findings.front().growth);
  EXPECT_EQ(findings.front().growth->kind, RoundKind::kCall);
  EXPECT_EQ(findings.front().growth->holder, "main: cache.results");
  EXPECT_EQ(findings.front().growth->rounds, 20);
  EXPECT_EQ(findings.front().growth->per_round, Bytes(100));
}

TEST(Grows, WithoutStepsWhatIsCollectedWithoutGraphsIsAFinding) {
  TestTrace trace;
  EXPECT_EQ(findings_of(service(trace, 20, kSeen).load()).size(), 1u);
}

TEST(Grows, WithoutAnOptimizerItGrowsByBackwardPasses) {
  TestTrace trace;
  at(trace, 1);
  trace.allocate(5000);  // a parameter
  for (int i = 0; i < 12; ++i) {
    at(trace, 2);
    const Handle input = trace.allocate(700);
    at(trace, 21);
    trace.held(trace.allocate(100), kSeen);
    trace.phase("backward", [&] { trace.drop(input); });
  }
  const std::vector<Finding> findings = findings_of(trace.load());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().growth->kind, RoundKind::kBackward);
  EXPECT_EQ(findings.front().growth->rounds, 12);
}

TEST(Grows, FewCallsAreNotJudged) {
  TestTrace trace;
  EXPECT_TRUE(findings_of(service(trace, 3, kGraph).load()).empty());
}

}  // namespace
}  // namespace dcmt::analyzer

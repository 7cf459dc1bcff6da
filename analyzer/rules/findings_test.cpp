#include <gtest/gtest.h>

#include "analyzer/model/analysis.h"
#include "analyzer/releases/analyze_releases.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::LocalOf;
using testing::TestTrace;

TEST(Findings, TheDefectIsOneFindingWithTwelveStorages) {
  TestTrace trace;
  testing::add_zero3_graph(trace, 12, 1000, false);
  trace.step(1);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  const Finding& finding = analysis.findings.front();
  EXPECT_EQ(finding.classes, (std::vector<std::string>{"D19", "D20"}));
  EXPECT_EQ(finding.title, "release keeps storage");
  EXPECT_FALSE(finding.why.empty());
  EXPECT_FALSE(finding.fix.empty());
  EXPECT_EQ(finding.items.size(), 12u);
  EXPECT_EQ(finding.keys(), 12);
  EXPECT_EQ(finding.bytes, Bytes(12'000));
  EXPECT_EQ(finding.bytes_each(), Bytes(1000));
  EXPECT_EQ(finding.dead_at_peak, Bytes(10'000));
  EXPECT_DOUBLE_EQ(finding.peak_share, 10.0 / 12);
  EXPECT_EQ(finding.predicted_peak, Bytes(2'000));
  EXPECT_EQ(finding.censuses, 12);
  EXPECT_EQ(finding.more_alike, 11);
  EXPECT_EQ(finding.unexplained, 0);
  EXPECT_EQ(finding.explained, 12 * (1 + 1 + 2));
  EXPECT_EQ(finding.confidence, Confidence::kCertain);
  EXPECT_EQ(finding.reads, 0);
  EXPECT_TRUE(finding.coverage.exact());
  EXPECT_EQ(finding.coverage.in_trace, finding.coverage.at_least);
  ASSERT_TRUE(finding.holders);
  ASSERT_EQ(finding.holders->paths.size(), 1u);
  const HolderPath& path = finding.holders->paths.front();
  EXPECT_TRUE(path.generated);
  EXPECT_TRUE(path.kept_to_return());
  ASSERT_EQ(path.names.size(), 2u);
  EXPECT_EQ(path.names[1].assignment, "buf1 = buf0");
  EXPECT_EQ(path.return_line, 214);
  EXPECT_EQ(path.model_text, "x = F.linear(x, self.weight)");
  EXPECT_EQ(finding.evidence.marks.size(), 36u) << "gather, release and census of each";
  EXPECT_EQ(finding.evidence.edges.size(), 48u);
  EXPECT_EQ(finding.evidence.samples.size(), 36u);

  double expected = 0;
  for (const FindingItem& item : finding.items)
    expected += 1000.0 * static_cast<double>(item.until.value - item.since.value) * 1e-6;
  EXPECT_NEAR(finding.byte_seconds, expected, 1e-9);
}

TEST(Findings, TheFixHasNone) {
  TestTrace trace;
  testing::add_zero3_graph(trace, 12, 1000, true);
  trace.step(1);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  EXPECT_TRUE(analysis.findings.empty());
  EXPECT_EQ(analysis.main().what_if.dead_at_peak, Bytes(0));
  EXPECT_EQ(analysis.main().what_if.measured.bytes, analysis.main().what_if.predicted.bytes);
}

TEST(Findings, HoldersAndOperatorsThatDifferAreDifferentFindings) {
  TestTrace trace;
  const auto keep = [&](std::int64_t key, const std::string& function, const std::string& op) {
    const auto a = trace.gathered(key);
    const auto release = trace.release(key, a, {.op = op});
    trace.census(release, a,
                 {LocalOf{"w", function, "/home/user/model.py", "w = gather(k)", 5, std::nullopt, 9, "", "", 0, 1}});
    trace.op("aten::add");
  };
  keep(0, "forward", "zero3::release_param");
  keep(1, "forward", "zero3::release_param");
  keep(2, "backward", "zero3::release_param");
  keep(3, "forward", "zero3::reduce_and_release");
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 3u);
  std::size_t largest = 0;
  for (const Finding& finding : analysis.findings) {
    EXPECT_EQ(finding.classes, (std::vector<std::string>{"D19"})) << "a plain local is no compiled wrapper";
    largest = std::max(largest, finding.items.size());
  }
  EXPECT_EQ(largest, 2u);
}

TEST(Findings, ReleasesWithoutACensusJoinThoseOfTheSameParameter) {
  TestTrace trace;
  for (int round = 0; round < 3; ++round) {
    if (round == 2) trace.step(1);
    const auto a = trace.gathered(0);
    const auto release = trace.release(0, a);
    if (round == 0) {
      trace.census(release, a,
                   {LocalOf{"w", "forward", "/home/user/model.py", "w = gather(k)", 5, std::nullopt, 9, "", "", 0, 1}},
                   1);
    }
    trace.op("aten::add");
    trace.drop(a);
  }
  trace.step(2);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  EXPECT_EQ(analysis.findings[0].items.size(), 3u);
  EXPECT_EQ(analysis.findings[0].steps(), 2);
  EXPECT_EQ(analysis.findings[0].censuses, 1);
  EXPECT_EQ(analysis.findings[0].unexplained, 1);
  EXPECT_EQ(analysis.findings[0].confidence, Confidence::kPartial);
}

/// 36 releases of one parameter, of which one was inspected and found explained in full.
TEST(Findings, OneCensusMakesNoOtherReleaseCertain) {
  TestTrace trace;
  for (int round = 0; round < 36; ++round) {
    const auto a = trace.gathered(0);
    const auto release = trace.release(0, a);
    if (round == 0) {
      trace.census(release, a,
                   {LocalOf{"w", "forward", "/home/user/model.py", "w = gather(k)", 5, std::nullopt, 9, "", "", 0, 1}});
    }
    trace.op("aten::add");
    trace.drop(a);
  }
  trace.step(1);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  const Finding& finding = analysis.findings[0];
  ASSERT_EQ(finding.items.size(), 36u);
  EXPECT_EQ(finding.censuses, 1);
  EXPECT_EQ(finding.unexplained, 0);
  EXPECT_EQ(finding.confidence, Confidence::kPartial);
  EXPECT_EQ(finding.items[0].confidence, Confidence::kCertain);
  for (std::size_t i = 1; i < finding.items.size(); ++i) {
    EXPECT_EQ(finding.items[i].confidence, Confidence::kUnknown);
  }
}

TEST(Findings, AHolderThatIsNotProvenIsNotCertain) {
  for (const bool unproven : {false, true}) {
    TestTrace trace;
    const auto a = trace.gathered(0);
    LocalOf local{"w", "forward", "/home/user/model.py", "w = gather(k)", 5, std::nullopt, 9, "", "", 0, 1};
    LocalOf other = local;
    other.name = "v";
    local.unproven = unproven;
    trace.census(trace.release(0, a), a, {local, other});
    trace.op("aten::add");
    const TraceData data = trace.load();
    const Analysis analysis = analyze(data);
    ASSERT_EQ(analysis.findings.size(), 1u);
    EXPECT_EQ(analysis.findings[0].unexplained, 0);
    EXPECT_EQ(analysis.findings[0].confidence, unproven ? Confidence::kPartial : Confidence::kCertain);
  }
}

TEST(Findings, UseAfterReleaseNamesReaderReleaserAndGatherer) {
  TestTrace trace;
  trace.stack = {{"/home/user/gather.py", "gather_all", 3}};
  const auto a = trace.gathered(5);
  trace.stack = {{"/home/user/hooks.py", "after_forward", 8}};
  const auto release = trace.release(5, a, {}, [&] { trace.resize_to_zero(a); });
  trace.stack = {{"/home/user/train.py", "main", 20}};
  trace.op(
      "MmBackward0", [&] { trace.op("aten::mm", [&] { trace.read(release, 5, a, "aten::mm"); }); }, "backward");
  trace.op("aten::mm", [&] { trace.read(release, 5, a, "aten::mm"); });
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  const Finding& finding = analysis.findings.front();
  EXPECT_EQ(finding.classes, (std::vector<std::string>{"D24"}));
  EXPECT_EQ(finding.title, "use after release");
  EXPECT_FALSE(finding.fix.empty());
  EXPECT_EQ(finding.reads, 2);
  const FindingItem& item = finding.items.front();
  EXPECT_EQ(item.key, (Key{0, 5}));
  EXPECT_EQ(data.text(item.reads.front()->name), "aten::mm");
  EXPECT_EQ(item.until, item.reads.front()->span.from_seq);
  EXPECT_EQ(item.until_ns, item.reads.front()->span.from_ns);
  EXPECT_EQ(item.bytes, Bytes(0));
  EXPECT_NE(finding.why.find("when its data was gone"), std::string::npos) << finding.why;
  ASSERT_NE(item.gather, nullptr);
  EXPECT_NE(item.gather->by.stack, item.release->by.stack);
  EXPECT_NE(item.release->by.stack, item.reads.front()->by.stack);
}

TEST(Findings, AKernelThatGetsAReleasedStorageIsAUseAfterRelease) {
  TestTrace trace;
  trace.gpu = 0;
  const auto a = trace.gathered(5);
  const auto b = trace.gathered(6);
  const auto by_kernel = trace.release(5, a);
  const auto by_both = trace.release(6, b);
  trace.kernel_read(by_kernel, 5, a, "late_read");
  trace.op("aten::mm", [&] {
    trace.read(by_both, 6, b, "aten::mm");
    trace.kernel_read(by_both, 6, b, "gemm");
    trace.kernel_read(by_both, 6, b, "gemm");
  });
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 2u);
  for (const Finding& finding : analysis.findings) {
    EXPECT_EQ(finding.classes, (std::vector<std::string>{"D24"}));
    ASSERT_EQ(finding.items.size(), 1u);
    const bool kernel_only = finding.items.front().key == Key{0, 5};
    EXPECT_EQ(finding.reads, kernel_only ? 0 : 1);
    EXPECT_EQ(finding.kernel_reads, kernel_only ? 1 : 2);
    EXPECT_EQ(finding.confidence, kernel_only ? Confidence::kPartial : Confidence::kCertain);
  }
  EXPECT_EQ(analysis.main().what_if.predicted.bytes, analysis.main().what_if.measured.bytes) << "both are in use";
}

TEST(Findings, LaunchesAfterTheReleaseAreCountedUpToTheEndOfTheStorage) {
  TestTrace trace;
  trace.gpu = 0;
  const auto a = trace.gathered(0);
  const auto b = trace.gathered(1);
  trace.launches(true, 100, 10, 1);
  trace.release(0, a);
  trace.launches(true, 130, 12, 1);
  trace.release(1, b);
  trace.op("aten::add");
  trace.launches(true, 140, 12, 5);
  trace.drop(a);
  trace.op("zero3::allgather_param", [&] {
    trace.launches(true, 200, 12, 5);
    trace.gather(1, b);
  });
  trace.launches(true, 1000, 500, 5);
  trace.drop(b);
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  ASSERT_TRUE(releases.rows[0].launches());
  EXPECT_TRUE(releases.rows[0].launches()->whole);
  EXPECT_EQ(releases.rows[0].launches()->counts.calls, 40);
  EXPECT_EQ(releases.rows[0].launches()->counts.graphs, 2);
  EXPECT_EQ(releases.rows[0].launches()->counts.nccl, 4);
  EXPECT_EQ(releases.rows[0].launches()->counts.opaque(), 6);
  ASSERT_TRUE(releases.rows[1].launches());
  EXPECT_EQ(releases.rows[1].launches()->counts.calls, 70) << "up to the next gather";
}

TEST(Findings, LaunchesOfATimeThatWasNotObservedAreNotTheWhole) {
  for (const bool from_the_begin : {false, true}) {
    TestTrace trace;
    trace.gpu = 0;
    const auto a = trace.gathered(0);
    if (from_the_begin) trace.launches(true, 0);
    trace.release(0, a);
    trace.op("aten::add");
    trace.launches(!from_the_begin, 4);
    trace.op("aten::add");
    trace.launches(true, 9);
    trace.drop(a);
    const TraceData data = trace.load();
    const Releases releases = analyze_releases(data);
    ASSERT_TRUE(releases.rows[0].launches());
    EXPECT_FALSE(releases.rows[0].launches()->whole);
    EXPECT_EQ(releases.rows[0].launches()->counts.calls, from_the_begin ? 9 : 5);
  }
}

TEST(Findings, LaunchesSayNothingOfStoragesOnTheCpu) {
  TestTrace trace;
  const auto a = trace.gathered(0);
  trace.launches(true, 0);
  trace.release(0, a);
  trace.op("aten::add");
  trace.launches(true, 4);
  trace.drop(a);
  const TraceData data = trace.load();
  EXPECT_FALSE(analyze_releases(data).rows[0].launches());
}

TEST(Findings, ReleasingAfterTheLastBackwardUseIsFine) {
  TestTrace trace;
  const auto a = trace.gathered(5);
  trace.op(
      "MmBackward0", [&] { trace.op("aten::mm"); }, "backward");
  trace.release(5, a, {}, [&] { trace.resize_to_zero(a); });
  trace.op("aten::add");
  const TraceData data = trace.load();
  EXPECT_TRUE(analyze(data).findings.empty());
}

TEST(Findings, AGatherWithoutAReleaseIsFoundAtTheEndOfItsStep) {
  TestTrace trace;
  trace.gathered(0);                       // never released, alive: D16
  const auto gone = trace.gathered(1);     // never released, but gone: nothing is kept
  const auto counted = trace.gathered(2);  // released once of two: D16, for another reason
  trace.gathered(3);                       // persistent
  trace.persist(3);
  const auto released = trace.gathered(4);
  trace.release(2, counted, {.declared = 2, .remaining = 1, .flags = ""});
  trace.release(4, released, {}, [&] { trace.resize_to_zero(released); });
  trace.drop(gone);
  trace.op("aten::add");
  trace.step(1);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 2u);
  for (const Finding& finding : analysis.findings) {
    EXPECT_EQ(finding.classes, (std::vector<std::string>{"D16"}));
    ASSERT_EQ(finding.items.size(), 1u);
    const std::int64_t key = finding.items.front().key.key;
    EXPECT_TRUE(key == 0 || key == 2) << key;
    EXPECT_EQ(finding.items.front().release != nullptr, key == 2);
  }
}

/// What is never released adds to the peak at most the sum of its gathered bytes, each parameter once.
TEST(Findings, WhatIsNeverReleasedIsCountedAtThePeakWhereItIsAlive) {
  TestTrace trace;
  const auto first = trace.gathered(0);
  trace.gathered(1);
  trace.drop(trace.allocate(5000));  // the peak: both are alive
  trace.step(1);
  trace.drop(first);
  trace.gathered(0);
  trace.gathered(2);
  trace.step(2);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  const std::int64_t each = analysis.findings[0].items[0].bytes.value;
  EXPECT_EQ(analysis.findings[0].items.size(), 4u);
  EXPECT_EQ(analysis.findings[0].alive_at_peak, Bytes(2 * each));
  EXPECT_EQ(analysis.findings[0].bytes, Bytes(3 * each));
  EXPECT_EQ(analysis.main().what_if.measured.bytes, Bytes(2 * each + 5000));
}

TEST(Findings, WhatIsNeverReleasedIsListedInTheOrderOfItsGathers) {
  TestTrace trace;
  for (const std::int64_t key : {2, 0, 1}) trace.gathered(key);
  trace.step(1);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  std::vector<std::int64_t> keys;
  for (const FindingItem& item : analysis.findings[0].items) keys.push_back(item.key.key);
  EXPECT_EQ(keys, (std::vector<std::int64_t>{2, 0, 1}));
}

TEST(Findings, AGatherWithoutBytesLeavesNothing) {
  TestTrace trace;
  trace.gathered(0, 0);
  trace.step(1);
  const TraceData data = trace.load();
  EXPECT_TRUE(analyze(data).findings.empty());
}

TEST(Findings, AKilledProgramIsNotBlamedForItsOpenStep) {
  TestTrace trace;
  trace.meta_texts["exit"] = "signal 9";
  trace.step(1);
  trace.gathered(0);
  const TraceData data = trace.load();
  EXPECT_TRUE(analyze(data).findings.empty());
}

TEST(Findings, APrefetchAcrossTheStepBoundaryThatIsReleasedIsFine) {
  TestTrace trace;
  const auto a = trace.gathered(0);
  trace.step(1);
  trace.release(0, a, {}, [&] { trace.resize_to_zero(a); });
  trace.step(2);
  const TraceData data = trace.load();
  EXPECT_TRUE(analyze(data).findings.empty());
}

TEST(Survivors, CountStoragesThatOutliveTheirStepAndTheNext) {
  TestTrace trace;
  trace.stack = {{"/home/user/train.py", "main", 4}};
  const auto one_step = trace.allocate(10);
  trace.allocate(100);
  trace.drop(trace.allocate(1000));
  trace.step(1);
  trace.drop(one_step);
  trace.step(2);
  const TraceData data = trace.load();
  const std::vector<StepSurvivors> survivors = step_survivors(data);
  ASSERT_EQ(survivors.size(), 2u);
  EXPECT_EQ(survivors[0].bytes, Bytes(110));
  EXPECT_EQ(survivors[0].storages, 2);
  EXPECT_EQ(survivors[0].bytes_next, Bytes(100));
  EXPECT_EQ(survivors[0].storages_next, 1);
  ASSERT_EQ(survivors[0].sites.size(), 1u);
  EXPECT_EQ(survivors[0].sites[0].bytes, Bytes(100));
  EXPECT_EQ(survivors[1].bytes, Bytes(0));
  EXPECT_FALSE(survivors[1].bytes_next);
}

TEST(RunFactsTest, CountsLossesCensusesAndGaps) {
  TestTrace trace;
  const auto a = trace.gathered(0);
  const auto b = trace.gathered(1);
  trace.census(trace.release(0, a), a, {}, 2);
  trace.release(1, b);
  trace.loss("no_room", 3);
  trace.diagnostic("note", "something");
  trace.diagnostic("note", "something");
  const TraceData data = trace.load();
  const RunFacts facts = run_facts(data, analyze_releases(data));
  EXPECT_EQ(facts.lost, 3);
  EXPECT_EQ(facts.releases_with_bytes, 2);
  EXPECT_EQ(facts.censuses, 1);
  EXPECT_EQ(facts.unexplained, 2);
  EXPECT_EQ(facts.sequence_gaps, 0);
  ASSERT_EQ(facts.diagnostics.size(), 1u);
  EXPECT_EQ(facts.diagnostics[0].count, 2);
  EXPECT_EQ(facts.state, "finished");
}

TEST(Points, AreFoundByNameNumberStepAndWord) {
  TestTrace trace;
  trace.allocate(1);        // 1, 2
  trace.user_mark("here");  // 3
  trace.step(7);            // 4
  trace.user_mark("here");  // 5
  const TraceData data = trace.load();
  const auto find = [&](std::string_view name) {
    const auto point = find_point(data, name, Sequence(1));
    return point ? point->value : -1;
  };
  EXPECT_EQ(find("here"), 3);
  EXPECT_EQ(find("here#2"), 5);
  EXPECT_EQ(find("here#3"), -1);
  EXPECT_EQ(find("mark:here"), 3);
  EXPECT_EQ(find("mark:here#2"), 5);
  EXPECT_EQ(find("mark:peak"), -1);
  EXPECT_EQ(find("step:7"), 4);
  EXPECT_EQ(find("step:8"), -1);
  EXPECT_EQ(find("peak"), 1);
  EXPECT_EQ(find("end"), 5);
  EXPECT_EQ(find("exit"), 1) << "the last allocation";
  EXPECT_EQ(find("2"), 2);
  EXPECT_EQ(find("6"), -1);
  EXPECT_EQ(find("0"), -1);
  EXPECT_EQ(find("nowhere"), -1);
}

}  // namespace
}  // namespace dcmt::analyzer

// What is one finding and what are two, and what of a finding's items becomes its sums.
#include <gtest/gtest.h>

#include <set>

#include "analyzer/model/analysis.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::LocalOf;
using testing::TestTrace;
using Handle = TestTrace::Handle;

const LocalOf kLocal{"w", "forward", "/home/user/model.py", "w = gather(k)", 5, std::nullopt, 9, "", "", 0, 1};

struct Kept {
  std::string gather = "zero3::allgather_param", release = "zero3::release_param";
  std::optional<std::int64_t> gpu = {};
  std::optional<LocalOf> local = kLocal;  ///< nullopt: no census
  std::int64_t unexplained = 0;
  std::int64_t bytes = 64;
  bool unnamed = false;  ///< the census finds no local
};

/// A parameter that outlives its release.
void keep(TestTrace& trace, std::int64_t key, const Kept& of) {
  trace.gpu = of.gpu;
  const Handle weight = trace.allocate(of.bytes);
  trace.op(of.gather, [&] { trace.gather(key, weight, of.gather); });
  const auto release = trace.release(key, weight, {.op = of.release});
  if (of.unnamed) {
    trace.census(release, weight, {}, of.unexplained);
  } else if (of.local) {
    trace.census(release, weight, {*of.local}, of.unexplained);
  }
  trace.op("aten::add");
}

/// How many findings two parameters are that are kept so.
std::size_t findings(const Kept& one, const Kept& other, std::int64_t key = 1) {
  TestTrace trace;
  keep(trace, 0, one);
  keep(trace, key, other);
  const TraceData data = trace.load();
  return analyze(data).findings.size();
}

TEST(FindingGroups, WhatIsKeptAlikeIsOneFinding) {
  EXPECT_EQ(findings({}, {}), 1u);
  EXPECT_EQ(findings({}, {.bytes = 128}), 1u);
  EXPECT_EQ(findings({}, {.release = "other::release"}), 2u);
  EXPECT_EQ(findings({}, {.gpu = 0}), 2u);
  EXPECT_EQ(findings({}, {.unexplained = 1}), 1u) << "the variable is the same";
  EXPECT_EQ(findings({.unnamed = true}, {.unexplained = 1, .unnamed = true}), 2u) << "something else holds one";
  LocalOf elsewhere = kLocal;
  elsewhere.file = "/home/user/other.py";
  EXPECT_EQ(findings({}, {.local = elsewhere}), 2u);
  LocalOf generated = kLocal;
  generated.file = testing::kGenerated;
  LocalOf deleted = generated;
  deleted.delete_line = 8;
  EXPECT_EQ(findings({.local = generated}, {.local = deleted}), 2u) << "one goes before the return";
}

TEST(FindingGroups, WhatNoCensusInspectedJoinsTheFindingOfItsParameter) {
  EXPECT_EQ(findings({}, {.local = std::nullopt}, 0), 1u);
  EXPECT_EQ(findings({}, {.local = std::nullopt}, 1), 2u) << "of another parameter nothing is known";
  EXPECT_EQ(findings({}, {.release = "other::release", .local = std::nullopt}, 0), 2u);
}

TEST(FindingGroups, TheBytesOfAFindingAreTheLargestOfEachParameter) {
  TestTrace trace;
  keep(trace, 0, {.bytes = 64});
  keep(trace, 0, {.bytes = 256});
  keep(trace, 0, {.bytes = 128});
  keep(trace, 1, {.bytes = 32});
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  const Finding& finding = analysis.findings.front();
  EXPECT_EQ(finding.bytes, Bytes(256 + 32));
  EXPECT_EQ(finding.keys(), 2);
  EXPECT_FALSE(finding.bytes_each()) << "they differ";
  EXPECT_EQ(finding.evidence.marks.size(), 4u * 3) << "gather, release and census of each";
}

TEST(FindingGroups, ByteSecondsLastFromTheReleaseUntilTheBytesGoOrTheTraceEnds) {
  for (const bool goes : {false, true}) {
    TestTrace trace;
    const Handle weight = trace.allocate(1000);
    trace.op("gather", [&] { trace.gather(0, weight); });
    trace.release(0, weight);
    const std::int64_t at = trace.last_seq() - 1;  // the release's end; its operator ends after it
    trace.op("aten::add");
    std::int64_t to = 0;
    if (goes) {
      trace.drop(weight);
      to = trace.last_seq() - 1;  // the end of the storage, before its block's
    }
    trace.op("aten::add");
    if (!goes) to = trace.last_seq();
    const TraceData data = trace.load();
    const Analysis analysis = analyze(data);
    ASSERT_EQ(analysis.findings.size(), 1u);
    EXPECT_NEAR(analysis.findings[0].byte_seconds, 1000.0 * static_cast<double>(to - at) * 1e-6, 1e-9) << goes;
  }
}

TEST(FindingGroups, AGatherThatIsNeverReleasedSaysSinceWhenAndUntilWhen) {
  TestTrace trace;
  const Handle weight = trace.allocate(1000);
  trace.op("gather", [&] { trace.gather(3, weight); });
  const std::int64_t since = trace.last_seq() - 1;
  trace.op("aten::mm");
  trace.step(7);
  trace.drop(weight);
  const std::int64_t until = trace.last_seq() - 1;
  trace.op("aten::mm");
  trace.step(8);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  ASSERT_EQ(analysis.findings[0].items.size(), 1u);
  const FindingItem& item = analysis.findings[0].items[0];
  EXPECT_EQ(item.key, (Key{0, 3}));
  EXPECT_EQ(item.storage, trace.storage_id(weight));
  EXPECT_EQ(item.bytes, Bytes(1000));
  EXPECT_EQ(item.since, Sequence(since));
  EXPECT_EQ(item.since_ns, TimeNs(since * 1000));
  EXPECT_EQ(item.until, Sequence(until));
  EXPECT_EQ(item.until_ns, TimeNs(until * 1000));
  ASSERT_NE(item.gather, nullptr);
  EXPECT_EQ(item.gather->span.from_seq, Sequence(since));
  ASSERT_NE(item.step, nullptr);
  EXPECT_EQ(item.step->number, 7);
  EXPECT_TRUE(item.gone);
  EXPECT_EQ(item.confidence, Confidence::kCertain);
  EXPECT_EQ(analysis.findings[0].confidence, Confidence::kCertain);
}

TEST(FindingGroups, GathersOfTwoPlacesAreTwoFindings) {
  TestTrace trace;
  for (std::int64_t key = 0; key < 3; ++key) {
    trace.stack = {{"/home/user/model.py", "forward", key < 2 ? 10 : 20}};
    const Handle weight = trace.allocate(1000);
    trace.op("gather", [&] { trace.gather(key, weight); });
  }
  trace.op("aten::mm");
  trace.step(1);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 2u);
  EXPECT_EQ(analysis.findings[0].items.size() + analysis.findings[1].items.size(), 3u);
}

TEST(FindingGroups, WhatIsReadAfterItsReleaseIsNoResidual) {
  TestTrace trace;
  const Handle weight = trace.allocate(1000);
  trace.op("gather", [&] { trace.gather(0, weight); });
  const auto release = trace.release(0, weight);
  trace.op("aten::mm", [&] { trace.read(release, 0, weight, "aten::mm"); });
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  EXPECT_EQ(analysis.findings[0].rule, "use_after_release");
  EXPECT_NE(analysis.findings[0].why.find("something else still kept the data"), std::string::npos);
}

TEST(FindingGroups, ReadsOfTwoReadersAreTwoFindings) {
  const auto found = [](const std::string& reader, std::int64_t line) {
    TestTrace trace;
    for (std::int64_t key = 0; key < 2; ++key) {
      trace.stack = {{"/home/user/model.py", "forward", 10}};
      const Handle weight = trace.allocate(1000);
      trace.op("gather", [&] { trace.gather(key, weight); });
      const auto release = trace.release(key, weight);
      trace.stack = {{"/home/user/model.py", "forward", key == 0 ? 20 : line}};
      trace.op("aten::mm", [&] { trace.read(release, key, weight, key == 0 ? "aten::mm" : reader); });
    }
    const TraceData data = trace.load();
    return analyze(data).findings.size();
  };
  EXPECT_EQ(found("aten::mm", 20), 1u);
  EXPECT_EQ(found("aten::add", 20), 2u);
  EXPECT_EQ(found("aten::mm", 21), 2u);
}

TEST(FindingGroups, WhyAndFixNameWhatHolds) {
  const auto why_and_fix = [](const Kept& of) {
    TestTrace trace;
    keep(trace, 0, of);
    const TraceData data = trace.load();
    const Analysis analysis = analyze(data);
    EXPECT_EQ(analysis.findings.size(), 1u);
    return analysis.findings.front().why + " / " + analysis.findings.front().fix;
  };
  std::set<std::string> texts;
  texts.insert(why_and_fix({.local = std::nullopt}));
  texts.insert(why_and_fix({}));
  LocalOf generated = kLocal;
  generated.file = testing::kGenerated;
  texts.insert(why_and_fix({.local = generated}));
  EXPECT_EQ(texts.size(), 3u);
  EXPECT_NE(why_and_fix({.local = std::nullopt}).find("no census was taken"), std::string::npos);
  LocalOf nameless = kLocal;
  nameless.function = nameless.file = "";
  EXPECT_NE(why_and_fix({.local = nameless, .unexplained = 1}).find("something that the census does not see"),
            std::string::npos);
  EXPECT_NE(why_and_fix({.local = nameless}).find("no variable names them"), std::string::npos);
  EXPECT_NE(why_and_fix({}).find("a variable of forward still names the tensor"), std::string::npos);
  EXPECT_NE(why_and_fix({}).find("drop the variable before the release"), std::string::npos);
  EXPECT_NE(why_and_fix({.local = generated}).find("the compiled wrapper does not delete"), std::string::npos);
}

}  // namespace
}  // namespace dcmt::analyzer

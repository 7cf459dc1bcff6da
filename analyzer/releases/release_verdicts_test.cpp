// What decides a verdict where the trace does not say it outright.
#include <gtest/gtest.h>

#include "analyzer/model/analysis.h"
#include "analyzer/releases/analyze_releases.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;
using Handle = TestTrace::Handle;

/// The one release of a trace.
struct Judged {
  Verdict verdict;
  bool residual, lost;
  friend bool operator==(const Judged&, const Judged&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Judged& judged) {
    return out << name_of(judged.verdict) << (judged.residual ? ", residual" : "") << (judged.lost ? ", lost" : "");
  }
};

Judged judged(TestTrace& trace, const std::string& changes = {}) {
  const TraceData data = trace.load(changes);
  const Releases releases = analyze_releases(data);
  EXPECT_EQ(releases.rows.size(), 1u);
  const ReleaseRow& row = releases.rows.front();
  return {row.verdict, row.residual, row.lost};
}

TEST(ReleaseVerdicts, BytesThatWereReadAsZeroHaveGoneWhateverElseIsKnown) {
  for (const char* bytes : {"bytes = 0", "bytes_after = 0", "bytes_settled = 0", "bytes = 64"}) {
    TestTrace trace;
    trace.release(0, trace.gathered(0));
    trace.op("aten::add");
    const Judged found = judged(trace, std::string("UPDATE mark SET ") + bytes + " WHERE kind = 'release'");
    const bool zero = std::string(bytes) != "bytes = 64";
    EXPECT_EQ(found, (zero ? Judged{Verdict::kFreed, false, false} : Judged{Verdict::kNever, true, false})) << bytes;
  }
}

TEST(ReleaseVerdicts, WhatWasNotCheckedAgainIsNotKnownWhereItWentLater) {
  const auto of = [](bool inside, bool later) {
    TestTrace trace;
    const Handle weight = trace.gathered(0);
    trace.release(0, weight, {.flags = "final,not_settled"}, [&] {
      if (inside) trace.resize_to_zero(weight);
    });
    trace.op("aten::add");
    if (later) trace.drop(weight);
    trace.op("aten::add");
    return judged(trace, "UPDATE mark SET bytes_after = NULL, bytes_settled = NULL WHERE kind = 'release'");
  };
  EXPECT_EQ(of(true, false), (Judged{Verdict::kFreed, false, false}));
  EXPECT_EQ(of(false, true), (Judged{Verdict::kUnknown, false, false}));
  EXPECT_EQ(of(false, false), (Judged{Verdict::kNever, true, false}));
}

TEST(ReleaseVerdicts, OfAStorageThatIsNotInTheTraceOnlyItsBytesCount) {
  for (const bool kept : {false, true}) {
    TestTrace trace;
    trace.release(0, trace.gathered(0));
    trace.op("aten::add");
    const std::string bytes = kept ? "" : ", bytes_settled = NULL";
    EXPECT_EQ(judged(trace, "UPDATE mark SET storage = 99" + bytes + " WHERE kind = 'release'"),
              (Judged{Verdict::kUnknown, kept, false}));
  }
}

TEST(ReleaseVerdicts, WhatWentLateWasKeptIfItWasSeenToBe) {
  for (const char* settled :
       {"bytes_settled = 64", "bytes_settled = NULL", "bytes_settled = NULL, settled_seq = NULL"}) {
    TestTrace trace;
    const Handle weight = trace.gathered(0, 1 << 20);
    trace.release(0, weight);
    trace.op("aten::add", [&] { trace.allocate(1 << 20); });
    trace.drop(weight);
    trace.step(1);
    const bool unseen = std::string(settled) == "bytes_settled = NULL";
    EXPECT_EQ(judged(trace, std::string("UPDATE mark SET ") + settled + " WHERE kind = 'release'"),
              (Judged{Verdict::kLate, !unseen, false}))
        << settled;
  }
}

TEST(ReleaseVerdicts, WhatOutlivesItsStepIsNeverThoughItsThreadDidNothingMeanwhile) {
  TestTrace trace;
  const Handle weight = trace.gathered(0);
  trace.release(0, weight);
  trace.step(1);
  trace.drop(weight);  // before the thread's next operator
  trace.op("aten::add");
  trace.step(2);
  EXPECT_EQ(judged(trace, "UPDATE mark SET bytes_settled = NULL WHERE kind = 'release'").verdict, Verdict::kNever);
}

TEST(ReleaseVerdicts, WithoutANextActivityOnlyBlocksThatMatterShowThatItWasLate) {
  constexpr std::int64_t kMatters = 64 * 1024;
  const auto of = [](std::int64_t bytes, bool before, const std::string& changes) {
    TestTrace trace;
    const Handle weight = trace.gathered(0);
    trace.release(0, weight);
    if (before) trace.allocate(bytes);
    trace.drop(weight);
    if (!before) trace.allocate(bytes);
    return judged(trace, changes).verdict;
  };
  EXPECT_EQ(of(kMatters, true, {}), Verdict::kLate);
  EXPECT_EQ(of(kMatters - 1, true, {}), Verdict::kFreed) << "small";
  EXPECT_EQ(of(kMatters, false, {}), Verdict::kFreed) << "after it had gone";
  EXPECT_EQ(of(kMatters, true, "UPDATE block SET owner = 1 WHERE id = 2"), Verdict::kFreed) << "no tensor's";
}

TEST(ReleaseVerdicts, LostRecordsCountFromTheReleaseUntilTheBytesWent) {
  enum Where { kNowhere, kBefore, kBetween, kAfter };
  const auto of = [](Where where, bool goes) {
    TestTrace trace;
    const Handle weight = trace.gathered(0);
    if (where == kBefore) trace.lose();
    trace.release(0, weight);
    trace.op("aten::add");
    if (where == kBetween) trace.lose();
    if (goes) trace.drop(weight);
    trace.op("aten::add");
    trace.step(1);
    if (where == kAfter) trace.lose();
    trace.op("aten::add");
    trace.step(2);
    return judged(trace);
  };
  for (const bool goes : {false, true}) {
    const Judged known{goes ? Verdict::kLate : Verdict::kNever, true, false};
    EXPECT_EQ(of(kNowhere, goes), known);
    EXPECT_EQ(of(kBefore, goes), known);
    EXPECT_EQ(of(kAfter, goes), known);
    EXPECT_EQ(of(kBetween, goes), (Judged{Verdict::kUnknown, false, true}));
  }
}

TEST(ReleaseVerdicts, WhatIsReadIsEarlyEvenWhereItsBytesAreUnknown) {
  TestTrace trace;
  const Handle weight = trace.gathered(0);
  const auto release = trace.release(0, weight, {.flags = "final,metadata_only"});
  trace.op("aten::mm", [&] { trace.read(release, 0, weight, "aten::mm"); });
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  EXPECT_EQ(releases.rows[0].verdict, Verdict::kEarly);
  EXPECT_TRUE(releases.rows[0].metadata_only);
}

TEST(ReleaseVerdicts, EachFlagThatSettlesItComesBeforeTheBytes) {
  const auto of = [](const char* flags) {
    TestTrace trace;
    trace.release(0, trace.gathered(0), {.flags = flags});
    trace.op("aten::add");
    const Judged found = judged(trace);
    EXPECT_FALSE(found.residual) << flags;
    return found.verdict;
  };
  EXPECT_EQ(of("final,no_gather"), Verdict::kNoGather);
  EXPECT_EQ(of("final,persistent"), Verdict::kPersistent);
  EXPECT_EQ(of("mismatch"), Verdict::kCounted);
  EXPECT_EQ(of("final,shared"), Verdict::kShared);
  EXPECT_EQ(of("final,untracked"), Verdict::kUntracked);
}

TEST(ReleaseVerdicts, TheGatherOfAReleaseIsOfItsOwnCycle) {
  const auto gather_of = [](const std::string& changes, const char* flags = "final") {
    TestTrace trace;
    trace.release(0, trace.gathered(0), {.flags = flags});
    const TraceData data = trace.load(changes);
    return analyze_releases(data).rows.front().gather != nullptr;
  };
  EXPECT_TRUE(gather_of({}));
  EXPECT_FALSE(gather_of("UPDATE mark SET cycle = 2 WHERE kind = 'release'")) << "the record of its gather was lost";
  EXPECT_FALSE(gather_of({}, "final,no_gather"));
}

TEST(ReleaseVerdicts, OperatorsThatAreNoRowsMakeTheCountAnInterval) {
  TestTrace trace;
  const Handle weight = trace.gathered(0);
  trace.release(0, weight);
  for (int i = 0; i < 5; ++i) trace.op("aten::add");
  trace.drop(weight);
  trace.op("aten::add");
  // Of the five the last two are no rows, and the end of the storage does not say how many there were.
  const std::string unknown = "UPDATE storage SET end_ordinal = NULL; UPDATE mark SET ordinal = NULL WHERE kind = 'x';";
  const TraceData all = trace.load(unknown);
  const OperatorCount known = analyze_releases(all).rows.front().operators_held;
  EXPECT_EQ(known.at_least, 5);
  EXPECT_EQ(known.at_most, 5);
  EXPECT_EQ(known.in_trace, 5);
  const TraceData data = trace.load(unknown + "DELETE FROM operator WHERE ordinal IN (6, 7)");
  const OperatorCount count = analyze_releases(data).rows.front().operators_held;
  EXPECT_EQ(count.at_least, 3);
  EXPECT_EQ(count.at_most, 5) << "the next one that is a row was the sixth";
  EXPECT_EQ(count.in_trace, 3);
  const TraceData end = trace.load(unknown + "DELETE FROM operator WHERE ordinal IN (4, 8)");
  const OperatorCount open = analyze_releases(end).rows.front().operators_held;
  EXPECT_EQ(open.at_least, 5) << "the numbers of those that are rows";
  EXPECT_EQ(open.in_trace, 4);
  EXPECT_FALSE(open.at_most) << "none is known that came later";
  const TraceData counted = trace.load("DELETE FROM operator WHERE ordinal IN (6, 7)");
  const OperatorCount exact = analyze_releases(counted).rows.front().operators_held;
  EXPECT_EQ(exact.at_least, 5) << "as the end of the storage says";
  EXPECT_TRUE(exact.exact());
  EXPECT_EQ(exact.in_trace, 3);
}

TEST(ReleaseVerdicts, WhatComesBeforeTheFirstGatherIsInNoCycle) {
  TestTrace trace;
  const Handle weight = trace.allocate(64);
  trace.wait(0, weight);
  trace.release(0, weight, {.flags = "final,no_gather"});
  for (int cycle = 0; cycle < 2; ++cycle) {
    trace.op("zero3::allgather_param", [&] { trace.gather(0, weight); });
    trace.wait(0, weight);
    trace.wait(0, weight);
    trace.release(0, weight, {.flags = ""});
    trace.release(0, weight);
  }
  const TraceData data = trace.load("UPDATE mark SET cycle = NULL");
  const Releases releases = analyze_releases(data);
  ASSERT_EQ(releases.cycles.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(releases.cycles[i].number, static_cast<std::int64_t>(i) + 1)
        << "counted, where it is no number of its own";
    EXPECT_EQ(releases.cycles[i].waits.size(), 2u);
    EXPECT_EQ(releases.cycles[i].releases.size(), 2u);
    EXPECT_FALSE(releases.cycles[i].persistent);
  }
  EXPECT_EQ(releases.cycles[0].next_gather, releases.cycles[1].gather);
  EXPECT_EQ(releases.cycles[1].next_gather, nullptr);
}

TEST(ReleaseVerdicts, APersistentReleaseMakesItsCyclePersistent) {
  TestTrace trace;
  const Handle weight = trace.gathered(0);
  trace.release(0, weight, {.flags = "persistent"});
  trace.release(0, weight, {.flags = ""});
  const TraceData data = trace.load();
  EXPECT_TRUE(analyze_releases(data).cycles.front().persistent);
}

TEST(ReleaseVerdicts, OnlyAWriteBeforeTheReadMakesItOneOfOtherData) {
  for (const bool written_first : {false, true}) {
    TestTrace trace;
    const Handle weight = trace.gathered(0);
    const auto release = trace.release(0, weight);
    if (written_first) trace.overwrite(release, 0, weight, "aten::copy_");
    trace.read(release, 0, weight, "aten::mm");
    trace.overwrite(release, 0, weight, "aten::copy_");
    const TraceData data = trace.load();
    const Releases releases = analyze_releases(data);
    EXPECT_EQ(releases.rows[0].reads().size(), written_first ? 0u : 1u);
    EXPECT_EQ(releases.rows[0].overwritten_and_read, written_first);
  }
}

TEST(ReleaseVerdicts, EachVerdictHasItsName) {
  std::set<std::string_view> names;
  for (int verdict = 0; verdict <= static_cast<int>(Verdict::kUnknown); ++verdict) {
    names.insert(name_of(static_cast<Verdict>(verdict)));
  }
  EXPECT_EQ(names.size(), 11u);
  EXPECT_FALSE(names.contains(""));
}

TEST(ReleaseVerdicts, AReadBeforeTheNextGatherCountsThoughThatOneCame) {
  TestTrace trace;
  const Handle weight = trace.gathered(0);
  const auto release = trace.release(0, weight);
  trace.op("aten::mm", [&] { trace.read(release, 0, weight, "aten::mm"); });
  trace.op("zero3::allgather_param", [&] { trace.gather(0, weight); });
  trace.op("aten::mm", [&] { trace.read(release, 0, weight, "aten::mm"); });
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  EXPECT_EQ(releases.rows[0].verdict, Verdict::kEarly);
  EXPECT_EQ(releases.rows[0].reads().size(), 1u);
}

TEST(ReleaseVerdicts, TheNumberOfAnotherThreadsOperatorsSaysNothingOfThisOnes) {
  TestTrace trace;
  const Handle weight = trace.gathered(0);
  trace.release(0, weight);
  for (int i = 0; i < 5; ++i) trace.op("aten::add");
  trace.drop(weight);
  const TraceData data = trace.load("UPDATE storage SET end_thread = 2, end_ordinal = 1000");
  EXPECT_EQ(analyze_releases(data).rows.front().operators_held.at_least, 5);
}

}  // namespace
}  // namespace dcmt::analyzer

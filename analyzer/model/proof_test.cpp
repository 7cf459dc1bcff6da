#include "analyzer/model/proof.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/findings.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::model {
namespace {

using testing::TestTrace;

constexpr std::int64_t kBytes = 1 << 20;

struct Left {
  std::int64_t release;
  TestTrace::Handle storage;
};

/// A release that leaves its storage.
Left leave(TestTrace& trace, std::int64_t key) {
  Left left{};
  trace.op("zero3::allgather_param", [&] {
    left.storage = trace.allocate(kBytes);
    trace.gather(key, left.storage);
  });
  left.release = trace.release(key, left.storage);
  trace.op("aten::mm");
  return left;
}

/// The proof of the whole trace, and that of its only finding.
void judge(TestTrace& trace,
           const std::function<void(const std::optional<ReleaseProof>&, const ReportedFinding&)>& check) {
  const TraceData data = trace.load();
  const analyzer::Analysis analysis = analyzer::analyze(data);
  const std::vector<ReportedFinding> findings = findings_of(analysis);
  ASSERT_EQ(findings.size(), 1u);
  check(proof_of(analysis), findings.front());
}

TEST(ProofTest, NothingWasFencedInAnOrdinaryRun) {
  TestTrace trace;
  leave(trace, 1);
  trace.step(1);
  judge(trace, [](const auto& proof, const ReportedFinding& finding) {
    EXPECT_FALSE(proof);
    EXPECT_FALSE(finding.proof);
  });
}

TEST(ProofTest, FencesThatNobodyTouchedAreAProof) {
  TestTrace trace;
  for (std::int64_t step = 1; step <= 3; ++step) {
    for (std::int64_t key = 1; key <= 2; ++key) {
      const Left left = leave(trace, key);
      trace.fence(left.release, key, left.storage);
      trace.drop(left.storage);
    }
    trace.step(step);
  }
  judge(trace, [](const auto& proof, const ReportedFinding& finding) {
    ASSERT_TRUE(proof && finding.proof);
    EXPECT_EQ(proof->verdict, "proved");
    EXPECT_EQ(proof->releases, 6);
    EXPECT_EQ(proof->steps, 3);
    EXPECT_EQ(proof->bytes, Bytes(6 * kBytes));
    EXPECT_EQ(proof->fenced_bytes, Bytes(6 * kBytes));
    EXPECT_EQ(finding.proof->releases, 6);
  });
}

TEST(ProofTest, OneTouchIsEnough) {
  TestTrace trace;
  const Left first = leave(trace, 1);
  trace.fence(first.release, 1, first.storage);
  const Left second = leave(trace, 2);
  trace.fence(second.release, 2, second.storage);
  trace.op(
      "MulBackward0", [&] { trace.fence_touch(first.release, 1, first.storage, "aten::mul", "write"); }, "backward");
  judge(trace, [](const auto& proof, const ReportedFinding& finding) {
    ASSERT_TRUE(proof && finding.proof);
    EXPECT_EQ(finding.proof->verdict, "touched");
    EXPECT_EQ(proof->verdict, "touched");
    EXPECT_EQ(proof->touched, 1);
    ASSERT_EQ(proof->touches.size(), 1u);
    EXPECT_EQ(proof->touches[0].name, "aten::mul");
    EXPECT_EQ(proof->touches[0].backward, "MulBackward0");
    EXPECT_TRUE(proof->touches[0].writes);
  });
}

TEST(ProofTest, WhatWasNotFencedIsNotProved) {
  for (const char* why : {"", "foreign", "gpu", "refused"}) {
    TestTrace trace;
    const Left left = leave(trace, 1);
    trace.fence(left.release, 1, left.storage, 24, why);
    judge(trace, [](const auto& proof, const ReportedFinding&) {
      ASSERT_TRUE(proof);
      EXPECT_EQ(proof->verdict, "not_proved");
      ASSERT_EQ(proof->why_not.size(), 1u);
      EXPECT_NE(proof->why_not[0].find("24 B"), std::string::npos) << proof->why_not[0];
      EXPECT_EQ(proof->fenced_bytes, Bytes(kBytes - 24));
    });
  }
}

TEST(ProofTest, AReleaseWithoutAFenceIsNotProved) {
  TestTrace trace;
  const Left first = leave(trace, 1);
  trace.fence(first.release, 1, first.storage);
  trace.step(1);
  leave(trace, 1);
  trace.step(2);
  judge(trace, [](const auto& proof, const ReportedFinding& finding) {
    ASSERT_TRUE(proof && finding.proof);
    EXPECT_EQ(proof->verdict, "not_proved");
    EXPECT_EQ(proof->releases, 2);
    EXPECT_EQ(finding.proof->verdict, "not_proved");
  });
}

TEST(ProofTest, ATouchThatCouldNotBeRecordedCounts) {
  TestTrace trace;
  const Left left = leave(trace, 1);
  trace.fence(left.release, 1, left.storage);
  trace.fence_touch(left.release, 1, left.storage, {}, "unseen");
  judge(trace, [](const auto& proof, const ReportedFinding&) {
    ASSERT_TRUE(proof);
    EXPECT_EQ(proof->verdict, "touched");
    EXPECT_TRUE(proof->touches.empty());
  });
}

TEST(ProofTest, AProgramThatFailedProvesNothing) {
  for (const char* exit : {"exit 1", "signal 11"}) {
    TestTrace trace;
    trace.meta_texts["exit"] = exit;
    const Left left = leave(trace, 1);
    trace.fence(left.release, 1, left.storage);
    judge(trace, [&](const auto& proof, const ReportedFinding&) {
      ASSERT_TRUE(proof);
      EXPECT_EQ(proof->verdict, "not_proved");
      ASSERT_EQ(proof->why_not.size(), 1u);
      EXPECT_NE(proof->why_not[0].find(exit), std::string::npos);
    });
  }
}

/// A run that computes gradients and numbers with these digests.
void compute(TestTrace& trace, const std::vector<std::int64_t>& gradients, const std::vector<std::int64_t>& numbers) {
  for (const std::int64_t each : gradients) trace.result("torch::autograd::AccumulateGrad", each);
  for (const std::int64_t each : numbers) trace.result("aten::_local_scalar_dense", each);
}

TEST(ProofTest, TheFirstResultThatDiffersIsNamed) {
  struct Case {
    std::vector<std::int64_t> gradients, numbers;
    std::int64_t equal_gradients, equal_numbers, first;
  };
  const Case cases[] = {{{1, 2}, {3}, 2, 1, 0}, {{1, 9}, {3}, 1, 0, 2},    {{1, 2}, {9}, 2, 0, 3},
                        {{1, 2}, {}, 2, 0, 3},  {{1, 2}, {3, 4}, 2, 1, 4}, {{}, {}, 0, 0, 1}};
  TestTrace plain;
  compute(plain, {1, 2}, {3});
  const TraceData data = plain.load();
  const analyzer::Analysis analysis = analyzer::analyze(data);
  for (const Case& each : cases) {
    TestTrace trace;
    compute(trace, each.gradients, each.numbers);
    const TraceData other = trace.load();
    const analyzer::Analysis other_analysis = analyzer::analyze(other);
    const ComparedResults results = compare_results(analysis, other_analysis);
    EXPECT_EQ(results.gradients, each.equal_gradients);
    EXPECT_EQ(results.numbers, each.equal_numbers);
    EXPECT_EQ(results.first ? results.first->number : 0, each.first);
  }
}

}  // namespace
}  // namespace dcmt::model

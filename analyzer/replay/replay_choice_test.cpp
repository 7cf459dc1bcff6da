#include "analyzer/replay/replay_choice.h"

#include <gtest/gtest.h>

#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

/// A parameter that outlives its release.
void keep(TestTrace& trace, std::int64_t key, const std::string& release) {
  const TestTrace::Handle weight = trace.allocate(1000);
  trace.op("gather", [&] { trace.gather(key, weight); });
  trace.release(key, weight, {.op = release});
  trace.op("aten::add");
}

class ReplayChoiceTest : public ::testing::Test {
 protected:
  /// Two findings in step 1, one in step 2; step 3 has gathers and no finding.
  void SetUp() override {
    keep(trace_, 0, "a::release");
    keep(trace_, 1, "b::release");
    trace_.step(1);
    keep(trace_, 2, "c::release");
    trace_.step(2);
    const TestTrace::Handle weight = trace_.allocate(1000);
    trace_.op("gather", [&] { trace_.gather(3, weight); });
    trace_.release(3, weight, {}, [&] { trace_.resize_to_zero(weight); });
    trace_.op("aten::add");
    trace_.step(3);
    data_.emplace(trace_.load());
    analysis_.emplace(analyze(*data_));
    ASSERT_EQ(analysis_->findings.size(), 3u);
  }
  /// "steps: findings" of each stretch; the error if there is none.
  [[nodiscard]] std::vector<std::string> chosen(const ReplayRequest& request) const {
    const Expected<ReplayChoice> choice = choose_replays(*analysis_, request);
    if (!choice.ok()) return {choice.error().message};
    std::vector<std::string> texts;
    for (const ChosenReplay& replay : choice->replays) {
      std::string text = std::to_string(replay.plan.region.steps.front().number) + ":";
      for (const Finding* finding : replay.findings) text += " " + std::to_string(finding->number);
      texts.push_back(text);
    }
    return texts;
  }

  TestTrace trace_;
  std::optional<TraceData> data_;
  std::optional<Analysis> analysis_;
};

TEST_F(ReplayChoiceTest, FindingsOfOneStretchAreReplayedTogether) {
  std::size_t findings = 0;
  const Expected<ReplayChoice> choice = choose_replays(*analysis_, {});
  ASSERT_TRUE(choice.ok());
  ASSERT_EQ(choice->replays.size(), 2u);
  for (const ChosenReplay& replay : choice->replays) {
    EXPECT_EQ(replay.findings.size(), replay.plan.region.steps.front().number == 1 ? 2u : 1u);
    findings += replay.findings.size();
  }
  EXPECT_EQ(findings, 3u);
  EXPECT_TRUE(choice->left_out.empty());
}

TEST_F(ReplayChoiceTest, OneFindingOrOneStepCanBeAskedFor) {
  for (const Finding& finding : analysis_->findings) {
    const std::string step = std::to_string(finding.items.front().step->number);
    EXPECT_EQ(chosen({.finding = finding.number}),
              (std::vector<std::string>{step + ": " + std::to_string(finding.number)}));
  }
  EXPECT_EQ(chosen({.step = 3}), (std::vector<std::string>{"3:"}));
  EXPECT_EQ(chosen({.step = 1}), (std::vector<std::string>{"1:"})) << "a step that has findings, as a step";
}

TEST_F(ReplayChoiceTest, WhatThereIsNotIsAnErrorOfUsage) {
  for (const ReplayRequest& request : {ReplayRequest{.finding = 7}, ReplayRequest{.step = 7}}) {
    const Expected<ReplayChoice> choice = choose_replays(*analysis_, request);
    ASSERT_FALSE(choice.ok());
    EXPECT_EQ(choice.error().code, ErrorCode::kUsage);
  }
}

TEST_F(ReplayChoiceTest, WithoutFindingsItIsTheStepOfThePeak) {
  analysis_->findings.clear();
  EXPECT_EQ(chosen({}), (std::vector<std::string>{std::to_string(analysis_->main().peak_step->number) + ":"}));
}

}  // namespace
}  // namespace dcmt::analyzer

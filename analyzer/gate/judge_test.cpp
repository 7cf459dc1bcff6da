#include "analyzer/gate/judge.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "trace/base/quantities.h"

namespace dcmt::gate {
namespace {

analyzer::AllocationLine line(std::int64_t number, std::int64_t bytes, const std::string& function = "m.py forward") {
  analyzer::AllocationLine line;
  line.function = function;
  line.file = "/repo/m.py";
  line.line = number;
  line.bytes = Bytes(bytes);
  return line;
}

Recording recorded() {
  Recording recording;
  recording.section = "cpu, torch 2.11";
  recording.arguments = "--batch 8";
  recording.steps = 6;
  recording.sizes = {Bytes(4 * kMiB), Bytes(kMiB)};
  recording.made = recording.sizes;
  recording.operators = 31;
  recording.order = "00c0ffee";
  recording.facts = {{"peak.forward", Unit::kBytes, 9 * kMiB, -1, {line(10, 8 * kMiB), line(12, kMiB)}},
                     {"peak.backward", Unit::kBytes, 12 * kMiB, -1, {line(10, 8 * kMiB), line(14, 4 * kMiB)}},
                     {"growth.step", Unit::kBytes, 0, -1, {}},
                     {"residual.bytes", Unit::kBytes, 0, -1, {}},
                     {"gathers", Unit::kCount, 12, -1, {}},
                     {"gathers.eager_fallback", Unit::kCount, 2, -1, {}},
                     {"releases.final", Unit::kCount, 12, -1, {}}};
  return recording;
}

Fact& fact_of(Recording& recording, const std::string& name) {
  return *std::ranges::find(recording.facts, name, &Fact::name);
}

Baseline baseline_of(const std::vector<Recording>& recordings) {
  Baseline baseline;
  update(baseline, recordings, "2026-11-01", false);
  return baseline;
}

Verdict judged(const Recording& recording, Rules rules = {}, const Baseline& baseline = baseline_of({recorded()})) {
  if (rules.today.empty()) rules.today = "2026-11-25";
  Expected<Verdict> verdict = judge("gpt.json", baseline, recording, rules);
  EXPECT_TRUE(verdict.ok());
  return std::move(*verdict);
}

const CheckedFact& fact_of(const Verdict& verdict, const std::string& name) {
  return *std::ranges::find(verdict.facts, name, &CheckedFact::name);
}

TEST(Judge, TheSameRunPasses) {
  const Verdict verdict = judged(recorded());
  EXPECT_EQ(verdict.outcome, Outcome::kPassed);
  EXPECT_TRUE(std::ranges::all_of(verdict.facts, [](const CheckedFact& fact) { return fact.state == State::kEqual; }));
  EXPECT_EQ(verdict.ran, "12 gathers, 12 final non-persistent releases");
}

TEST(Judge, OneByteMoreFailsWithItsLine) {
  Recording now = recorded();
  Fact& peak = fact_of(now, "peak.forward");
  peak.value += 1;
  peak.lines[1].bytes.value += 1;
  const Verdict verdict = judged(now);
  EXPECT_EQ(verdict.outcome, Outcome::kFailed);
  const CheckedFact& fact = fact_of(verdict, "peak.forward");
  EXPECT_EQ(fact.state, State::kGrew);
  EXPECT_EQ(fact.change(), 1);
  ASSERT_EQ(fact.causes.size(), 1u);
  EXPECT_EQ(fact.causes[0].line, 12);
  EXPECT_EQ(fact.causes[0].share, 1);
  EXPECT_EQ(verdict.failed_facts(), 1);
}

TEST(Judge, AGainFailsUnderStrictOnly) {
  Recording now = recorded();
  fact_of(now, "peak.forward").value -= kMiB;
  EXPECT_EQ(judged(now).outcome, Outcome::kPassed);
  EXPECT_EQ(fact_of(judged(now), "peak.forward").state, State::kGained);
  EXPECT_EQ(judged(now, {.strict = true}).outcome, Outcome::kFailed);
}

TEST(Judge, ToleranceIsTheSpreadOfTheRecordingsAndNoMoreThanAHundredth) {
  std::vector<Recording> recordings(3, recorded());
  fact_of(recordings[0], "peak.forward").value += 300;
  fact_of(recordings[1], "peak.forward").value += 100;
  fact_of(recordings[2], "peak.backward").value += 2 * kMiB;
  const Baseline baseline = baseline_of(recordings);
  const Section& section = *baseline.section("cpu, torch 2.11");
  EXPECT_EQ(section.fact("peak.forward")->value, 9 * kMiB + 100);
  EXPECT_EQ(section.fact("peak.forward")->tolerance, 300);
  EXPECT_EQ(section.fact("peak.backward")->value, 12 * kMiB);
  EXPECT_EQ(section.fact("peak.backward")->tolerance, 12 * kMiB / 100);
  EXPECT_EQ(section.fact("growth.step")->tolerance, 0);

  Recording now = recorded();
  fact_of(now, "peak.forward").value += 400;
  EXPECT_EQ(judged(now, {}, baseline).outcome, Outcome::kPassed);
  EXPECT_EQ(fact_of(judged(now, {}, baseline), "peak.forward").state, State::kWithin);
  fact_of(now, "peak.forward").value += 1;
  EXPECT_EQ(judged(now, {}, baseline).outcome, Outcome::kFailed);
}

TEST(Judge, WhatFailsInEachRecordingFails) {
  const Baseline baseline = baseline_of({recorded()});
  std::vector<Recording> recordings(3, recorded());
  fact_of(recordings[0], "peak.forward").value += 5000;
  fact_of(recordings[2], "peak.forward").value += 4000;
  EXPECT_EQ(judged(recordings[0]).outcome, Outcome::kFailed);
  EXPECT_EQ(judged(nearest_of(recordings, baseline)).outcome, Outcome::kPassed);
  fact_of(recordings[1], "peak.forward").value += 3000;
  EXPECT_EQ(fact_of(judged(nearest_of(recordings, baseline)), "peak.forward").change(), 3000);
}

/// What `check` does with a command whose peak is noisy: three recordings, and three more where they differ, are the
/// baseline; a first recording that fails is followed by two.
class NoiseTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kNoise = 40'000;

  Recording noisy(std::int64_t planted) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    Recording recording = recorded();
    fact_of(recording, "peak.forward").value += static_cast<std::int64_t>((state_ >> 33) % kNoise) + planted;
    return recording;
  }
  Baseline learned() {
    std::vector<Recording> recordings{noisy(0), noisy(0), noisy(0)};
    EXPECT_TRUE(differ(recordings));
    for (int i = 0; i < 3; ++i) recordings.push_back(noisy(0));
    return baseline_of(recordings);
  }
  bool fails(const Baseline& baseline, std::int64_t planted) {
    std::vector<Recording> recordings{noisy(planted)};
    if (judged(recordings[0], {}, baseline).outcome == Outcome::kPassed) return false;
    recordings.insert(recordings.end(), {noisy(planted), noisy(planted)});
    return judged(nearest_of(recordings, baseline), {}, baseline).outcome == Outcome::kFailed;
  }

 private:
  std::uint64_t state_ = 1;
};

TEST_F(NoiseTest, StaysWithinWhatTheRecordingsTaughtAndAPlantOfTwiceTheSpreadFails) {
  int cried = 0;
  for (int workload = 0; workload < 20; ++workload) {
    const Baseline baseline = learned();
    for (int run = 0; run < 20; ++run) {
      cried += fails(baseline, 0) ? 1 : 0;
      EXPECT_TRUE(fails(baseline, 2 * kNoise));
    }
  }
  EXPECT_LE(cried, 4);  // of 400
  EXPECT_FALSE(differ({recorded(), recorded()}));
}

TEST(Judge, AGateWhosePathNeverRanFails) {
  Recording now = recorded();
  fact_of(now, "gathers.eager_fallback").value = 0;
  const Verdict verdict = judged(now);
  EXPECT_EQ(verdict.outcome, Outcome::kFailed);
  EXPECT_EQ(fact_of(verdict, "gathers.eager_fallback").state, State::kVacuous);
}

TEST(Judge, PersistentReleasesAloneTestNothing) {
  Recording now = recorded();
  std::erase_if(now.facts, [](const Fact& fact) { return fact.name == "releases.final"; });
  now.facts.push_back({"releases.persistent", Unit::kCount, 12, -1, {}});
  const Verdict verdict = judged(now);
  EXPECT_EQ(verdict.outcome, Outcome::kFailed);
  ASSERT_FALSE(verdict.reasons.empty());
  EXPECT_NE(verdict.reasons[0].find("all 12 releases are of persistent parameters"), std::string::npos);
}

TEST(Judge, RequirementsAreMetOrFail) {
  EXPECT_EQ(judged(recorded(), {.require = {"gathers.eager > 0"}}).outcome, Outcome::kPassed);
  EXPECT_EQ(judged(recorded(), {.require = {"gathers.eager >= 3"}}).outcome, Outcome::kFailed);
  const Verdict verdict = judged(recorded(), {.require = {"gathers.hook > 0"}});
  EXPECT_EQ(verdict.outcome, Outcome::kFailed);
  EXPECT_EQ(
      verdict.reasons[0],
      "required gathers.hook > 0, but it is 0; what ran: gathers 12, gathers.eager_fallback 2, releases.final 12");
  for (const char* wrong : {"gathers", "gathers > many", "gathers >> 1", "gathers > 1 2", ""}) {
    EXPECT_FALSE(judge("gpt.json", baseline_of({recorded()}), recorded(), {.require = {wrong}}).ok()) << wrong;
  }
}

TEST(Judge, ACountThatDiffersFails) {
  Recording now = recorded();
  fact_of(now, "gathers").value += 1;
  EXPECT_EQ(fact_of(judged(now), "gathers").state, State::kChanged);
  now = recorded();
  now.facts.push_back({"gathers.hook", Unit::kCount, 3, -1, {}});
  EXPECT_EQ(fact_of(judged(now), "gathers.hook").state, State::kChanged);
}

TEST(Judge, APhaseThatIsMissingFailsAndANewOneIsHeldToTheHighestPeak) {
  Recording now = recorded();
  now.facts.erase(now.facts.begin());
  EXPECT_EQ(fact_of(judged(now), "peak.forward").state, State::kVacuous);
  now = recorded();
  now.facts.push_back({"peak.after", Unit::kBytes, 12 * kMiB, -1, {line(30, 12 * kMiB)}});
  EXPECT_EQ(judged(now).outcome, Outcome::kPassed);
  now.facts.back().value += 1;
  EXPECT_EQ(judged(now).outcome, Outcome::kFailed);
  EXPECT_EQ(fact_of(judged(now), "peak.after").causes.front().line, 30);
}

TEST(Judge, AnotherWorkloadIsNotComparable) {
  const auto expect = [](const Recording& now, const std::string& why) {
    const Verdict verdict = judged(now);
    EXPECT_EQ(verdict.outcome, Outcome::kNotComparable) << why;
    ASSERT_FALSE(verdict.reasons.empty());
    EXPECT_NE(verdict.reasons[0].find(why), std::string::npos) << verdict.reasons[0];
  };
  Recording now = recorded();
  now.arguments = "--batch 16";
  expect(now, "--batch 8 in the baseline, --batch 16 now");
  now = recorded();
  now.section = "cpu, torch 2.15";
  expect(now, "this run is of cpu, torch 2.15, the baseline of cpu, torch 2.11");
  now = recorded();
  now.ranks = 2;
  expect(now, "ranks: 1 in the baseline, 2 now");
  now = recorded();
  now.steps = 7;
  expect(now, "steps: 6 in the baseline, 7 now");
  now = recorded();
  now.made = {Bytes(8 * kMiB), Bytes(2 * kMiB)};
  expect(now, "0 are as in the baseline: another batch, shape or type of numbers");
  now.made = {Bytes(8 * kMiB), Bytes(kMiB)};
  EXPECT_EQ(judged(now).outcome, Outcome::kPassed);  // one of two: a size was added
}

TEST(Judge, ALossyRecordingNeverPasses) {
  Recording now = recorded();
  now.unfit = {"out/rank0.dcmt: 3 records were lost"};
  const Verdict verdict = judged(now);
  EXPECT_EQ(verdict.outcome, Outcome::kUnfit);
  EXPECT_TRUE(verdict.facts.empty());
}

TEST(Judge, RepeatedUpdatesCannotHideACreep) {
  Baseline baseline = baseline_of({recorded()});
  Recording now = recorded();
  for (int month = 0; month < 3; ++month) {
    fact_of(now, "peak.forward").value += 3 * kMiB / 10;
    update(baseline, {now}, "2027-01-01", false);
    EXPECT_EQ(judged(now, {}, baseline).outcome, Outcome::kPassed);
  }
  const Verdict verdict = judged(now, {}, baseline);
  const CheckedFact& fact = fact_of(verdict, "peak.forward");
  EXPECT_EQ(fact.anchor, 9 * kMiB);
  EXPECT_EQ(fact.since, "2026-11-01");
  update(baseline, {now}, "2027-02-01", true);
  EXPECT_EQ(baseline.sections[0].fact("peak.forward")->anchor, now.facts[0].value);
  EXPECT_EQ(baseline.sections[0].fact("peak.forward")->since, "2027-02-01");
}

class RetentionTest : public ::testing::Test {
 protected:
  RetentionTest() {
    fact_of(now, "peak.forward").value += kMiB;
    analyzer::FindingFact& finding = now.findings.emplace_back();
    finding.number = 1;
    finding.rule = "grows";
    finding.title = "grows";
    finding.holder = "main: probe.seen";
    finding.file = "/repo/m.py";
    finding.line = 12;
    finding.bytes = Bytes(kMiB);
    baseline.expect = {{"probe.seen", kMiB, "the probe goes in spring", "2027-03-31"}};
  }
  Verdict on(const std::string& day, bool main = false) {
    return judged(now, {.on_main = main, .today = day}, baseline);
  }
  Recording now = recorded();
  Baseline baseline = baseline_of({recorded()});
};

TEST_F(RetentionTest, PassesUntilItsDay) {
  const Verdict verdict = on("2027-01-01", true);
  EXPECT_EQ(verdict.outcome, Outcome::kPassed);
  EXPECT_EQ(fact_of(verdict, "peak.forward").state, State::kRetained);
  EXPECT_TRUE(verdict.warnings.empty());
}

TEST_F(RetentionTest, WarnsFourteenDaysAhead) {
  EXPECT_TRUE(on("2027-03-16").warnings.empty());
  const Verdict verdict = on("2027-03-17");
  ASSERT_EQ(verdict.warnings.size(), 1u);
  EXPECT_EQ(verdict.warnings[0],
            "expected retention 'probe.seen' (the probe goes in spring) expires on 2027-03-31, in 14 days");
  EXPECT_EQ(on("2027-03-31", true).outcome, Outcome::kPassed);
}

TEST_F(RetentionTest, PastItsDayFailsOnMainOnly) {
  EXPECT_EQ(on("2027-04-01").outcome, Outcome::kPassed);
  EXPECT_EQ(on("2027-04-01").warnings.size(), 1u);
  const Verdict verdict = on("2027-04-01", true);
  EXPECT_EQ(verdict.outcome, Outcome::kFailed);
  EXPECT_NE(verdict.reasons[0].find("has expired on 2027-03-31"), std::string::npos);
}

TEST_F(RetentionTest, AllowsNoMoreThanItSaysAndNothingWithoutItsFinding) {
  fact_of(now, "peak.forward").value += 1;
  EXPECT_EQ(on("2027-01-01").outcome, Outcome::kFailed);
  fact_of(now, "peak.forward").value -= 1;
  now.findings.clear();
  EXPECT_EQ(on("2027-01-01").outcome, Outcome::kFailed);
  EXPECT_NE(on("2027-01-01").warnings[0].find("is not in this run"), std::string::npos);
}

TEST(Judge, AFindingAtTheLineNamesTheHolder) {
  Recording now = recorded();
  Fact& peak = fact_of(now, "peak.forward");
  peak.value += kMiB;
  peak.lines.push_back(line(15, kMiB));
  analyzer::FindingFact& finding = now.findings.emplace_back();
  finding.number = 3;
  finding.title = "grows";
  finding.holder = "main: kept";
  finding.fix = "clear it";
  finding.made = {{"/repo/m.py", 15}};
  const Cause cause = fact_of(judged(now), "peak.forward").causes.at(0);
  EXPECT_EQ(cause.finding, 3);
  EXPECT_EQ(cause.holder, "main: kept");
  EXPECT_EQ(cause.fix, "clear it");
}

}  // namespace
}  // namespace dcmt::gate

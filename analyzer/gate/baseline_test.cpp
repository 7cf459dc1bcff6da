#include "analyzer/gate/baseline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "analyzer/gate/judge.h"

namespace dcmt::gate {
namespace {

Baseline full() {
  Recording recording;
  recording.section = "cpu, torch 2.11";
  recording.arguments = "--say \"hi, you\"";
  recording.steps = 6;
  recording.sizes = {Bytes(1 << 20)};
  recording.operators = 8;
  recording.order = "bf05b01c";
  analyzer::AllocationLine line;
  line.function = "m.py Net.forward";
  line.bytes = Bytes(1 << 20);
  const std::vector<analyzer::AllocationLine> lines(20, line);
  for (const char* phase : {"first_step", "forward", "backward", "optimizer", "other", "after"}) {
    recording.facts.push_back({std::string("peak.") + phase, Unit::kBytes, 20 << 20, -1, lines});
  }
  recording.facts.push_back({"growth.step", Unit::kBytes, 0, -1, {}});
  recording.facts.push_back({"residual.bytes", Unit::kBytes, 0, -1, {}});
  for (const char* count : {"gathers", "gathers.compiled", "gathers.eager_fallback", "releases.final"}) {
    recording.facts.push_back({count, Unit::kCount, 12, -1, {}});
  }
  std::vector<Recording> recordings(3, recording);
  recordings[1].facts[1].value += 64;
  Baseline baseline;
  baseline.command = {"python", "train.py", "--say", "hi, you"};
  baseline.require = {"gathers.eager > 0"};
  update(baseline, recordings, "2026-11-25", false);
  return baseline;
}

TEST(BaselineFile, IsReadAsItWasWritten) {
  Baseline baseline = full();
  baseline.expect = {{"main: probe.seen", 4096, "until \"spring\"", "2027-03-31"}};
  const std::string text = baseline_text(baseline);
  const Expected<Baseline> read = parse_baseline("gpt.json", text);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(baseline_text(*read), text);
  EXPECT_EQ(read->command, baseline.command);
  EXPECT_EQ(read->sections[0].fact("peak.forward")->tolerance, 64);
  EXPECT_EQ(read->sections[0].arguments, "--say \"hi, you\"");
  EXPECT_EQ(read->sections[0].sizes, baseline.sections[0].sizes);
  EXPECT_EQ(read->sections[0].fact("peak.after")->composition, baseline.sections[0].fact("peak.after")->composition);
}

TEST(BaselineFile, HasAtMostFortyLinesAndAFactALine) {
  const std::string text = baseline_text(full());
  EXPECT_LE(std::ranges::count(text, '\n'), 40);
  std::istringstream lines(text);
  bool blank = true;
  for (std::string line; std::getline(lines, line);) {
    const bool fact = line.find("\": {\"") != std::string::npos;
    EXPECT_TRUE(!fact || blank || line.find("peak.first_step") != std::string::npos) << line;
    blank = line.empty();
  }
}

TEST(BaselineFile, AnUpdateOfOneFactChangesItsLineAlone) {
  Baseline baseline = full();
  const std::string before = baseline_text(baseline);
  Recording recording;
  recording.section = "cpu, torch 2.11";
  recording.arguments = baseline.sections[0].arguments;
  recording.steps = 6;
  recording.sizes = baseline.sections[0].sizes;
  recording.operators = 8;
  recording.order = "bf05b01c";
  for (const BaselineFact& fact : baseline.sections[0].facts) {
    recording.facts.insert(recording.facts.begin(), {fact.name, fact.unit, fact.value, -1, {}});
  }
  baseline.sections[0].facts[1].value = 5;
  for (BaselineFact& fact : baseline.sections[0].facts) fact.composition.clear(), fact.tolerance = 0;
  const std::string without = baseline_text(baseline);
  update(baseline, {recording}, "2027-05-05", false);
  std::istringstream was(without);
  std::istringstream is(baseline_text(baseline));
  int changed = 0;
  for (std::string a, b; std::getline(was, a) && std::getline(is, b);) changed += a != b ? 1 : 0;
  EXPECT_EQ(changed, 1);
  EXPECT_EQ(baseline.sections[0].fact("peak.forward")->since, "2026-11-25");
}

/// Writes a file into a folder and returns its path.
std::string write(const std::filesystem::path& folder, const char* name, const std::string& text) {
  std::ofstream(folder / name) << text;
  return (folder / name).string();
}

TEST(BaselineFile, BranchesThatChangeDifferentFactsMerge) {
  ASSERT_EQ(std::system("git --version > /dev/null"), 0) << "this test merges with git";
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("dcmt_merge_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string base = baseline_text(full());
  for (std::size_t i = 0; i + 1 < full().sections[0].facts.size(); ++i) {
    Baseline mine = full();
    Baseline theirs = full();
    mine.sections[0].facts[i].value += 7;
    theirs.sections[0].facts[i + 1].value += 9;
    const std::string ours = write(folder, "ours.json", baseline_text(mine));
    const std::string command = "git merge-file " + ours + " " + write(folder, "base.json", base) + " " +
                                write(folder, "theirs.json", baseline_text(theirs));
    EXPECT_EQ(std::system(command.c_str()), 0) << i;
    std::ifstream file(ours);
    std::ostringstream merged;
    merged << file.rdbuf();
    const Expected<Baseline> read = parse_baseline("merged.json", merged.str());
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->sections[0].facts[i].value, mine.sections[0].facts[i].value);
    EXPECT_EQ(read->sections[0].facts[i + 1].value, theirs.sections[0].facts[i + 1].value);
  }
  std::filesystem::remove_all(folder);
}

TEST(BaselineFile, SectionsOfOtherTorchesStay) {
  Baseline baseline = full();
  Recording other;
  other.section = "cpu, torch 2.10";
  other.facts = {{"peak.forward", Unit::kBytes, 5, -1, {}}};
  update(baseline, {other}, "2026-12-01", false);
  ASSERT_EQ(baseline.sections.size(), 2u);
  EXPECT_EQ(baseline.sections[0].name, "cpu, torch 2.10");
  EXPECT_EQ(baseline.sections[1].fact("peak.forward")->value, 20 << 20);
}

TEST(BaselineFile, WhatIsWrongIsSaidInOneLine) {
  const std::string right = baseline_text(full());
  const auto expect = [](const std::string& text, const std::string& what) {
    const Expected<Baseline> read = parse_baseline("gpt.json", text);
    ASSERT_FALSE(read.ok()) << what;
    EXPECT_NE(read.error().message.find(what), std::string::npos) << read.error().message;
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  };
  expect("", "is no JSON");
  expect("{\"baseline\": 1,\n<<<<<<< ours\n}", "unsolved merge conflict");
  expect("[]", "is no baseline");
  expect("{}", "is no baseline");
  expect("{\"baseline\": 2}", "version 2, this build reads version 1");
  expect("{\"baseline\": 1, \"cpu\": 5}", "is not an object");
  expect("{\"baseline\": 1, \"cpu\": {\"peak.x\": {}}}", "has neither");
  expect("{\"baseline\": 1, \"cpu\": {\"peak.x\": {\"bytes\": 5, \"count\": 5}}}", "has both");
  expect("{\"baseline\": 1, \"cpu\": {\"peak.x\": {\"bytes\": \"many\"}}}", "is not a whole number");
  expect("{\"baseline\": 1, \"cpu\": {\"peak.x\": {\"bytes\": 18446744073709551615}}}", "is not a whole number");
  expect("{\"baseline\": 1, \"cpu\": {\"peak.x\": {\"bytes\": 9000000000000000000}}}", "");
  expect("{\"baseline\": 1, \"cpu\": {\"peak.x\": {\"bytes\": -9000000000000000000}}}", "is too large");
  expect("{\"baseline\": 1, \"cpu\": {\"peak.x\": {\"bytes\": 5, \"tolerance\": -1}}}", "is below 0");
  expect("{\"baseline\": 1, \"cpu\": {\"peak.x\": {\"bytes\": 5, \"of\": {\"f\": []}}}}", "without a list of bytes");
  expect("{\"baseline\": 1, \"cpu\": {\"peak.x\": {\"bytes\": 5, \"optional\": 1}}}", "is neither true nor false");
  expect("{\"baseline\": 1, \"expect\": [{\"finding\": \"x\"}]}", "\"reason\" or \"until\"");
  expect("{\"baseline\": 1, \"expect\": [{\"finding\": \"x\", \"reason\": \"y\", \"until\": \"2027-02-30\"}]}",
         "'2027-02-30' is no date");
  expect(
      "{\"baseline\": 1, \"expect\": [{\"finding\": \"x\", \"reason\": \"y\", \"until\": \"2027-02-20\", \"bytes\": "
      "-5}]}",
      "expect.bytes is below 0");
  expect("{\"baseline\": 1, \"command\": \"python\"}", "is not a list of texts");
  expect("{\"baseline\": 1, \"require\": [\"gathers\"]}", "'gathers' is no requirement");
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  expect("{\"baseline\": 1, \"cpu\": {\"peak.x\": {\"bytes\": 5, \"of\": {\"f\": " + deep + "}}}}",
         "lists within lists");
  expect("{\"baseline\": 1, \"cpu\": {\"workload\": {\"sizes\": " + deep + "}}}", "lists within lists");
  expect("{\"baseline\": " + deep + ", \"a\": 1, \"b\": 2}", "lists within lists");
  expect("{\"baseline\": 1, \"cpu\": {\"peak.x\": {\"bytes\": 5, \"of\": {\"f\": [[5]]}}}}", "is not a whole number");
  for (std::size_t at = 0; at < right.size(); at += 7) (void)parse_baseline("cut.json", right.substr(0, at));
}

TEST(Baseline, WhatOneRecordingLacksOrHasAloneIsNearestToTheBaselineInAnother) {
  const Baseline baseline = full();
  Recording recording;
  recording.section = "cpu, torch 2.11";
  for (const BaselineFact& fact : baseline.sections.front().facts) {
    recording.facts.push_back({fact.name, fact.unit, fact.value + 1, -1, {}});
  }
  std::vector<Recording> recordings(3, recording);
  std::erase_if(recordings[0].facts, [](const Fact& fact) { return fact.name == "peak.backward"; });
  recordings[0].facts.push_back({"peak.evaluation", Unit::kBytes, 1 << 30, -1, {}});
  recordings[2].facts[1].value -= 1;
  const Recording nearest = nearest_of(recordings, baseline);
  ASSERT_NE(nearest.fact("peak.backward"), nullptr);
  EXPECT_EQ(nearest.fact("peak.backward")->value, recording.fact("peak.backward")->value);
  EXPECT_EQ(nearest.fact("peak.evaluation"), nullptr);
  EXPECT_EQ(nearest.fact("peak.forward")->value, recording.fact("peak.forward")->value - 1);
  // In all of them it is no noise.
  for (std::size_t i = 1; i < recordings.size(); ++i) {
    recordings[i].facts.push_back({"peak.evaluation", Unit::kBytes, 1 << 20, -1, {}});
  }
  ASSERT_NE(nearest_of(recordings, baseline).fact("peak.evaluation"), nullptr);
  EXPECT_EQ(nearest_of(recordings, baseline).fact("peak.evaluation")->value, 1 << 20);
}

TEST(Baseline, ACountThatSomeRecordingsLackIsNoiseDownToNothing) {
  Recording with;
  with.section = "cpu, torch 2.11";
  with.facts = {{"gathers", Unit::kCount, 12, -1, {}}, {"gathers.eager_fallback", Unit::kCount, 2, -1, {}}};
  Recording without = with;
  without.facts.pop_back();
  EXPECT_TRUE(differ({with, without}));
  EXPECT_TRUE(differ({without, with}));
  for (const std::vector<Recording>& recordings :
       {std::vector{with, without, with}, std::vector{without, with, without}}) {
    Baseline baseline;
    update(baseline, recordings, "2026-11-25", false);
    EXPECT_EQ(baseline.sections[0].fact("gathers.eager_fallback")->tolerance, 2);
    EXPECT_EQ(baseline.sections[0].fact("gathers")->tolerance, 0);
    for (const Recording& now : {with, without}) {
      const Expected<Verdict> verdict = judge("gpt.json", baseline, now, {});
      ASSERT_TRUE(verdict.ok());
      EXPECT_EQ(verdict->failed_facts(), 0);
    }
  }
  // Without it in the baseline, it is new only if each recording has it.
  Baseline baseline;
  update(baseline, {without}, "2026-11-25", false);
  EXPECT_EQ(nearest_of({with, without}, baseline).fact("gathers.eager_fallback"), nullptr);
  EXPECT_NE(nearest_of({with, with}, baseline).fact("gathers.eager_fallback"), nullptr);
}

TEST(Baseline, APeakThatSomeRecordingsLackIsOptional) {
  Recording with;
  with.section = "cpu, torch 2.11";
  with.facts = {{"peak.forward", Unit::kBytes, 1000, -1, {}}, {"peak.evaluation", Unit::kBytes, 500, -1, {}}};
  Recording without = with;
  without.facts.pop_back();
  Recording grown = with;
  grown.facts.back().value += 1;
  const auto outcome_of = [](const Baseline& baseline, const Recording& now, bool strict = false) {
    const Expected<Verdict> verdict = judge("gpt.json", baseline, now, {.strict = strict});
    EXPECT_TRUE(verdict.ok());
    return verdict->outcome;
  };
  for (const std::vector<Recording>& recordings :
       {std::vector{with, without, with}, std::vector{without, with, without}}) {
    EXPECT_TRUE(differ(recordings));
    Baseline written;
    update(written, recordings, "2026-11-25", false);
    const Expected<Baseline> baseline = parse_baseline("gpt.json", baseline_text(written));
    ASSERT_TRUE(baseline.ok()) << baseline.error().message;
    EXPECT_TRUE(baseline->sections[0].fact("peak.evaluation")->optional);
    EXPECT_FALSE(baseline->sections[0].fact("peak.forward")->optional);
    EXPECT_EQ(outcome_of(*baseline, with, true), Outcome::kPassed);
    EXPECT_EQ(outcome_of(*baseline, without, true), Outcome::kPassed);
    EXPECT_EQ(outcome_of(*baseline, grown), Outcome::kFailed);
    // It fails only where each recording has more of it.
    EXPECT_EQ(outcome_of(*baseline, nearest_of({grown, without, grown}, *baseline)), Outcome::kPassed);
    EXPECT_EQ(outcome_of(*baseline, nearest_of({grown, grown}, *baseline)), Outcome::kFailed);
    const Expected<Verdict> verdict = judge("gpt.json", *baseline, without, {});
    ASSERT_TRUE(verdict.ok());
    EXPECT_EQ(verdict->facts.back().state, State::kAbsent);
    EXPECT_TRUE(verdict->facts.back().is_as_before());
  }
  // What each recording had is missed.
  Baseline baseline;
  update(baseline, {with, with}, "2026-11-25", false);
  EXPECT_EQ(outcome_of(baseline, without), Outcome::kFailed);
}

}  // namespace
}  // namespace dcmt::gate

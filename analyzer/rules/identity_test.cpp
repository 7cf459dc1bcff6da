#include "analyzer/rules/identity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/storages/without_numbers.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::LocalOf;
using testing::TestTrace;

/// What differs between two runs of one program.
struct RunOf {
  std::string folder = "/home/one/project";       ///< of the program
  std::string cache = "/tmp/torchinductor_one/";  ///< of generated code
  std::int64_t moved = 0;                         ///< lines that an edit above the program's code adds
  std::int64_t world_size = 2;
  unsigned censuses = ~0u;  ///< which releases have one, by bit
};

/// Two modules of a model gather each three parameters; `holders`: what holds those of each module after the release.
std::vector<FindingIdentity> findings_of(const RunOf& run, const std::vector<std::string>& holders) {
  TestTrace trace;
  trace.meta_integers["world_size"] = run.world_size;
  std::int64_t key = 0;
  for (const std::string& holder : holders) {
    for (std::int64_t i = 0; i < 3; ++i, ++key) {
      const std::int64_t line = 10 * key + run.moved;
      trace.stack = {{run.cache + "ab/cab.py", "Runner.call", 90 + 7 * key},
                     {run.folder + "/model.py", "Block.forward", 41 + line}};
      const TestTrace::Handle buffer = trace.allocate(1000 / run.world_size);
      trace.gather(key, buffer);
      const std::int64_t release = trace.release(key, buffer);
      LocalOf local;
      local.name = "buf" + std::to_string(key);
      local.function = holder;
      local.file = run.folder + "/model.py";
      local.assignment = "x = y";
      local.line = 50 + line;
      if ((run.censuses >> key & 1) != 0) trace.census(release, buffer, {local});
    }
  }
  trace.op("aten::sum");
  trace.step(1);
  const TraceData data = trace.load();
  std::vector<FindingIdentity> identities;
  for (const Finding& finding : analyze(data).findings) identities.push_back(finding.identity);
  return identities;
}

/// Findings that are one defect together.
std::size_t defects(const std::vector<FindingIdentity>& identities) {
  std::vector<FindingIdentity> known;
  for (const FindingIdentity& identity : identities) {
    const auto same =
        std::ranges::find_if(known, [&](const FindingIdentity& one) { return same_finding(one, identity); });
    if (same == known.end()) {
      known.push_back(identity);
    } else if (!same->holder) {
      same->holder = identity.holder;
    }
  }
  return known.size();
}

TEST(Identity, IsTheSameInEveryRunOfAProgram) {
  const std::vector<std::string> one_holder{"Block.forward", "Block.forward"};
  const std::vector<FindingIdentity> first = findings_of({}, one_holder);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].born, "zero3::allgather_param in Block.forward (model.py)");
  EXPECT_EQ(first[0].released, "zero3::release_param in Block.forward (model.py)");
  EXPECT_EQ(first[0].holder, "Block.forward (model.py)");
  std::mt19937 random(7);
  std::vector<FindingIdentity> all;
  for (int i = 0; i < 10; ++i) {
    RunOf run;
    run.censuses = static_cast<unsigned>(random());
    if (i % 2 == 1) run.cache = "/tmp/other/torchinductor_two/";
    if (i % 3 == 1) run.folder = "/mnt/two/project";
    if (i % 4 == 1) run.moved = 17;
    if (i % 5 == 1) run.world_size = 4;
    const std::vector<FindingIdentity> found = findings_of(run, one_holder);
    ASSERT_FALSE(found.empty());
    all.insert(all.end(), found.begin(), found.end());
  }
  EXPECT_EQ(defects(all), 1u);
}

TEST(Identity, OfTwoHoldersAtOneLineAreTwo) {
  const std::vector<FindingIdentity> found = findings_of({}, {"Block.forward", "Log.keep"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].born, found[1].born);
  EXPECT_EQ(found[0].released, found[1].released);
  EXPECT_FALSE(same_finding(found[0], found[1]));
}

TEST(Identity, AHolderThatIsNotCertainDistinguishesNothing) {
  const FindingIdentity known{"residual", "gather in f (a.py)", "release in f (a.py)", "g (a.py)"};
  FindingIdentity other = known;
  other.holder = "h (a.py)";
  EXPECT_FALSE(same_finding(known, other));
  other.holder.reset();
  EXPECT_TRUE(same_finding(known, other));
  other.released = "release in g (a.py)";
  EXPECT_FALSE(same_finding(known, other));
}

TEST(Identity, NumbersThatChangeAreLeftOut) {
  EXPECT_EQ(without_numbers("layers[3].seen[12]"), "layers[*].seen[*]");
  EXPECT_EQ(without_numbers("torch_dynamo_resume_in_forward_at_45"), "torch_dynamo_resume_in_forward_at_[*]");
  EXPECT_EQ(without_numbers("<object at 0x7f00aB>"), "<object at [*]>");
  EXPECT_EQ(without_numbers("conv2d[a] _at_ []"), "conv2d[a] _at_ []");
}

/// The identity of one parameter that is kept.
FindingIdentity identity_of(const testing::StackOf& stack, const std::vector<LocalOf>& locals,
                            std::int64_t unexplained = 0) {
  TestTrace trace;
  trace.stack = stack;
  const TestTrace::Handle buffer = trace.allocate(1000);
  trace.gather(0, buffer);
  trace.census(trace.release(0, buffer), buffer, locals, unexplained);
  trace.op("aten::sum");
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  EXPECT_EQ(analysis.findings.size(), 1u);
  return analysis.findings.front().identity;
}

TEST(Identity, AFileIsKnownByANameThatItHasEverywhere) {
  const auto born = [](const testing::StackOf& stack) { return identity_of(stack, {}).born; };
  EXPECT_EQ(born({{"/home/one/project/model.py", "f", 1}}), "zero3::allgather_param in f (model.py)");
  EXPECT_EQ(born({{"/venv/lib/python3.11/site-packages/lib/layers/a.py", "f", 1}}),
            "zero3::allgather_param in f (lib/layers/a.py)");
  EXPECT_EQ(born({}), "zero3::allgather_param in no Python");
}

TEST(Identity, ThePlaceIsTheInnermostFunctionThatSomebodyWrote) {
  const testing::FrameOf generated{testing::kGenerated, "call", 90};
  const testing::FrameOf torch{"/v/site-packages/torch/nn/modules/module.py", "_call_impl", 5};
  const testing::FrameOf own{"/home/one/model.py", "forward", 41};
  const testing::FrameOf outer{"/home/one/train.py", "main", 12};
  EXPECT_EQ(identity_of({generated, torch, own, outer}, {}).born, "zero3::allgather_param in forward (model.py)");
  EXPECT_EQ(identity_of({generated, torch}, {}).born, "zero3::allgather_param in call (generated code)")
      << "nobody wrote any of them";
}

TEST(Identity, TheHolderBelongsToItOnlyIfItIsCertain) {
  const LocalOf local{"w", "keep", "/home/one/log.py", "w = x", 5, std::nullopt, 9, "", "", 0, 1};
  const testing::StackOf stack{{"/home/one/model.py", "forward", 41}};
  EXPECT_EQ(identity_of(stack, {local}).holder, "keep (log.py)");
  EXPECT_FALSE(identity_of(stack, {local}, 1).holder);
  EXPECT_FALSE(identity_of(stack, {}).holder);
}

TEST(Identity, TwoFindingsAreOneOnlyIfRuleBirthReleaseAndHolderAgree) {
  const FindingIdentity one{"residual", "gather in f (a.py)", "release in f (a.py)", "g (a.py)"};
  EXPECT_TRUE(same_finding(one, one));
  for (std::string FindingIdentity::*part :
       {&FindingIdentity::rule, &FindingIdentity::born, &FindingIdentity::released}) {
    FindingIdentity other = one;
    other.*part = "something else";
    EXPECT_FALSE(same_finding(one, other));
  }
}

TEST(Identity, AReadIsPartOfIt) {
  TestTrace trace;
  trace.stack = {{"/home/one/model.py", "forward", 41}};
  const TestTrace::Handle buffer = trace.allocate(1000);
  trace.gather(0, buffer);
  const auto release = trace.release(0, buffer);
  trace.stack = {{"/home/one/loss.py", "loss", 7}};
  trace.op("aten::mm", [&] { trace.read(release, 0, buffer, "aten::mm"); });
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  EXPECT_EQ(analysis.findings[0].identity.released,
            "zero3::release_param in forward (model.py), read by aten::mm in loss (loss.py)");
}

}  // namespace
}  // namespace dcmt::analyzer

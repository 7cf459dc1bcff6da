#include "analyzer/growth/used_modules.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;
using Handle = TestTrace::Handle;

constexpr int kMembers = 12;

/// The number of places that grow, without those whose storages are in use: 0 or 1.
std::size_t growing_in(TestTrace& trace, const std::string& changes = "") {
  const TraceData data = trace.load(changes);
  GrowingSites sites = growing_sites(data);
  EXPECT_EQ(sites.sites.size(), 1u);
  leave_out_used(data, sites);
  return sites.sites.size();
}

/// A program that trains one module after the other and keeps all. `asked` of them run at the end.
/// @param replaces  one module gets a new parameter each time
/// @param all  in each turn, all run that there are, but not the last one, which is added at the end
/// @param role  what the modules have
std::size_t growing(int asked, bool replaces, bool all = false, const char* role = "parameter") {
  TestTrace trace;
  std::string modules;
  const auto run = [&](int member) {
    trace.module = "m" + std::to_string(replaces ? 0 : member);
    trace.drop(trace.allocate(700));
    trace.module.clear();
  };
  for (int i = 0; i < kMembers; ++i) {
    trace.stack = {{"train.py", "main", 21}};
    const Handle parameter = trace.allocate(100);
    trace.held(parameter, {.containers = {"main: members"}, .path = "main: members[0]", .role = role});
    modules +=
        "UPDATE held SET module = (SELECT module.id FROM module JOIN string ON string.id = module.name "
        "WHERE string.text = 'm" +
        std::to_string(replaces ? 0 : i) + "') WHERE storage = " + std::to_string(trace.storage_id(parameter).value) +
        ";";
    trace.stack = {{"train.py", "main", 22}};
    for (int step = 0; step < 16 && !all; ++step) run(i);
    for (int each = 0; each <= i && all && i + 1 < kMembers; ++each) run(each);
  }
  for (int i = 0; i < asked; ++i) run(i);
  return growing_in(trace, modules);
}

TEST(UsedModules, MembersOfAnEnsembleThatIsAskedAtTheEndAreInUse) { EXPECT_EQ(growing(kMembers, false), 0u); }

TEST(UsedModules, ModulesThatOnlyRanBeforeTheNextOneWasMadeAreNot) { EXPECT_EQ(growing(0, false), 1u); }

TEST(UsedModules, LayersThatAreAddedAreInUseButForTheLastOne) { EXPECT_EQ(growing(0, false, true), 0u); }

TEST(UsedModules, TheBestOfManyIsNotMostOfThem) { EXPECT_EQ(growing(3, false), 1u); }

TEST(UsedModules, ModulesThatOnlyHaveBuffersAreNoLargerModel) { EXPECT_EQ(growing(0, false, true, "buffer"), 1u); }

TEST(UsedModules, AModuleUsesItsLatestParameterOnly) { EXPECT_EQ(growing(kMembers, true), 1u); }

/// A program whose layers make small blocks only: nothing says which of them run. In each turn it adds one, and trains
/// so many of those that are there.
std::size_t trained(const std::function<int(int there)>& of) {
  TestTrace trace;
  for (int i = 0; i < kMembers; ++i) {
    trace.stack = {{"train.py", "main", 21}};
    const Handle parameter = trace.allocate(100);
    std::vector<Handle> gradients;
    for (int step = 0; step < 4; ++step) {
      trace.stack = {{"train.py", "main", 22}};
      for (const Handle each : gradients) trace.drop(each);
      gradients.clear();
      for (int each = 0; each < of(i + 1); ++each) gradients.push_back(trace.allocate(100));
    }
    trace.begin_reading();
    trace.held(parameter, {.containers = {"main: body"}, .path = "main: body[0]", .role = "parameter"});
    for (const Handle each : gradients) trace.held(each, {.path = "main: p.grad", .role = "gradient"});
    trace.step(i);
    for (const Handle each : gradients) trace.drop(each);
  }
  return growing_in(trace);
}

TEST(UsedModules, LayersThatAllHaveNewGradientsAreInUse) {
  EXPECT_EQ(trained([](int there) { return there; }), 0u);
  EXPECT_EQ(trained([](int) { return 2; }), 1u) << "former models are kept";
  EXPECT_EQ(trained([](int there) { return there - 1; }), 1u) << "one is not trained any more";
}

/// Each phase trains one layer more than the one before, or another layer instead; the optimizer has state for each.
std::size_t phases(bool all_trained) {
  TestTrace trace;
  for (int phase = 0; phase < kMembers; ++phase) {
    for (int step = 0; step < 3; ++step) {
      trace.stack = {{"train.py", "main", 20}};
      trace.step(phase * 3 + step);
      std::vector<Handle> gradients;
      for (int layer = all_trained ? 0 : phase; layer <= phase; ++layer) {
        gradients.push_back(trace.allocate(100));
        trace.held(gradients.back(), {.path = "main: net.weight.grad", .role = "gradient"});
      }
      trace.stack = {{"train.py", "main", 21}};
      if (step == 0)
        trace.held(trace.allocate(100),
                   {.containers = {"main: opt.state"}, .path = "main: opt.state[0]", .role = "optimizer state"});
      for (const Handle each : gradients) trace.drop(each);
    }
  }
  return growing_in(trace);
}

TEST(UsedModules, TheStateOfParametersThatAreAllTrainedIsInUse) {
  EXPECT_EQ(phases(true), 0u);
  EXPECT_EQ(phases(false), 1u) << "only the latest layer has a gradient";
}

}  // namespace
}  // namespace dcmt::analyzer

#include "analyzer/model/holds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "analyzer/testing/test_trace.h"

namespace dcmt::model {
namespace {

using analyzer::OwnerPath;
using analyzer::TraceData;
using testing::TestTrace;

using Pairs = std::set<std::pair<std::int64_t, std::int64_t>>;

Pairs pairs_of(const TraceData& data) {
  Pairs pairs;
  for (const Hold& each : find_holds(data)) pairs.emplace(each.holder.value, each.held.value);
  return pairs;
}

TEST(Holds, APathLeadsThroughItsHolder) {
  TestTrace trace;
  const auto held = [&](const std::string& path, bool confirmed = true) {
    const auto handle = trace.allocate(100);
    trace.held(handle, {.path = path, .otherwise = true, .confirmed = confirmed});
    return static_cast<std::int64_t>(handle) + 1;
  };
  const auto loss = held("main.losses[0]");
  const auto saved = held("main.losses[0].grad_fn MulBackward0._saved_self");
  const auto gradient = held("main.losses[0].grad_fn MulBackward0._saved_self.grad");
  held("main.losses[01].grad_fn MulBackward0._saved_self");  // of an entry without a row
  held("main.losses");
  const auto kept = held("main.losses_kept.x");
  held("main.doubtful", false);
  held("main.doubtful.grad");
  held("main.state[<Parameter>]");
  held("main.state[<Parameter>]['step']");
  held("main.twice");
  held("main.twice");
  held("main.twice.grad");
  const TraceData data = trace.load();
  const std::int64_t list = kept - 1;
  EXPECT_EQ(pairs_of(data), (Pairs{{list, loss}, {list, list - 1}, {loss, saved}, {saved, gradient}}));
}

TEST(Holds, OfReadingsApartHoldNothing) {
  TestTrace trace;
  const auto a = trace.allocate(100);
  const auto b = trace.allocate(100);
  trace.begin_reading();
  trace.held(a, {.path = "main.x", .otherwise = true});
  trace.allocate(1);
  trace.begin_reading();
  trace.held(b, {.path = "main.x.grad", .otherwise = true});
  EXPECT_EQ(pairs_of(trace.load()), Pairs{});
}

/// Each pair of storages is asked whether the one's path leads through the other.
Pairs by_all_pairs(const TraceData& data) {
  const auto& paths = data.owners.paths;
  const auto leads_through = [&](const OwnerPath& to, const OwnerPath& by) {
    const std::string_view a = data.text(to.path);
    const std::string_view b = data.text(by.path);
    return a.size() > b.size() && a.starts_with(b) && std::string(".[ ").find(a[b.size()]) != std::string::npos &&
           b.find('<') == std::string_view::npos && by.confirmed && to.confirmed && to.scan == by.scan;
  };
  Pairs pairs;
  for (const OwnerPath& to : paths) {
    std::size_t longest = 0;
    std::set<std::int64_t> holders;
    for (const OwnerPath& by : paths) {
      if (!leads_through(to, by) || data.text(by.path).size() < longest) continue;
      if (data.text(by.path).size() > longest) holders.clear();
      longest = data.text(by.path).size();
      holders.insert(by.storage.value);
    }
    if (holders.size() == 1) pairs.emplace(*holders.begin(), to.storage.value);
  }
  return pairs;
}

TEST(Holds, EqualEachPairAsked) {
  std::size_t found = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    TestTrace trace;
    for (int reading = 0; reading < 2; ++reading) {
      trace.begin_reading();
      for (int i = 0; i < 25; ++i) {
        std::string path = "m";
        static constexpr const char* kParts[] = {".a", "[0]", ".a b", "[<T>]", "x"};
        for (auto parts = 1 + random() % 4; parts > 0; --parts) path += kParts[random() % std::size(kParts)];
        trace.held(trace.allocate(8), {.path = path, .otherwise = true, .confirmed = random() % 8 != 0});
      }
    }
    const TraceData data = trace.load();
    const Pairs expected = by_all_pairs(data);
    EXPECT_EQ(pairs_of(data), expected) << "seed " << seed;
    found += expected.size();
  }
  EXPECT_GT(found, 30U);
}

}  // namespace
}  // namespace dcmt::model

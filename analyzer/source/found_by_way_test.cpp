#include "analyzer/source/found_by_way.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/source/stored_by.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using Lines = std::vector<std::string>;

/// Of a program whose line 2 makes what is kept.
Lines stored(std::string_view code, std::string_view holder, std::string_view way = {}) {
  testing::TestTrace trace;
  trace.stack = {{"train.py", "main", 2}};
  trace.allocate(100);
  TraceData data = trace.load();
  data.sources.push_back({.path = data.frames.begin()->file, .text = std::string(code)});
  Lines texts;
  for (const StoringStatement& each : stored_by(data, holder, {data.storages.begin()->birth.stack}, way).statements)
    texts.push_back(each.text);
  return texts;
}

TEST(FoundByWay, WhatPutsIntoTheObjectOfALibraryWhosePartHoldsIt) {
  const std::string_view code =
      "def main():\n  x = data()\nclass Scope:\n  def enter(self):\n    self._chain = self._chain.new_child()\n"
      "  def leave(self):\n    self._chain = self._chain.parents\nmain()\n";
  EXPECT_EQ(stored(code, "main: scope._chain.maps"), (Lines{"self._chain = self._chain.new_child()"}));
  EXPECT_EQ(stored(code, "main: scope._other.maps"), Lines{});
}

TEST(FoundByWay, WhoeverGivesAFutureItsResultOrCallback) {
  const std::string_view code =
      "def main():\n  x = data()\ndef publish(item):\n  tail.set_result((item, following))\n"
      "  closing.add_done_callback(done)\n  tail.set_result(None)\nmain()\n";
  EXPECT_EQ(stored(code, "main: feed._cursor (result)"), (Lines{"tail.set_result((item, following))"}));
  EXPECT_EQ(stored(code, "main: feed._cursor", "main: feed._cursor (callbacks)[0]"),
            (Lines{"closing.add_done_callback(done)"}));
}

TEST(FoundByWay, ARegistryByWhatIsNamedAfterItAndMayRunAgain) {
  const std::string_view code =
      "def prior(x):\n  x = data()\n  @register_kl(Normal, Vamp)\n  def estimate(q, p):\n    return p.log_prob(x)\n"
      "@register_kl(Normal, Mixture)\ndef once(q, p):\n  return 0\nprior(1)\n";
  EXPECT_EQ(stored(code, "torch.distributions.kl._KL_REGISTRY", "torch.distributions.kl._KL_REGISTRY.key(x)"),
            (Lines{"@register_kl(Normal, Vamp)"}));
}

}  // namespace
}  // namespace dcmt::analyzer

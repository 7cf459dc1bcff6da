#include "analyzer/rules/unnamed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::HeldOf;
using testing::TestTrace;

/// Three steps of a program whose lines are `code`: its line 2 makes what is held as `of` says, its line 5 the rest.
std::vector<Remark> remarks_of(const std::string& code, const HeldOf& of, const std::string& function = "<module>",
                               std::int64_t bytes = 1000) {
  TestTrace trace;
  trace.stack = {{"train.py", function, 2}};
  trace.held(trace.allocate(bytes), of);
  trace.stack = {{"train.py", function, 5}};
  for (int i = 0; i < 3; ++i) {
    trace.drop(trace.allocate(2000));
    trace.step(i);
  }
  TraceData data = trace.load();
  for (const Frame& frame : data.frames) {
    if (data.sources.empty()) data.sources.push_back({frame.file, code});
  }
  std::vector<Remark> remarks = analyze(data).remarks;
  std::erase_if(remarks, [](const Remark& remark) { return remark.kind != RemarkKind::kKept; });
  return remarks;
}

const HeldOf kState = {.containers = {"main.state"}, .path = "main.state['a']", .type = "dict"};
const std::string kBegin = "import torch\nstate = load()\nmodel.load_state_dict(state)\n";

TEST(Unnamed, AVariableThatNoLaterLineNamesIsSaid) {
  const std::vector<Remark> found = remarks_of(kBegin + "for step in range(3):\n    train()\n", kState);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().text(),
            "main.state holds 1,000 B from before the first step's end to the last one (1 storage, from train.py:2 "
            "<module>); no line that runs after the first step names it");
  EXPECT_EQ(found.front().bytes, Bytes(1000));
}

TEST(Unnamed, OneThatALaterLineCouldUseIsNot) {
  for (const char* code :
       {"for step in check(state):\n    train()\n", "for step in range(3):\n    train()\n    use(state)\n",
        "for step in range(3):\n    train()\nsave(state)\n",
        "for step in range(3):\n    train()\ndef use():\n    return state\n"}) {
    EXPECT_TRUE(remarks_of(kBegin + code, kState).empty()) << code;
  }
  EXPECT_EQ(remarks_of(kBegin + "for step in range(3):\n    train()\n    model.state()\n", kState).size(), 1u);
}

TEST(Unnamed, VariablesOfFunctionsCountInTheirFunction) {
  const std::string code =
      "def main():\n    state = load()\n    use(state)\n    for step in range(3):\n        train()\n";
  const HeldOf of = {.containers = {"main: state"}, .path = "main: state['a']", .type = "dict"};
  EXPECT_EQ(remarks_of(code + "def other(state):\n    return state\n", of, "main").size(), 1u);
  EXPECT_TRUE(remarks_of(code + "    save(state)\n", of, "main").empty());
  EXPECT_TRUE(remarks_of(code + "    def use():\n        return state\n", of, "main").empty());
}

TEST(Unnamed, WhatIsHeldOtherwiseTooIsNot) {
  const std::string code = kBegin + "for step in range(3):\n    train()\n";
  HeldOf of = kState;
  of.otherwise = true;
  EXPECT_TRUE(remarks_of(code, of).empty());
  of = kState;
  of.containers.emplace_back("main.cache");
  EXPECT_TRUE(remarks_of(code, of).empty());
  of = kState;
  of.role = "parameter";
  EXPECT_TRUE(remarks_of(code, of).empty());
  of = kState;
  of.containers = {"main.cache.state"};
  EXPECT_TRUE(remarks_of(code, of).empty()) << "no variable";
}

TEST(Unnamed, AThousandthOfThePeakIsNot) {
  EXPECT_TRUE(remarks_of(kBegin + "for step in range(3):\n    train()\n", kState, "<module>", 2).empty());
}

}  // namespace
}  // namespace dcmt::analyzer

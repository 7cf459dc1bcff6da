#include "analyzer/rules/stored_by.h"

#include <gtest/gtest.h>

namespace dcmt::analyzer {
namespace {

constexpr std::string_view kCode = R"(import torch
LOG = []                                  # LOG.append(x)

class Probe:
    """self.seen.append(x) is what it does."""
    def __init__(self):
        self.seen = []

    def save(self, module, args, out):
        self.seen.append(out if module else 0)  # kept

def main():
    losses, by_step, queue = [], {}, None
    LOG.append(losses)
    by_step[len("losses.append(")] = losses
    if by_step['x'] == losses: pass
    for step in range(3):
        losses.append(step)

    by_step['a'].extend(losses)

def other(losses):
    losses += [1]
    queue.put(losses)
)";

std::vector<std::string> of(std::string_view holder) {
  std::vector<std::string> lines;
  for (const StoringStatement& each : storing_statements(kCode, "train.py", holder)) {
    lines.push_back(each.site + " " + each.text);
  }
  return lines;
}
using Lines = std::vector<std::string>;

TEST(StoredByTest, AnAttributeOfAnyObject) {
  EXPECT_EQ(of("main: probe.seen"), (Lines{"train.py:10 self.seen.append(out if module else 0)"}));
  EXPECT_EQ(of("main.PROBE.seen"), of("main: probe.seen"));
  EXPECT_EQ(of("Runner.run: self.probe.seen"), of("main: probe.seen"));
}

TEST(StoredByTest, ALocalVariableInItsFunctionOnly) {
  EXPECT_EQ(of("main: losses"), (Lines{"train.py:18 losses.append(step)"}));
  EXPECT_EQ(of("other: losses"), (Lines{"train.py:23 losses += [1]"}));
  EXPECT_EQ(of("Trainer.main: losses"), of("main: losses")) << "a method";
  EXPECT_EQ(of("nobody: losses"), Lines{});
}

TEST(StoredByTest, EntriesAndWhatTheyAre) {
  EXPECT_EQ(of("main: by_step"),
            (Lines{"train.py:15 by_step[len(\"losses.append(\")] = losses", "train.py:20 by_step['a'].extend(losses)"}))
      << "which of the two is not said";
  EXPECT_EQ(of("main: by_step['a']"), of("main: by_step"));
  EXPECT_EQ(of("other: queue"), (Lines{"train.py:24 queue.put(losses)"}));
}

TEST(StoredByTest, AModulesVariable) { EXPECT_EQ(of("main.LOG"), (Lines{"train.py:14 LOG.append(losses)"})); }

TEST(StoredByTest, AVariableOfAClosure) {
  EXPECT_EQ(of("main: f.__closure__['queue']"), (Lines{"train.py:24 queue.put(losses)"}));
  EXPECT_EQ(of("main: f.__closure__['queue'][3]"), of("main: f.__closure__['queue']"));
}

TEST(StoredByTest, WhatIsNoName) {
  for (const char* holder : {"", "main.table (lru_cache)", "main: f.__closure__[0].cell_contents",
                             "main: f.__closure__['", "cycle A.x → A", "main: x[", "main: a b"}) {
    EXPECT_EQ(of(holder), Lines{}) << holder;
  }
}

TEST(StoredByTest, CodeThatIsNoneIsReadToItsEnd) {
  for (const char* code : {"'", "\"\"\"", "a.seen[", "a.seen[(]", "\\", "a.seen.", "'\\", "a.seen"}) {
    EXPECT_TRUE(storing_statements(code, "x.py", "main: a.seen").empty()) << code;
  }
  EXPECT_EQ(storing_statements("a.seen.append(\x1b[31m", "x.py", "main: a.seen").front().text,
            "a.seen.append(\\x1b[31m");
}

}  // namespace
}  // namespace dcmt::analyzer

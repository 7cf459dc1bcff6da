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

TEST(StoredByTest, AVariableThatIsMadeAnewFromItself) {
  constexpr std::string_view code = R"(
head = None
for x in data:
    head = Link(value=x, head=head)
    heads = head
    head = Link(overhead)
    self.log.first = Node(x, self.log.first)
    total = total + x
    rows = torch.cat([rows, x])
    if head == Link(head): pass
)";
  const auto lines = [&](std::string_view holder) {
    std::vector<std::string> texts;
    for (const StoringStatement& each : storing_statements(code, "a.py", holder)) texts.push_back(each.text);
    return texts;
  };
  EXPECT_EQ(lines("program.head.head….value"), (Lines{"head = Link(value=x, head=head)"}));
  EXPECT_EQ(lines("program.log.first.older….value"), (Lines{"self.log.first = Node(x, self.log.first)"}));
  EXPECT_EQ(lines("program.total"), (Lines{"total = total + x"}));
  EXPECT_EQ(lines("program.rows"), (Lines{"rows = torch.cat([rows, x])"}));
  EXPECT_EQ(lines("program.heads"), Lines{});
}

TEST(StoredByTest, AFunctionThatPutsIntoItsArgument) {
  constexpr std::string_view code =
      "heapq.heappush(best, x)\nheappush( best , x)\nheapq.heappush(bests, best)\nf(best)\n";
  const auto statements = storing_statements(code, "a.py", "program.best");
  ASSERT_EQ(statements.size(), 2u);
  EXPECT_EQ(statements[1].text, "heappush( best , x)");
}

TEST(StoredByTest, AnEntryOfAnObjectOnThePath) {
  constexpr std::string_view code = "kept = ChainMap({})\nkept[step] = x\nkept.new_child()\nprint(kept)\n";
  const auto uses = calls_on_path(code, "a.py", "program.kept.maps[0]");
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].text, "kept[step] = x");
  EXPECT_EQ(uses[1].text, "kept.new_child()");
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

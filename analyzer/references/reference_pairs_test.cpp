#include "analyzer/references/reference_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "analyzer/testing/watched_story.h"

namespace dcmt::analyzer {
namespace {

using testing::CodeAt;
using testing::WatchedStory;

/// The lines of a pair: "4 → 7 certain".
std::vector<std::string> pairs_of(const WatchedStory& story) {
  const WatchedCount& count = story.data.watched.counts.back();
  const auto changes = story.data.watched.changes_of(count.id);
  const auto line = [&](const std::optional<std::size_t>& change) -> std::string {
    if (!change) return "-";
    const Stack* stack = story.data.stacks.find(changes[*change].by.stack);
    return stack == nullptr ? "0" : std::to_string(story.data.frames.find(stack->frame)->line);
  };
  std::vector<std::string> lines;
  for (const PairedReference& each : pair_references(story.data, count).references) {
    lines.push_back(line(each.taken) + " → " + line(each.given_back) + (each.certain ? " certain" : ""));
  }
  return lines;
}
using Pairs = std::vector<std::string>;

constexpr CodeAt kMain{"main", 40};

TEST(ReferencePairs, AVariableThatIsDeletedGivesBackItsOwn) {
  WatchedStory story;
  story.source("def f():\n  t = make()\n  other = t\n  del t\n  del other\n");
  story.count(Subject::kObject, 0);
  story.take({{"f", 2}, {"make", 20}}, {"THPVariable_ones", "THPVariable_Wrap"});
  story.take({{"f", 3}});
  story.give_back({{"f", 4}});
  story.give_back({{"f", 5}});
  EXPECT_EQ(pairs_of(story), (Pairs{"20 → 4", "3 → 5"}));
}

TEST(ReferencePairs, AReturnGivesBackVariablesAndNotWhatAListHas) {
  WatchedStory story;
  story.source("def f():\n  t = make()\n  kept.append(t)\n");
  for (const bool in_c : {true, false}) {  // the list's own reference, or the one of the interpreter, which it gets
    story.count(Subject::kObject, 0);
    story.take({kMain, {"f", 2}, {"make", 20}}, {"THPVariable_ones", "THPVariable_Wrap"});
    story.take({kMain, {"f", 3}});
    if (in_c) {
      story.take({kMain, {"f", 3}}, {"PyObject_Vectorcall", "list_append"});
      story.give_back({kMain, {"f", 3}});
    }
    story.give_back({kMain}, {"_PyFrame_Clear"});
    EXPECT_EQ(pairs_of(story).back(), "3 → -") << in_c;
  }
}

TEST(ReferencePairs, AContainerGivesBackWhatItWasGiven) {
  WatchedStory story;
  story.source("def f():\n  t = make()\n  box = (t, 1)\n  del box\n  kept.append(t)\n  kept.pop()\n");
  story.count(Subject::kObject, 0);
  story.take({kMain, {"f", 2}, {"make", 20}}, {"THPVariable_ones", "THPVariable_Wrap"});
  story.take({kMain, {"f", 3}});
  story.give_back({kMain, {"f", 4}}, {"tupledealloc"});
  story.take({kMain, {"f", 5}}, {"PyObject_Vectorcall", "list_append"});
  story.give_back({kMain, {"f", 6}});
  story.give_back({kMain}, {"_PyFrame_Clear"});
  EXPECT_EQ(pairs_of(story), (Pairs{"3 → 4", "5 → 6", "20 → 40"}));
}

TEST(ReferencePairs, AVariableOfAModuleIsItsOwnToo) {
  WatchedStory story;
  story.source("t = make()\nbox.append(t)\nbox.clear()\nt = 1\nbox.pop()\n");
  story.count(Subject::kObject, 0);
  story.take({{"<module>", 1}, {"make", 20}}, {"THPVariable_ones", "THPVariable_Wrap"});
  story.take({{"<module>", 1}}, {"PyDict_SetItem"});
  story.give_back({{"<module>", 1}});
  story.take({{"<module>", 2}});
  story.give_back({{"<module>", 3}}, {"PyObject_Vectorcall", "list_clear"});
  story.take({{"<module>", 2}});
  story.give_back({{"<module>", 5}});
  story.take({{"<module>", 2}}, {"PyObject_Vectorcall", "list_append"});
  story.give_back({{"<module>", 4}}, {"PyDict_SetItem", "insertdict"});
  EXPECT_EQ(pairs_of(story), (Pairs{"20 → 1", "2 → 3", "2 → 5", "1 → 4", "2 → -"}));
}

TEST(ReferencePairs, TheTensorsReferenceToItsObjectIsItsOwn) {
  WatchedStory story;
  story.count(Subject::kObject, 1);
  story.take({{"f", 2}}, {"call", "argument", "c10::TensorImpl::incref_pyobject"});
  story.take({{"f", 2}}, {"call", "result", "THPVariable_Wrap"});
  story.give_back({{"f", 2}}, {"call", "result", "c10::TensorImpl::decref_pyobject"});
  const PairedCount paired = pair_references(story.data, story.last());
  EXPECT_EQ(paired.references.front().taken, 0u);
}

TEST(ReferencePairs, TheEndOfAnotherTensorGivesBackWhatItsGraphHad) {
  WatchedStory story;
  story.count(Subject::kTensor, 0);
  story.take({kMain, {"f", 2}, {"make", 20}}, {"THPVariable_ones", "at::detail::make_tensor_base"});
  story.take({kMain, {"f", 3}}, {"slot_nb_multiply", "THPVariable_mul", "VariableType::mul", "SavedVariable"});
  story.give_back({kMain, {"f", 4}}, {"THPVariable_dealloc", "THPVariable_clear", "~TensorImpl", "~MulBackward0"});
  story.give_back({kMain}, {"_PyFrame_Clear", "THPVariable_dealloc", "THPVariable_clear"});
  EXPECT_EQ(pairs_of(story), (Pairs{"3 → 4", "20 → 40"}));
}

TEST(ReferencePairs, OneCallThatLeavesNothingIsCertain) {
  WatchedStory story;
  story.count(Subject::kTensor, 2);
  story.take({{"f", 2}}, {"call", "take"});
  story.give_back({{"f", 2}}, {"call", "drop"});
  // Two lines of Python do not make one call.
  story.take({{"f", 3}}, {"call", "take"});
  story.give_back({{"f", 4}}, {"call", "drop"});
  // Nor do two statements of one line, one of which may keep what the other one gives up.
  story.take({{"f", 5}});
  story.give_back({{"f", 5}});
  // It is not known which was given back first.
  story.take({{"f", 6}}, {"call", "take"});
  story.take({{"f", 6}}, {"call", "take another"});
  story.give_back({{"f", 6}}, {"call", "drop"});
  story.give_back({{"f", 6}}, {"call", "drop another"});
  // What a call returns it has not given back.
  story.take({{"f", 7}}, {"call", "dict_subscript"});
  story.give_back({{"f", 7}}, {"call", "drop"});
  const Pairs pairs = pairs_of(story);
  EXPECT_EQ(pairs.front(), "2 → 2 certain");
  EXPECT_EQ(std::ranges::count_if(pairs, [](const std::string& each) { return each.ends_with("certain"); }), 1);
}

TEST(ReferencePairs, WhereChangesAreMissingNothingIsCertain) {
  WatchedStory story;
  story.count(Subject::kTensor, 0);
  story.take({{"f", 2}});
  story.give_back({{"f", 3}});
  EXPECT_EQ(pairs_of(story), (Pairs{"2 → 3 certain"}));
  story.last().lost = 1;
  EXPECT_EQ(pairs_of(story), (Pairs{"2 → 3"}));
  story.last().lost = 0;
  story.last().last = 2;  // two were taken, and not recorded
  const PairedCount paired = pair_references(story.data, story.last());
  EXPECT_EQ(paired.missing, 2);
  EXPECT_EQ(paired.references.size(), 3u);
  story.last().last = 0;
  story.data.watched.changes.back().before = 4;
  story.data.watched.changes.back().after = 3;
  EXPECT_EQ(pair_references(story.data, story.last()).missing, 6);
  EXPECT_EQ(pair_references(story.data, story.last()).missing_drops, 3);
}

/// A story without sense: changes anywhere.
WatchedStory random_story(std::mt19937& random, std::int64_t counts) {
  const auto one_of = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  constexpr std::string_view kFunctions[] = {"list_append",      "tupledealloc",   "_PyFrame_Clear",
                                             "THPVariable_Wrap", "_PyEval_Vector", "incref_pyobject",
                                             "decref_pyobject",  "dict_subscript", "c10::intrusive_ptr::retain_"};
  WatchedStory story;
  story.source("t = f()\nother = t\ndel t\nkept.append(t)\nother = 1\nkept.pop()\n");
  for (std::int64_t i = 0; i < counts; ++i) {
    story.count(static_cast<Subject>(one_of(3)), one_of(3));
    for (int k = one_of(60); k > 0; --k) {
      story.python.assign(static_cast<std::size_t>(one_of(3)), {});
      for (CodeAt& each : story.python) each = {one_of(2) != 0 ? "f" : "g", 1 + one_of(6)};
      story.native.assign(static_cast<std::size_t>(one_of(3)), {});
      for (std::string_view& each : story.native) each = kFunctions[one_of(std::size(kFunctions))];
      story.thread = ThreadId(one_of(2));
      story.change(story.last().last > 0 && one_of(2) != 0 ? -1 : 1);
    }
  }
  return story;
}

TEST(ReferencePairs, InRandomStoriesEachChangeIsInOnePair) {
  std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp)
  for (int i = 0; i < 300; ++i) {
    const WatchedStory story = random_story(random, 3);
    for (const WatchedCount& count : story.data.watched.counts) {
      const PairedCount paired = pair_references(story.data, count);
      const auto changes = story.data.watched.changes_of(count.id);
      std::vector<int> seen(changes.size());
      std::int64_t left = 0, there_before = 0;
      for (const PairedReference& each : paired.references) {
        if (each.taken) {
          EXPECT_EQ(changes[*each.taken].after - changes[*each.taken].before, 1);
          ++seen[*each.taken];
        } else {
          ++there_before;
        }
        if (each.given_back) {
          EXPECT_EQ(changes[*each.given_back].after - changes[*each.given_back].before, -1);
          ++seen[*each.given_back];
        } else {
          ++left;
        }
        EXPECT_TRUE(!each.taken || !each.given_back || *each.taken < *each.given_back);
      }
      EXPECT_TRUE(std::ranges::all_of(seen, [](int times) { return times == 1; }));
      EXPECT_EQ(left, count.last);
      EXPECT_EQ(there_before, count.first);
      EXPECT_EQ(paired.missing, 0);
    }
  }
}

/// References with names of their own: the truth that a count does not have.
TEST(ReferencePairs, WhatIsCertainIsTrue) {
  std::mt19937 random(11);  // NOLINT(cert-msc32-c,cert-msc51-cpp)
  const auto one_of = [&](std::size_t most) { return static_cast<std::size_t>(random() % most); };
  std::size_t certain = 0;
  for (int i = 0; i < 500; ++i) {
    WatchedStory story;
    story.count(Subject::kTensor, 0);
    std::vector<std::pair<std::size_t, std::int64_t>> held;  // the change that took it, and the line
    std::map<std::size_t, std::int64_t> truth;               // by the change that gave it back: the line that took it
    std::map<std::size_t, std::int64_t> lines;
    std::size_t change = 0;
    for (std::size_t k = one_of(30); k > 0; --k) {
      const auto line = static_cast<std::int64_t>(1 + one_of(4));
      if (!held.empty() && one_of(2) != 0) {
        const std::size_t which = one_of(held.size());
        story.give_back({{"f", line}});
        truth[change++] = held[which].second;
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        story.take({{"f", line}});
        lines[change] = line;
        held.emplace_back(change++, line);
      }
    }
    for (const PairedReference& each : pair_references(story.data, story.last()).references) {
      if (!each.certain) continue;
      ++certain;
      ASSERT_TRUE(each.taken);
      if (each.given_back) {
        EXPECT_EQ(truth[*each.given_back], lines[*each.taken]);
      } else {
        EXPECT_TRUE(std::ranges::any_of(held, [&](const auto& is) { return is.second == lines[*each.taken]; }));
      }
    }
  }
  EXPECT_GT(certain, 500u);
}

}  // namespace
}  // namespace dcmt::analyzer

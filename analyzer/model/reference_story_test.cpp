#include "analyzer/model/reference_story.h"

#include <gtest/gtest.h>

#include "analyzer/testing/watched_story.h"

namespace dcmt::model {
namespace {

using analyzer::Subject;
using testing::WatchedStory;

std::int64_t references_in(const std::vector<ReferenceRow>& rows) {
  std::int64_t sum = 0;
  for (const ReferenceRow& row : rows) sum += row.count;
  return sum;
}

TEST(ReferenceStory, PairsAlikeAreOneRowAndWhatIsLeftHasItsLine) {
  WatchedStory story;
  story.source("def f():\n  use(t)\n  box.append(t)\n  kept.append(t)\n");
  story.count(Subject::kStorage, 1);
  story.count(Subject::kObject, 1);
  for (int i = 0; i < 3; ++i) {
    story.take({{"f", 2}});
    story.give_back({{"f", 2}});
  }
  story.take({{"main", 40}, {"f", 3}}, {"PyObject_Vectorcall", "list_append"});
  story.take({{"main", 40}, {"f", 4}}, {"PyObject_Vectorcall", "list_append"});
  story.give_back({}, {"Py_FinalizeEx", "finalize_modules", "list_dealloc"});
  const std::vector<CountStory> counts = reference_story(story.data, WatchedStory::kStorage);
  ASSERT_EQ(counts.size(), 2u);
  const CountStory& object = counts.back();
  EXPECT_TRUE(object.complete());
  ASSERT_EQ(object.given_back.size(), 1u);
  EXPECT_EQ(object.given_back.front().count, 3);
  EXPECT_EQ(object.given_back.front().taken->code, "use(t)");
  ASSERT_EQ(object.at_exit.size(), 1u);
  EXPECT_EQ(object.at_exit.front().taken->function, "list_append");
  EXPECT_EQ(references_in(object.left), object.last);
  EXPECT_EQ(references_in(object.left) + references_in(object.at_exit) + references_in(object.given_back),
            object.first + 5);
  // Each count has its own references.
  EXPECT_EQ(references_in(counts.front().left), 1);
  EXPECT_TRUE(counts.front().given_back.empty());
}

TEST(ReferenceStory, AReturnIsNamedByTheFunctionWhoseVariablesEnded) {
  WatchedStory story;
  story.source("def call():\n  buf0 = gather()\n");
  story.count(Subject::kObject, 0);
  story.take({{"main", 40}, {"call", 2}, {"__call__", 9, "/usr/lib/python3/site-packages/torch/_ops.py"}},
             {"cfunction_call", "THPVariable_Wrap"});
  story.give_back({{"main", 40}}, {"PyObject_Vectorcall", "_PyEval_Vector", "_PyFrame_Clear"});
  const CountStory object = reference_story(story.data, WatchedStory::kStorage).front();
  ASSERT_EQ(object.given_back.size(), 1u);
  EXPECT_EQ(object.given_back.front().taken->code, "buf0 = gather()");
  EXPECT_EQ(object.given_back.front().given_back->return_of, "call");
}

TEST(ReferenceStory, ARunIsLookedAtWhereReferencesAreLeft) {
  WatchedStory story;
  EXPECT_FALSE(watched_storages(story.data));
  story.count(Subject::kStorage, 1);
  story.count(Subject::kObject, 0);
  story.take({{"f", 2}});
  const auto with_left = watched_storages(story.data);
  ASSERT_TRUE(with_left);
  EXPECT_EQ(with_left->left, 2);
  EXPECT_EQ(with_left->changes, 1);
  // Another storage without any.
  story.count(Subject::kStorage, 1);
  story.last().storage = StorageId(2);
  story.give_back({{"f", 3}});
  story.last().ended = true;
  EXPECT_EQ(watched_storages(story.data)->storage, WatchedStory::kStorage);
}

}  // namespace
}  // namespace dcmt::model

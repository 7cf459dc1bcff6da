#include "analyzer/releases/holders.h"

#include <gtest/gtest.h>

#include <set>

#include "analyzer/releases/analyze_releases.h"
#include "analyzer/releases/storage_story.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::LocalOf;
using testing::TestTrace;

const LocalOf kLocal{"w", "forward", "/home/user/model.py", "w = gather(k)", 5, std::nullopt, 9, "", "", 0, 1};

LocalOf local(const std::string& name, const std::string& function = "forward",
              const std::string& file = "/home/user/model.py", std::int64_t object = 1) {
  LocalOf of = kLocal;
  of.name = name;
  of.function = function;
  of.file = file;
  of.object = object;
  return of;
}

/// A released storage with a census of it.
class HoldersTest : public ::testing::Test {
 protected:
  void add_census(const std::vector<LocalOf>& locals, std::int64_t unexplained = 0, const std::string& changes = {}) {
    storage_ = trace_.allocate(64);
    release_ = trace_.release(0, storage_);
    trace_.census(release_, storage_, locals, unexplained);
    trace_.op("aten::add");
    data_.emplace(trace_.load(changes));
  }
  [[nodiscard]] Holders holders() const {
    const std::optional<Holders> found = holders_of_release(*data_, *data_->marks.find(MarkId(release_)));
    EXPECT_TRUE(found);
    return found.value_or(Holders());
  }
  /// "function: names" of each path.
  [[nodiscard]] std::vector<std::string> paths() const {
    std::vector<std::string> texts;
    for (const HolderPath& path : holders().paths) {
      std::string text = std::string(path.function.value_or("")) + ":";
      for (const HolderName& name : path.names) text += " " + std::string(name.name.value_or(""));
      texts.push_back(text);
    }
    return texts;
  }

  TestTrace trace_;
  TestTrace::Handle storage_ = 0;
  std::int64_t release_ = 0;
  std::optional<TraceData> data_;
};

using Texts = std::vector<std::string>;

TEST_F(HoldersTest, NamesOfOneFrameAndObjectAreOnePath) {
  add_census({local("a"), local("b"), local("c", "backward"), local("d", "forward", "/home/user/other.py"),
              local("e", "forward", "/home/user/model.py", 2)});
  EXPECT_EQ(paths(), (Texts{"forward: a b", "backward: c", "forward: d", "forward: e"}));
}

TEST_F(HoldersTest, FramesOfTwoThreadsOrAtTwoLinesAreTwoPaths) {
  add_census({local("a"), local("b"), local("c")}, 0,
             "UPDATE edge SET thread = 2 WHERE name = (SELECT id FROM string WHERE text = 'b');"
             "UPDATE edge SET current_line = 7 WHERE name = (SELECT id FROM string WHERE text = 'c')");
  EXPECT_EQ(paths(), (Texts{"forward: a", "forward: b", "forward: c"}));
  EXPECT_EQ(holders().paths[1].thread, ThreadId(2));
  EXPECT_EQ(holders().paths[2].current_line, 7);
}

TEST_F(HoldersTest, APathSaysWhatTheCensusFound) {
  LocalOf of = local("buf1", "call", testing::kGenerated, 0x7010);
  of.delete_line = 8;
  of.model_file = "/home/user/model.py";
  of.model_text = "x = F.linear(x)";
  of.model_line = 41;
  add_census({of});
  const Holders found = holders();
  ASSERT_EQ(found.paths.size(), 1u);
  const HolderPath& path = found.paths.front();
  EXPECT_TRUE(path.generated);
  EXPECT_TRUE(path.certain);
  EXPECT_EQ(path.object, 0x7010);
  EXPECT_EQ(path.tensor, TensorId(1));
  EXPECT_EQ(path.thread, ThreadId(1));
  EXPECT_EQ(path.return_line, 9);
  EXPECT_EQ(path.model_file, "/home/user/model.py");
  EXPECT_EQ(path.model_text, "x = F.linear(x)");
  EXPECT_EQ(path.model_line, 41);
  EXPECT_EQ(path.held_since_at_most.seq, found.census->span.from_seq);
  EXPECT_EQ(path.held_since_at_most.ns, found.census->span.from_ns);
  ASSERT_EQ(path.names.size(), 1u);
  EXPECT_EQ(path.names[0].line, 5);
  EXPECT_EQ(path.names[0].delete_line, 8);
  EXPECT_FALSE(path.kept_to_return()) << "it is deleted before";
  EXPECT_EQ(found.tensors, (std::vector<TensorId>{TensorId(1)}));
  EXPECT_EQ(found.edges.size(), 3u);
  EXPECT_EQ(found.counts.size(), 3u);
}

TEST_F(HoldersTest, WhatGeneratedCodeKeepsToItsReturnComesFirst) {
  LocalOf deleted = local("d", "call", testing::kGenerated, 2);
  deleted.delete_line = 8;
  add_census({local("a"), deleted, local("k", "call", testing::kGenerated, 3)});
  EXPECT_EQ(paths(), (Texts{"call: k", "forward: a", "call: d"}));
}

TEST_F(HoldersTest, OnlyWhatIsExplainedInFullIsCertain) {
  const auto certain = [](const std::vector<LocalOf>& locals, std::int64_t unexplained, const std::string& changes) {
    TestTrace trace;
    const TestTrace::Handle storage = trace.allocate(64);
    const auto release = trace.release(0, storage);
    trace.census(release, storage, locals, unexplained);
    trace.op("aten::add");
    const TraceData data = trace.load(changes);
    const auto found = holders_of_release(data, *data.marks.find(MarkId(release)));
    EXPECT_TRUE(found);
    return found && found->certain();
  };
  LocalOf unproven = kLocal;
  unproven.unproven = true;
  EXPECT_TRUE(certain({kLocal}, 0, {}));
  EXPECT_FALSE(certain({kLocal}, 1, {}));
  EXPECT_FALSE(certain({unproven}, 0, {}));
  EXPECT_FALSE(certain({kLocal}, 0, "DELETE FROM sample"));
  EXPECT_FALSE(certain({kLocal}, 0, "UPDATE mark SET flags = 'unstable' WHERE kind = 'census'"));
  EXPECT_FALSE(certain({kLocal}, 0, "UPDATE mark SET flags = 'sharing_lossy' WHERE kind = 'census'"));
  EXPECT_TRUE(certain({kLocal}, 0, "UPDATE sample SET storage = 9, unexplained = 5 WHERE subject = 'object'"))
      << "another storage's count";
}

TEST_F(HoldersTest, AtAnErrorTheCensusAfterItCounts) {
  const std::string at_error = "UPDATE mark SET trigger = 'out_of_memory' WHERE kind = 'census'";
  add_census({kLocal}, 0, at_error);
  const Sequence census = holders().census->span.from_seq;
  EXPECT_TRUE(holders().at_error());
  EXPECT_TRUE(holders_at_error(*data_, trace_.storage_id(storage_), Sequence(census.value - 1)));
  EXPECT_FALSE(holders_at_error(*data_, trace_.storage_id(storage_), census)) << "taken before it";
  EXPECT_FALSE(holders_at_error(*data_, StorageId(99), Sequence(1)));
  data_.emplace(trace_.load());
  EXPECT_FALSE(holders().at_error());
  EXPECT_FALSE(holders_at_error(*data_, trace_.storage_id(storage_), Sequence(1))) << "that of a release";
}

TEST(HolderNames, EachKindAndSubjectHasItsName) {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(HolderKind::kOther); ++kind) {
    names.insert(name_of(static_cast<HolderKind>(kind)));
  }
  EXPECT_EQ(names.size(), 8u);
  EXPECT_EQ(name_of(Subject::kStorage), "storage");
  EXPECT_EQ(name_of(Subject::kTensor), "tensor");
  EXPECT_EQ(name_of(Subject::kObject), "object");
}

class StorageStoryTest : public ::testing::Test {
 protected:
  StorageStory story(const std::string& changes = {}) {
    data_.emplace(trace_.load(changes));
    releases_.emplace(analyze_releases(*data_));
    std::optional<StorageStory> found = storage_story(*data_, *releases_, trace_.storage_id(storage_));
    EXPECT_TRUE(found);
    return std::move(*found);
  }

  TestTrace trace_;
  TestTrace::Handle storage_ = trace_.allocate(64);
  std::optional<TraceData> data_;
  std::optional<Releases> releases_;
};

TEST_F(StorageStoryTest, WhatLivesHasNotEnded) {
  const StorageStory found = story();
  EXPECT_EQ(found.ended_by, EndedBy::kAlive);
  EXPECT_FALSE(found.gone);
  EXPECT_EQ(found.final_release, nullptr);
  EXPECT_FALSE(storage_story(*data_, *releases_, StorageId(99)));
}

TEST_F(StorageStoryTest, WhatIsFreedOutsideOfAReleaseEndedOtherwise) {
  trace_.gather(0, storage_);
  trace_.release(0, storage_);
  trace_.op("aten::add");
  trace_.resize_to_zero(storage_);
  trace_.op("aten::add");
  trace_.drop(storage_);
  const StorageStory found = story();
  EXPECT_EQ(found.ended_by, EndedBy::kOther);
  ASSERT_TRUE(found.gone);
  EXPECT_LT(found.gone->seq(), found.storage->span.to_seq) << "its end took no bytes any more";
}

TEST_F(StorageStoryTest, AllThatHappenedToItIsInOrder) {
  trace_.gather(0, storage_);
  trace_.census(trace_.release(0, storage_, {.flags = "final,persistent"}), storage_, {kLocal});
  trace_.op("aten::add");
  trace_.gather(0, storage_);
  trace_.release(0, storage_, {}, [&] { trace_.resize_to_zero(storage_); });
  trace_.op("aten::add");
  trace_.release(1, trace_.allocate(8));
  trace_.drop(storage_);
  const StorageStory found = story();
  EXPECT_EQ(found.ended_by, EndedBy::kRelease);
  ASSERT_EQ(found.releases.size(), 2u);
  EXPECT_EQ(found.final_release, found.releases[1]) << "of a persistent one nothing was to go";
  EXPECT_EQ(found.censuses.size(), 1u);
  EXPECT_EQ(found.blocks.size(), 1u);
  EXPECT_EQ(found.tensors.size(), 1u);
  EXPECT_EQ(found.resizes.size(), 1u);
  for (std::size_t i = 1; i < found.marks.size(); ++i) {
    EXPECT_LE(found.marks[i - 1]->span.from_seq, found.marks[i]->span.from_seq);
  }
  EXPECT_EQ(found.marks.size(), 5u);
}

TEST_F(StorageStoryTest, EachEndHasItsName) {
  std::set<std::string_view> names;
  for (const EndedBy by : {EndedBy::kRelease, EndedBy::kLastReference, EndedBy::kOther, EndedBy::kAlive}) {
    names.insert(name_of(by));
  }
  EXPECT_EQ(names.size(), 4u);
}

}  // namespace
}  // namespace dcmt::analyzer

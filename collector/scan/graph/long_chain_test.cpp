// Chains of thousands of objects: a path leads to their end, and a search for a cycle takes no longer for it.
#include <gtest/gtest.h>

#include <vector>

#include "collector/scan/graph/cycles.h"
#include "collector/scan/graph/graph.h"
#include "collector/scan/graph/paths.h"
#include "collector/scan/testing/changing_process.h"

namespace dcmt::scan {
namespace {

constexpr Address kFirst = 0x100000, kLinkType = kFirst, kName = kFirst + 512, kDicts = kFirst + 4096;
constexpr Address kDictBytes = 512;
constexpr std::size_t kLinks = 2500;

/// Dictionaries, each of which has the next one as its only value.
class ChainOfDicts : public testing::ChangingProcess {
 public:
  explicit ChainOfDicts(const PythonLayout& layout)
      : ChangingProcess(kFirst, 4096 + (kLinks + 1) * kDictBytes), layout_(layout) {
    object(kLinkType);
    set(kLinkType + layout.tp_name, kName);
    set(kLinkType + layout.tp_basicsize, 64);
    set(kLinkType + layout.tp_flags, std::uint64_t{1} << kDictBit | std::uint64_t{1} << kTypeBit);
    set(kName, 0x74636964);  // "dict"
    for (std::size_t i = 0; i <= kLinks; ++i) {
      object(dict(i));
      set(dict(i) + layout.dict_keys, dict(i) + 128);
      set(dict(i) + 128 + layout.keys_log2_size, 3 | 3 << 8 | 1 << 16);  // places, bytes of the index
      if (i < kLinks) refer(i, i + 1);
    }
  }
  static Address dict(std::size_t i) { return kDicts + i * kDictBytes; }
  void refer(std::size_t from, std::size_t to) {
    set(dict(from) + 16, 1);
    set(dict(from) + 128 + layout_.keys_nentries, 1);
    set(dict(from) + 128 + layout_.keys_indices + 8 + 8, dict(to));
  }

 private:
  void object(Address at) {
    set(at, 1);
    set(at + 8, kLinkType);
  }
  const PythonLayout& layout_;
};

class LongChain : public ::testing::Test {
 protected:
  ProcessTypes types_{*python_layout(0x30B), {}};
  ChainOfDicts process_{types_.python};
  Mirror memory_{process_};
  PythonObjects objects_{memory_, types_};
  PythonText text_{memory_, types_};
  Graph graph_{objects_};
};

TEST_F(LongChain, AnObjectThousandsOfReferencesFromARootHasItsPath) {
  graph_.add_root({.address = ChainOfDicts::dict(0), .kind = Kind::kDict, .name = "head"}, 0);
  graph_.explore();
  const NodeIndex last = graph_.find(ChainOfDicts::dict(kLinks), Kind::kDict);
  ASSERT_NE(last, kRootNode);
  EXPECT_TRUE(graph_.is_rooted(last));
  EXPECT_EQ(Paths(graph_, memory_, types_, text_).way_to(last).size(), kLinks + 1);
}

TEST_F(LongChain, WithoutARootItIsReadToItsEndAndHasNoCycle) {
  graph_.add_unrooted(ChainOfDicts::dict(0), Kind::kDict);
  graph_.explore();
  const NodeIndex last = graph_.find(ChainOfDicts::dict(kLinks), Kind::kDict);
  ASSERT_NE(last, kRootNode);
  EXPECT_FALSE(graph_.is_rooted(last));
  Cycles cycles(graph_);
  EXPECT_FALSE(cycles.keeping(last));
  EXPECT_FALSE(cycles.keeping(graph_.find(ChainOfDicts::dict(0), Kind::kDict)));
}

TEST_F(LongChain, TheCycleThatKeepsAnObjectMayBeLongOrOfOneObject) {
  process_.refer(kLinks, 100);
  process_.refer(50, 50);
  graph_.add_unrooted(ChainOfDicts::dict(0), Kind::kDict);
  graph_.add_unrooted(ChainOfDicts::dict(51), Kind::kDict);
  graph_.explore();
  Cycles cycles(graph_);
  const auto at = [&](std::size_t i) { return graph_.find(ChainOfDicts::dict(i), Kind::kDict); };
  EXPECT_FALSE(cycles.keeping(at(0))) << "nothing leads to it";
  ASSERT_TRUE(cycles.keeping(at(50)));
  EXPECT_EQ(cycles.keeping(at(50))->circle.size(), 1U);
  EXPECT_FALSE(cycles.keeping(at(51))) << "it leads to the long one";
  ASSERT_TRUE(cycles.keeping(at(100)));
  EXPECT_EQ(cycles.keeping(at(100))->circle.size(), kLinks - 99);
  EXPECT_TRUE(cycles.keeping(at(100))->from_it.empty());
}

}  // namespace
}  // namespace dcmt::scan

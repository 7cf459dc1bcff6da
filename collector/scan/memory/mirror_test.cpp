#include "collector/scan/memory/mirror.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "collector/scan/testing/changing_process.h"

namespace dcmt::scan {
namespace {

constexpr Address kBase = 0x10000;
constexpr std::size_t kPage = 4096;

/// Four pages that the test changes.
class Pages : public testing::ChangingProcess {
 public:
  Pages() : ChangingProcess(kBase, 4 * kPage) {}

  void set(std::size_t page, std::byte value) {
    const std::uint64_t word = 0x0101010101010101U * static_cast<std::uint64_t>(value);
    for (Address at = kBase + page * kPage; at < kBase + (page + 1) * kPage; at += sizeof(word)) {
      ChangingProcess::set(at, word);
    }
  }
};

int at(Mirror& mirror, std::size_t page) { return mirror.value<unsigned char>(kBase + page * kPage + 100); }

TEST(Mirror, WhatWasReadStaysAsItWas) {
  Pages pages;
  Mirror mirror(pages);
  EXPECT_EQ(at(mirror, 1), 0);
  pages.set(1, std::byte{7});
  pages.set(2, std::byte{8});
  EXPECT_EQ(at(mirror, 1), 0);
  EXPECT_EQ(at(mirror, 2), 8) << "it had not been read";
}

TEST(Mirror, WhatIsForgottenIsReadAgainAndNothingElse) {
  Pages pages;
  Mirror mirror(pages);
  for (std::size_t page = 0; page < 4; ++page) EXPECT_EQ(at(mirror, page), 0);
  for (std::size_t page = 0; page < 4; ++page) pages.set(page, std::byte{7});
  mirror.forget({kBase + kPage + 4000, kBase + 2 * kPage + 1});
  EXPECT_EQ(at(mirror, 0), 0);
  EXPECT_EQ(at(mirror, 1), 7);
  EXPECT_EQ(at(mirror, 2), 7);
  EXPECT_EQ(at(mirror, 3), 0);
  mirror.forget({kBase + 3 * kPage, kBase + 100 * kPage});
  EXPECT_EQ(at(mirror, 3), 7) << "to the end of its mapping";
  mirror.forget({1, 2});
}

TEST(Mirror, WhatWasReadAheadAndNotAskedForIsNotReadAheadAgain) {
  Pages pages;
  Mirror first(pages);
  for (std::size_t page = 0; page < 4; ++page) EXPECT_EQ(at(first, page), 0);
  Mirror second(pages);
  second.read_ahead(first.ranges_used());
  EXPECT_EQ(second.bytes_read(), 4 * kPage);
  EXPECT_TRUE(second.ranges_used().empty());
  EXPECT_EQ(at(second, 1), 0);
  EXPECT_EQ(at(second, 2), 0);
  EXPECT_EQ(second.bytes_read(), 4 * kPage) << "they had been read";
  const std::vector<Range> used = second.ranges_used();
  ASSERT_EQ(used.size(), 1U);
  EXPECT_EQ(used[0].begin, kBase + kPage);
  EXPECT_EQ(used[0].end, kBase + 3 * kPage);
}

TEST(Mirror, AReadAheadReadsEachPageOnceAndLeavesWhatWasRead) {
  Pages pages;
  Mirror mirror(pages);
  EXPECT_EQ(at(mirror, 1), 0);
  for (std::size_t page = 0; page < 4; ++page) pages.set(page, std::byte{7});
  mirror.read_ahead({{kBase + 8, kBase + 16}, {kBase + 64, kBase + 3 * kPage}, {kBase, kBase + 2 * kPage}});
  EXPECT_EQ(mirror.bytes_read(), 3 * kPage);
  EXPECT_EQ(at(mirror, 0), 0) << "it had been read together with the next one";
  EXPECT_EQ(at(mirror, 1), 0) << "it had been read before";
  EXPECT_EQ(at(mirror, 2), 7);
  EXPECT_EQ(mirror.bytes_read(), 3 * kPage);
}

TEST(Mirror, TwoPagesAreReadTogetherAndOnlyTheOneThatWasAskedForIsUsed) {
  Pages pages;
  Mirror mirror(pages);
  EXPECT_EQ(at(mirror, 3), 0);
  EXPECT_EQ(mirror.bytes_read(), 2 * kPage);
  const std::vector<Range> used = mirror.ranges_used();
  ASSERT_EQ(used.size(), 1U);
  EXPECT_EQ(used[0].begin, kBase + 3 * kPage);
  mirror.forget({kBase + 3 * kPage, kBase + 4 * kPage});
  EXPECT_EQ(at(mirror, 3), 0);
  EXPECT_EQ(mirror.bytes_read(), 3 * kPage) << "its neighbour is there";
}

}  // namespace
}  // namespace dcmt::scan

#include "convert/snapshot/segment_lives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace dcmt::convert {
namespace {

constexpr std::int64_t kPages = 48;
constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kBase = 0x7f0000000000;

/// From when to when a page was reserved.
using Stay = std::pair<std::int64_t, std::int64_t>;

std::pair<std::int64_t, std::int64_t> random_pages(std::mt19937& random) {
  const auto first = static_cast<std::int64_t>(random() % kPages);
  const auto count = 1 + static_cast<std::int64_t>(random()) % std::min<std::int64_t>(12, kPages - first);
  return {first, first + count};
}

Entry random_entry(std::mt19937& random) {
  constexpr std::array kActions = {Action::kSegmentAlloc, Action::kSegmentFree, Action::kSegmentMap,
                                   Action::kSegmentUnmap, Action::kAlloc};
  const auto [first, end] = random_pages(random);
  Entry entry;
  entry.action = kActions[random() % kActions.size()];
  entry.address = kBase + first * kPage;
  entry.size = (end - first) * kPage;
  return entry;
}

/// What the history and the end say of one page, by itself.
std::multiset<Stay> stays_of(const SnapshotDevice& device, std::int64_t page) {
  const std::int64_t at = kBase + page * kPage;
  const auto has = [at](const auto& of, std::int64_t bytes) { return of.address <= at && at < of.address + bytes; };
  std::multiset<Stay> stays;
  std::int64_t since = kBefore;
  bool touched = false;
  bool there = false;
  const auto size = static_cast<std::int64_t>(device.history.size());
  for (std::int64_t i = 0; i < size; ++i) {
    const Entry& entry = device.history[static_cast<std::size_t>(i)];
    const bool begins = entry.action == Action::kSegmentAlloc || entry.action == Action::kSegmentMap;
    const bool ends = entry.action == Action::kSegmentFree || entry.action == Action::kSegmentUnmap;
    if (!(begins || ends) || !has(entry, entry.size)) continue;
    if (there || (ends && !touched)) stays.emplace(there ? since : kBefore, i);
    touched = true;
    there = begins;
    since = i;
  }
  const bool at_end = std::ranges::any_of(device.segments, [&](const auto& each) { return has(each, each.bytes); });
  if (there) stays.emplace(since, at_end ? kNever : size);
  if (at_end && !there) stays.emplace(touched ? size : kBefore, kNever);
  return stays;
}

TEST(SegmentLives, AreThoseOfEachPageByItself) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    SnapshotDevice device;
    for (std::size_t i = random() % 40; i > 0; --i) device.history.push_back(random_entry(random));
    for (std::int64_t page = 0; page < kPages;) {  // apart, or next to each other
      const auto count = 1 + static_cast<std::int64_t>(random() % 9);
      const std::int64_t end = std::min(kPages, page + count);
      if (random() % 2 == 0)
        device.segments.push_back({kBase + page * kPage, (end - page) * kPage, 0, random() % 2 == 0});
      page = end;
    }
    std::vector<std::multiset<Stay>> found(kPages);
    std::int64_t reserved = 0;
    std::int64_t born = kBefore;
    for (const SegmentLife& life : segment_lives_of(device).segments) {
      EXPECT_GE(life.born, born) << "in order";
      born = life.born;
      ASSERT_GT(life.bytes, 0);
      for (std::int64_t at = life.address; at < life.address + life.bytes; at += kPage)
        found[static_cast<std::size_t>((at - kBase) / kPage)].emplace(life.born, life.freed);
      if (life.freed == kNever) reserved += life.bytes;
    }
    std::int64_t at_end = 0;
    for (const SnapshotSegment& each : device.segments) at_end += each.bytes;
    EXPECT_EQ(reserved, at_end) << "seed " << seed;
    for (std::int64_t page = 0; page < kPages; ++page)
      ASSERT_EQ(found[static_cast<std::size_t>(page)], stays_of(device, page)) << "seed " << seed << " page " << page;
  }
}

TEST(SegmentLives, OfAHistoryThatAgreesWithTheEndNothingContradicts) {
  SnapshotDevice device;
  const auto entry = [&](Action action, std::int64_t page, std::int64_t pages) {
    device.history.push_back({action, kBase + page * kPage, pages * kPage, 0, 0, {}});
  };
  device.segments = {{kBase, 4 * kPage, 0, true}, {kBase + 20 * kPage, kPage, 7, false}};
  entry(Action::kSegmentMap, 0, 2);
  entry(Action::kSegmentMap, 2, 4);
  entry(Action::kSegmentUnmap, 4, 2);
  entry(Action::kSegmentFree, 10, 3);
  const SegmentLives lives = segment_lives_of(device);
  EXPECT_EQ(lives.contradictions, 0);
  ASSERT_EQ(lives.segments.size(), 5U);
  const SegmentLife& freed = lives.segments[0];
  EXPECT_EQ(std::tuple(freed.address, freed.born, freed.freed), std::tuple(kBase + 10 * kPage, kBefore, 3));
  const SegmentLife& before = lives.segments[1];
  EXPECT_EQ(std::tuple(before.address, before.stream, before.freed), std::tuple(kBase + 20 * kPage, 7, kNever));
  EXPECT_TRUE(lives.segments[2].expandable);

  entry(Action::kSegmentFree, 10, 3);   // a second time
  entry(Action::kSegmentAlloc, 30, 1);  // which is not there at the end
  EXPECT_EQ(segment_lives_of(device).contradictions, 2);
}

}  // namespace
}  // namespace dcmt::convert

// Tests the table of watched memory: the owner of an address while other threads add and remove ranges.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "collector/agent/provider.h"

namespace {

using dcmt::agent::range_at;
using dcmt::agent::unwatch_range;
using dcmt::agent::watch_range;
using dcmt::agent::watched_ranges;
using dcmt::agent::WatchedRange;

const void* owner(std::uint64_t number) { return reinterpret_cast<const void*>(number); }

TEST(WatchedRanges, AnAddressBelongsToTheRangeAroundIt) {
  ASSERT_TRUE(watch_range(owner(2), 0x2000, 0x100));
  ASSERT_TRUE(watch_range(owner(1), 0x1000, 0x1000));
  ASSERT_TRUE(watch_range(owner(3), 0x8000, 1));
  EXPECT_EQ(watched_ranges(), 3u);
  EXPECT_EQ(range_at(0xfff).owner, nullptr);
  EXPECT_EQ(range_at(0x1000).owner, owner(1));
  EXPECT_EQ(range_at(0x1fff).owner, owner(1));
  EXPECT_EQ(range_at(0x2000).owner, owner(2));
  EXPECT_EQ(range_at(0x20ff).bytes, 0x100u);
  EXPECT_EQ(range_at(0x2100).owner, nullptr);
  EXPECT_EQ(range_at(0x8000).owner, owner(3));
  EXPECT_EQ(range_at(0x8001).owner, nullptr);
  EXPECT_TRUE(unwatch_range(owner(1)));
  EXPECT_FALSE(unwatch_range(owner(1)));
  EXPECT_EQ(range_at(0x1000).owner, nullptr);
  EXPECT_EQ(range_at(0x2000).owner, owner(2));
  EXPECT_TRUE(unwatch_range(owner(2)));
  EXPECT_TRUE(unwatch_range(owner(3)));
  EXPECT_EQ(watched_ranges(), 0u);
}

TEST(WatchedRanges, AFullTableRefuses) {
  std::uint64_t added = 0;
  while (watch_range(owner(added + 1), 0x10000 * (added + 1), 0x100)) ++added;
  EXPECT_EQ(added, watched_ranges());
  EXPECT_EQ(range_at(0x10000 * added).owner, owner(added));
  for (std::uint64_t i = 1; i <= added; ++i) EXPECT_TRUE(unwatch_range(owner(i)));
}

TEST(WatchedRanges, ReadersNeverSeeARangeThatWasNotThere) {
  // Two ranges stay; other ranges between and around them are added and removed.
  ASSERT_TRUE(watch_range(owner(1), 0x100000, 0x1000));
  ASSERT_TRUE(watch_range(owner(2), 0x300000, 0x1000));
  std::atomic<bool> over{false};
  std::vector<std::thread> writers;
  for (std::uint64_t w = 0; w < 2; ++w) {
    writers.emplace_back([&over, w] {
      for (std::uint64_t i = 0; !over; ++i) {
        const void* mine = owner(100 + w * 10 + i % 4);
        if (watch_range(mine, 0x200000 + w * 0x200000 + i % 4 * 0x1000, 0x1000)) {
          while (!unwatch_range(mine)) std::this_thread::yield();
        }
      }
    });
  }
  for (int i = 0; i < 100'000; ++i) {
    const WatchedRange first = range_at(0x100800);
    const WatchedRange second = range_at(0x300800);
    ASSERT_TRUE(first.busy || (first.owner == owner(1) && first.bytes == 0x1000));
    ASSERT_TRUE(second.busy || (second.owner == owner(2) && second.bytes == 0x1000));
    const WatchedRange none = range_at(0x150000);
    ASSERT_EQ(none.owner, nullptr);
    const WatchedRange changing = range_at(0x201800);
    ASSERT_TRUE(changing.owner == nullptr || changing.owner == owner(101));
  }
  over = true;
  for (std::thread& writer : writers) writer.join();
  EXPECT_TRUE(unwatch_range(owner(1)));
  EXPECT_TRUE(unwatch_range(owner(2)));
  EXPECT_EQ(watched_ranges(), 0u);
}

}  // namespace

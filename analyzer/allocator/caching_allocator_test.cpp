// Counted by hand after the rules of torch's allocator. tests/reserved_test.py compares the model with recorded runs.
#include "analyzer/allocator/caching_allocator.h"

#include <gtest/gtest.h>

#include "analyzer/allocator/driver_addresses.h"

namespace dcmt::analyzer {
namespace {

constexpr std::int64_t kMi = std::int64_t{1} << 20;

class CachingAllocatorTest : public ::testing::Test {
 protected:
  CachingAllocator& start(std::string_view text, std::int64_t capacity = std::int64_t{1} << 40,
                          std::optional<std::int64_t> limit = {}) {
    AllocatorSettings settings = *read_settings(text);
    settings.limit = limit;
    allocator_.emplace(settings);
    allocator_->set_device({[this, capacity](std::int64_t bytes) { return allocator_->reserved() + bytes <= capacity; },
                            [this](std::int64_t bytes) { return addresses_.take(bytes); },
                            [this](std::int64_t at, std::int64_t bytes) { addresses_.give_back(at, bytes); }});
    return *allocator_;
  }
  [[nodiscard]] std::int64_t reserved_mib() const { return allocator_->reserved() / kMi; }

 private:
  DriverAddresses addresses_;
  std::optional<CachingAllocator> allocator_;
};

TEST_F(CachingAllocatorTest, SmallBlocksShareASegmentAndLargeOnesSplitOne) {
  CachingAllocator& allocator = start("");
  auto* small = allocator.allocate({300});
  auto* next = allocator.allocate({700'000});
  EXPECT_EQ(reserved_mib(), 2);
  EXPECT_EQ(next->address, small->address + 512);
  auto* large = allocator.allocate({4 * kMi});
  auto* rest = allocator.allocate({15 * kMi});
  EXPECT_EQ(reserved_mib(), 22) << "both lie in 20 MiB";
  EXPECT_EQ(rest->address, large->address + 4 * kMi);
  EXPECT_EQ(rest->bytes, 16 * kMi) << "a rest of 1 MiB is not split off";
  const std::int64_t begin = large->address;
  allocator.free(large);
  allocator.free(rest);
  EXPECT_EQ(allocator.allocate({20 * kMi})->address, begin) << "free neighbours are one block";
  EXPECT_EQ(reserved_mib(), 22);
}

TEST_F(CachingAllocatorTest, OtherStreamsAndPrivatePoolsHaveTheirOwnSegments) {
  CachingAllocator& allocator = start("");
  allocator.free(allocator.allocate({30 * kMi}));
  allocator.free(allocator.allocate({30 * kMi, 1}));
  allocator.free(allocator.allocate({30 * kMi, 1, 7}));
  EXPECT_EQ(reserved_mib(), 90);
  EXPECT_TRUE(allocator.serves({30 * kMi, 1, 7}));
  allocator.release_cached(0);
  EXPECT_EQ(reserved_mib(), 30);
  allocator.release_cached(7);
  EXPECT_EQ(reserved_mib(), 0);
}

TEST_F(CachingAllocatorTest, ABlockKeepsItsSegment) {
  CachingAllocator& allocator = start("", 100 * kMi);
  auto* large = allocator.allocate({60 * kMi});
  const std::int64_t begin = large->address;
  allocator.free(large);
  auto* keeps = allocator.allocate({2 * kMi});
  EXPECT_EQ(keeps->address, begin);
  EXPECT_EQ(allocator.allocate({70 * kMi}), nullptr) << "58 MiB are free, but cannot be given back";
  allocator.free(keeps);
  EXPECT_NE(allocator.allocate({70 * kMi}), nullptr) << "the device refuses, the cache is given back, it gives";
  EXPECT_EQ(reserved_mib(), 70);
}

TEST_F(CachingAllocatorTest, ExpandableSegmentsGrowByPages) {
  CachingAllocator& allocator = start("expandable_segments:True", 100 * kMi);
  auto* large = allocator.allocate({60 * kMi});
  const std::int64_t begin = large->address;
  allocator.free(large);
  auto* keeps = allocator.allocate({2 * kMi});
  EXPECT_EQ(keeps->address, begin);
  EXPECT_NE(allocator.allocate({70 * kMi}), nullptr) << "it takes the 58 MiB that are free and 20 more";
  EXPECT_EQ(reserved_mib(), 80);
  allocator.allocate({100});
  EXPECT_EQ(reserved_mib(), 82) << "small blocks have pages of 2 MiB";
}

TEST_F(CachingAllocatorTest, OnlyWholeFreePagesAreUnmapped) {
  CachingAllocator& allocator = start("expandable_segments:True");
  auto* first = allocator.allocate({30 * kMi});
  auto* second = allocator.allocate({50 * kMi});
  EXPECT_EQ(reserved_mib(), 80);
  allocator.free(second);
  allocator.release_cached(0);
  EXPECT_EQ(reserved_mib(), 40) << "of 30 to 80 MiB, the pages from 40 on";
  allocator.free(first);
  allocator.release_cached(0);
  EXPECT_EQ(reserved_mib(), 0);
}

TEST_F(CachingAllocatorTest, LargeCachedBlocksServeNoSmallRequests) {
  CachingAllocator& allocator = start("max_split_size_mb:64");
  allocator.free(allocator.allocate({100 * kMi}));
  allocator.allocate({30 * kMi});
  EXPECT_EQ(reserved_mib(), 130);
  EXPECT_EQ(allocator.kept_whole(), 1);
  allocator.allocate({70 * kMi});
  EXPECT_EQ(reserved_mib(), 200) << "100 MiB are more than 20 MiB too much";
  allocator.allocate({90 * kMi});
  EXPECT_EQ(reserved_mib(), 200) << "and are not split";
}

TEST_F(CachingAllocatorTest, ARefusedRequestGivesBackEnoughLargeBlocks) {
  CachingAllocator& allocator = start("max_split_size_mb:64", 300 * kMi);
  allocator.free(allocator.allocate({110 * kMi}));
  allocator.free(allocator.allocate({150 * kMi}));
  allocator.free(allocator.allocate({20 * kMi}));
  EXPECT_NE(allocator.allocate({75 * kMi}), nullptr);
  EXPECT_EQ(reserved_mib(), 280 - 110 + 76) << "the smallest one that is large enough, and nothing else";
}

TEST_F(CachingAllocatorTest, AboveTheThresholdOldBlocksAreCollected) {
  CachingAllocator& allocator = start("garbage_collection_threshold:0.5", std::int64_t{1} << 40, 200 * kMi);
  allocator.free(allocator.allocate({60 * kMi}));
  for (int i = 0; i < 5; ++i) allocator.free(allocator.allocate({50 * kMi, 1}));
  EXPECT_EQ(reserved_mib(), 110);
  allocator.allocate({40 * kMi, 2});
  EXPECT_EQ(reserved_mib(), 90) << "the block that no request has used for long is given back";
  EXPECT_EQ(allocator.collections(), 1);
}

TEST(DriverAddresses, TheLowestThatFitAreTaken) {
  DriverAddresses addresses;
  const std::int64_t first = addresses.take(20 * kMi);
  EXPECT_EQ(addresses.take(2 * kMi), first + 20 * kMi);
  EXPECT_EQ(addresses.take(20 * kMi), first - 32 * kMi) << "a new chunk lies below";
  EXPECT_EQ(addresses.take(4 * kMi), first - 12 * kMi);
  EXPECT_EQ(addresses.take(10 * kMi), first + 22 * kMi);
  addresses.give_back(first - 32 * kMi, 20 * kMi);
  addresses.give_back(first - 12 * kMi, 4 * kMi);
  EXPECT_EQ(addresses.take(32 * kMi), first - 32 * kMi) << "free neighbours are one";
}

TEST(DriverAddresses, EndsOfChunksThatOthersBeganAreUsedFirst) {
  DriverAddresses addresses;
  addresses.saw((3 * 32 + 30) * kMi, 2 * kMi);
  addresses.saw((5 * 32 + 8) * kMi, 20 * kMi);
  addresses.saw((5 * 32 + 28) * kMi, 2 * kMi);
  addresses.saw(32 * kMi, 20 * kMi);
  DriverAddresses again = addresses;
  EXPECT_EQ(addresses.take(4 * kMi), (5 * 32 + 8) * kMi);
  EXPECT_EQ(addresses.take(2 * kMi), (3 * 32 + 30) * kMi);
  EXPECT_EQ(addresses.take(30 * kMi), 2 * 32 * kMi) << "below what was free at first";
  for (const std::int64_t recorded : {3 * 32 + 30, 5 * 32 + 8, 5 * 32 + 28, 32}) {
    EXPECT_EQ(again.take((recorded == 5 * 32 + 8 || recorded == 32 ? 20 : 2) * kMi), recorded * kMi);
  }
  EXPECT_EQ(again.take(12 * kMi), (32 + 20) * kMi) << "the rest of the last recorded chunk";
}

}  // namespace
}  // namespace dcmt::analyzer

#include "collector/recorder/process/small_block_sizes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <vector>

namespace dcmt::recorder {
namespace {

std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

TEST(SmallBlockSizesTest, CountsTheBytesOfEachSize) {
  std::vector<std::uint64_t> words(spool::kCpuBlocks);
  words[3] = std::uint64_t{0x7f12345} << spool::kCpuBytesBits | 4096;
  words[70] = std::uint64_t{0x7f12346} << spool::kCpuBytesBits | 4033;
  words.back() = std::uint64_t{0x7f12347} << spool::kCpuBytesBits | 1;
  std::vector<std::uint8_t> sizes(spool::kGpuUnits);
  sizes[0] = 2;
  sizes[9] = 1;  // a number
  std::vector<std::array<std::uint64_t, 2>> regions(spool::kGpuRegions);
  regions[5] = {77, address_of(sizes.data())};
  regions[6] = {78, 0};
  const auto live = read_small_block_sizes(getpid(), {address_of(words.data()), address_of(regions.data())});
  ASSERT_TRUE(live);
  BytesBySize expected{};
  expected[size_class_of(4096)] = 4096 + 4033;
  expected[size_class_of(1)] = 1;
  expected[size_class_of(1024)] = 1024;
  EXPECT_EQ(*live, expected);
}

TEST(SmallBlockSizesTest, NothingIsSaidOfWhatCannotBeRead) {
  EXPECT_FALSE(read_small_block_sizes(getpid(), {0, 0}));
  EXPECT_FALSE(read_small_block_sizes(getpid(), {4096, 0})) << "no memory is there";
}

}  // namespace
}  // namespace dcmt::recorder

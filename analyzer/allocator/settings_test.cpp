#include "analyzer/allocator/settings.h"

#include <gtest/gtest.h>

namespace dcmt::analyzer {
namespace {

constexpr std::int64_t kMega = std::int64_t{1} << 20;

AllocatorSettings settings(std::string_view text) {
  const Expected<AllocatorSettings> read = read_settings(text);
  EXPECT_TRUE(read.ok()) << text;
  return read.ok() ? *read : AllocatorSettings();
}

TEST(AllocatorSettings, SizesAreRoundedTo512Bytes) {
  const AllocatorSettings unset;
  for (const auto& [asked, given] : {std::pair(1, 512), {512, 512}, {513, 1024}, {1'000'000, 1'000'448}}) {
    EXPECT_EQ(unset.rounded(asked), given) << asked;
  }
  for (const auto& [block, segment] : {std::pair(kMega, 2 * kMega),
                                       {kMega + 512, 20 * kMega},
                                       {10 * kMega - 512, 20 * kMega},
                                       {10 * kMega, 10 * kMega},
                                       {10 * kMega + 512, 12 * kMega}}) {
    EXPECT_EQ(unset.segment_for(block), segment) << block;
  }
}

TEST(AllocatorSettings, SizesAreRoundedToDivisionsOfAPowerOfTwo) {
  const AllocatorSettings four = settings("roundup_power2_divisions:4");
  EXPECT_EQ(four.rounded(1200 * 1024), 1280 * 1024) << "the example of torch's own source";
  EXPECT_EQ(four.rounded(1024 * 1024), 1024 * 1024);
  EXPECT_EQ(four.rounded(2000), 2048) << "up to 4 times 512 bytes as without";
  EXPECT_EQ(four.rounded(2100), 2560);
  const AllocatorSettings listed = settings("roundup_power2_divisions:[16:8,64:4,256:2,>:1]");
  EXPECT_EQ(listed.rounded(17 * kMega), 18 * kMega) << "eighths of 16 MiB";
  EXPECT_EQ(listed.rounded(3 * kMega + 1), 3328 * 1024) << "below the first interval as in it";
  EXPECT_EQ(listed.rounded(40 * kMega + 1), 40 * kMega + 512) << "an interval between two has none";
  EXPECT_EQ(listed.rounded(300 * kMega), 384 * kMega);
  EXPECT_EQ(listed.rounded(600 * kMega + 1), 600 * kMega + 512);
}

TEST(AllocatorSettings, AreReadAsTorchReadsThem) {
  const AllocatorSettings all = settings(
      " expandable_segments:True, "
      "max_split_size_mb:64,garbage_collection_threshold:0.6,per_process_memory_fraction:0.5,"
      "max_non_split_rounding_mb:32,large_segment_size_mb:64,pinned_use_background_threads:True");
  EXPECT_TRUE(all.expandable);
  EXPECT_EQ(all.max_split, 64 * kMega);
  EXPECT_EQ(all.collect_above, 0.6);
  EXPECT_EQ(all.fraction, 0.5);
  EXPECT_EQ(all.max_non_split_rounding, 32 * kMega);
  EXPECT_EQ(all.large_segment, 64 * kMega);
  EXPECT_EQ(settings("").max_split, AllocatorSettings::kUnlimited);
  for (const std::string_view wrong :
       {"max_split_size_mb:20", "max_split_size_mb:x", "expandable_segments:yes", "garbage_collection_threshold:1.5",
        "roundup_power2_divisions:3", "roundup_power2_divisions:[3:4]", "max_split_size", "backend:cudaMallocAsync",
        "max_split_mb:64"}) {
    EXPECT_FALSE(read_settings(wrong).ok()) << wrong;
  }
}

TEST(AllocatorSettings, LaterOnesReplaceEarlierOnes) {
  EXPECT_EQ(joined_settings("a:1,roundup_power2_divisions:[1:2,>:1]", "a:2, b:3"),
            "roundup_power2_divisions:[1:2,>:1],a:2,b:3");
  EXPECT_EQ(single_settings("a:[1:2,>:1],b:3"), (std::vector<std::string>{"a:[1:2,>:1]", "b:3"}));
}

}  // namespace
}  // namespace dcmt::analyzer

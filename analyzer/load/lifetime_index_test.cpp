#include "analyzer/load/lifetime_index.h"

#include <gtest/gtest.h>

#include <random>

#include "analyzer/load/trace_rows.h"

namespace dcmt::analyzer {
namespace {

TEST(LifetimeIndex, ASearchFindsWhatAScanFinds) {
  for (const std::size_t size : {0, 1, 63, 64, 65, 5'000}) {
    std::mt19937_64 random(size + 1);
    std::vector<Block> blocks(size);
    std::vector<LifetimeIndex::Entry> by_begin;
    for (std::size_t i = 0; i < size; ++i) {
      Block& block = blocks[i];
      block.id = BlockId(static_cast<std::int64_t>(i) + 1);
      block.span.from_seq = Sequence(static_cast<std::int64_t>(1 + random() % (2 * size)));
      // Most are short, some long, some are there to the end, and some end as they begin.
      const std::uint64_t kind = random() % 16;
      const auto length = static_cast<std::int64_t>(kind == 0 ? random() % (2 * size) : random() % 8);
      if (kind != 1) block.span.to_seq = Sequence(block.span.from_seq.value + length);
      by_begin.emplace_back(block.span.from_seq, &block);
    }
    std::ranges::stable_sort(by_begin, {}, &LifetimeIndex::Entry::first);
    const LifetimeIndex index(by_begin);
    for (std::size_t at = 0; at <= 3 * size; at += 1 + size / 97) {
      const Sequence point(static_cast<std::int64_t>(at));
      std::vector<const Block*> scanned;
      for (const Block& block : blocks) {
        if (block.span.covers(point)) scanned.push_back(&block);
      }
      EXPECT_EQ(index.at(point), scanned) << size << " blocks at " << at;
    }
  }
}

TEST(LifetimeIndex, NoBlocksNoAnswer) { EXPECT_TRUE(LifetimeIndex().at(Sequence(1)).empty()); }

}  // namespace
}  // namespace dcmt::analyzer

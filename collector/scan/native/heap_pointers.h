// Keeps the words of memory that can be addresses of malloc's chunks, so that one pass over the memory is enough.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "collector/scan/memory/memory_source.h"

namespace dcmt::scan {

/// Takes 8 bytes for each word that it keeps. Heaps and blocks have at most 32 GiB. Not thread-safe.
class HeapPointers {
 public:
  HeapPointers() : pages_(kPages) {}

  /// Words with addresses in this range are kept from now on. Call it in ascending order, before the first block.
  void add_heap(Range heap);
  /// Adds the words of a block of memory that begins at `at`.
  void add_block(Address at, std::span<const std::byte> bytes);
  [[nodiscard]] std::size_t size() const { return words_.size(); }

  /// Calls `visit(place, value)` for each word that is one of these addresses, which are sorted.
  template <class Value, class Visit>
  void each_to(std::span<const std::pair<Address, Value>> targets, Visit visit) const {
    std::vector<std::pair<Number, Value>> numbers;
    std::vector<bool> pages(heap_words_ / kPageWords + 1);
    for (const auto& [address, value] : targets) {
      const Number number = number_in_heap(address);
      if (number == kNone) continue;
      numbers.emplace_back(number, value);
      pages[number / kPageWords] = true;
    }
    for (const Word& word : words_) {
      if (!pages[word.target / kPageWords]) continue;
      const auto target = std::ranges::lower_bound(numbers, word.target, {}, &std::pair<Number, Value>::first);
      if (target != numbers.end() && target->first == word.target) visit(place_of(word), target->second);
    }
  }

 private:
  /// Counts 8 bytes each, through all heaps or all blocks, as if they followed each other.
  using Number = std::uint32_t;
  static constexpr Number kNone = ~Number{0}, kPageWords = kPageBytes / sizeof(Address);
  struct Word {
    Number target = 0, place = 0;
  };
  struct Heap {
    Range range;
    Number first = 0;
  };
  struct Block {
    Number first = 0;
    Address at = 0;
  };

  [[nodiscard]] Number number_in_heap(Address address) const;
  [[nodiscard]] Address place_of(const Word& word) const;

  static constexpr std::size_t kPages = std::size_t{1} << 20;
  /// Index of an address's page; pages that are far apart may share one.
  static std::size_t page_of(Address address) { return address / kPageBytes % kPages; }

  std::vector<bool> pages_;  ///< those of heaps
  std::vector<Heap> heaps_;
  Number heap_words_ = 0;
  std::vector<Block> blocks_;
  Number block_words_ = 0;
  std::vector<Word> words_;
};

}  // namespace dcmt::scan

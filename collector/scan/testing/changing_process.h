// A process's memory, for tests, that changes while it is read.
#pragma once

#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collector/scan/memory/memory_source.h"

namespace dcmt::scan::testing {

/// Not thread-safe.
class ChangingProcess : public MemorySource {
 public:
  /// A readable mapping of `size` zero bytes.
  ChangingProcess(Address begin, std::size_t size) : begin_(begin), bytes_(size) {
    Region region;
    region.begin = begin;
    region.end = begin + size;
    region.readable = true;
    regions_.push_back(region);
  }

  /// Adds a mapping after the others, which is not read.
  void map(Region region) { regions_.push_back(std::move(region)); }

  [[nodiscard]] const std::vector<Region>& regions() const override { return regions_; }
  std::size_t read(std::span<const Piece> pieces) override {
    std::size_t total = 0;
    for (const Piece& piece : pieces) {
      if (before_read) before_read(piece.from);
      std::memcpy(piece.into.data(), bytes_.data() + (piece.from - begin_), piece.into.size());
      total += piece.into.size();
    }
    return total;
  }
  [[nodiscard]] std::string host_path(const std::string& path) const override { return path; }

  void set(Address at, std::uint64_t word) { std::memcpy(bytes_.data() + (at - begin_), &word, sizeof(word)); }

  std::function<void(Address from)> before_read;  ///< may change the memory that is about to be read

 private:
  Address begin_;
  std::vector<std::byte> bytes_;
  std::vector<Region> regions_;
};

}  // namespace dcmt::scan::testing

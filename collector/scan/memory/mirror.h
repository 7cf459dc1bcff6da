// A sparse copy of a process's memory, which is read on demand. A census decodes everything from one mirror, so each
// word is read only once.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include "collector/scan/memory/memory_source.h"

namespace dcmt::scan {

/// Not thread-safe.
class Mirror {
 public:
  /// `source` must outlive the mirror.
  explicit Mirror(MemorySource& source);
  ~Mirror();
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  /// The copy of `size` bytes from `address`; nullptr if they are not mapped or cannot be read. Valid as long as the
  /// mirror.
  [[nodiscard]] const std::byte* at(Address address, std::size_t size) {
    // Most words lie in the same region as the one before, in a part that was read.
    const Address offset = address - latest_.begin;
    if (offset < latest_.size && size <= latest_.size - offset && size != 0) {
      const Address first = offset >> kPartBits;
      if (first == (offset + size - 1) >> kPartBits && latest_.parts[first] == kUsed) return latest_.bytes + offset;
    }
    return find(address, size);
  }

  /// Begins to load the copy of what is at `address` into the processor's cache, if it has been read.
  void prefetch(Address address);

  /// A value at `address`; zero if it cannot be read.
  template <class Value>
  [[nodiscard]] Value value(Address address) {
    Value result{};
    if (const std::byte* bytes = at(address, sizeof(Value))) std::memcpy(&result, bytes, sizeof(Value));
    return result;
  }
  [[nodiscard]] Address word(Address address) { return value<Address>(address); }
  /// The process's current word at the address, even if the copy has another value; zero if it cannot be read.
  [[nodiscard]] Address word_now(Address address);

  /// The zero-terminated text at `address`, at most `limit` bytes of it; empty if it cannot be read.
  [[nodiscard]] std::string text(Address address, std::size_t limit);

  /// The next access reads the range again. Pointers to its copy may see the change.
  void forget(Range range);

  /// The mapping that contains `address`; nullptr if none does.
  [[nodiscard]] const Region* region_of(Address address);

  /// The ranges used so far, sorted by address. The next census reads them ahead.
  [[nodiscard]] std::vector<Range> ranges_used() const;
  /// Reads the missing parts of the ranges in few calls. Parts that cannot be read are tried again on demand.
  void read_ahead(const std::vector<Range>& ranges);

  [[nodiscard]] MemorySource& source() const { return source_; }
  [[nodiscard]] std::size_t bytes_read() const { return bytes_read_; }

 private:
  static constexpr std::size_t kPartBits = 12;  // a page
  static constexpr std::size_t kPart = std::size_t{1} << kPartBits;
  enum PartState : std::uint8_t { kNotRead = 0, kRead = 1, kUnreadable = 2, kUsed = 3 };

  /// The copy of one region: reserved address space, and which parts of it have been read.
  struct Copy {
    std::byte* bytes = nullptr;
    std::vector<std::uint8_t> parts;
  };

  const std::byte* find(Address address, std::size_t size);
  std::size_t index_of(Address address);
  void reserve(std::size_t region);
  bool read_part(std::size_t region, std::size_t part);
  bool read_parts(std::size_t region, std::size_t first, std::size_t count);

  /// The region of the latest access, if it can be read.
  struct Latest {
    Address begin = 0;
    Address size = 0;
    const std::byte* bytes = nullptr;
    const std::uint8_t* parts = nullptr;
  };

  MemorySource& source_;
  const std::vector<Region>& regions_;
  std::vector<Copy> copies_;
  Latest latest_;
  std::vector<std::uint32_t> recent_;  ///< index of the region, by a hash of the address
  std::size_t bytes_read_ = 0;
};

}  // namespace dcmt::scan

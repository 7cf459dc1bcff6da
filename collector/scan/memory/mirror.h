// A sparse copy of the memory of a process, filled as it is asked for. Everything that a census decodes is read from
// one mirror, so each word is read once however many objects lead to it.
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

  /// The copy of `size` bytes from `address`; nullptr where they are not mapped or cannot be read. Valid as long as the
  /// mirror.
  [[nodiscard]] const std::byte* at(Address address, std::size_t size);

  /// A value at `address`; zero where it cannot be read.
  template <class Value>
  [[nodiscard]] Value value(Address address) {
    Value result{};
    if (const std::byte* bytes = at(address, sizeof(Value))) std::memcpy(&result, bytes, sizeof(Value));
    return result;
  }
  [[nodiscard]] Address word(Address address) { return value<Address>(address); }
  /// The word that the process has there now, whatever the copy has; zero where it cannot be read.
  [[nodiscard]] Address word_now(Address address);

  /// The zero-terminated text at `address`, at most `limit` bytes of it; empty where it cannot be read.
  [[nodiscard]] std::string text(Address address, std::size_t limit);

  /// What the range has is read again when it is asked for. Copies of it that somebody holds may change then.
  void forget(Range range);

  /// The mapping that holds `address`; nullptr if none does.
  [[nodiscard]] const Region* region_of(Address address);

  /// What has been asked for so far, in the order of addresses. The next census reads it ahead.
  [[nodiscard]] std::vector<Range> ranges_used() const;
  /// Reads in few calls what has not been read yet of the ranges. What cannot be read then is read when it is asked
  /// for.
  void read_ahead(const std::vector<Range>& ranges);

  [[nodiscard]] MemorySource& source() const { return source_; }
  [[nodiscard]] std::size_t bytes_read() const { return bytes_read_; }

 private:
  /// The copy of one region: address space that is reserved at the first read, and which of its parts hold bytes.
  struct Copy {
    std::byte* bytes = nullptr;
    std::vector<std::uint8_t> parts;
  };

  std::size_t index_of(Address address);
  void reserve(std::size_t region);
  bool read_part(std::size_t region, std::size_t part);

  MemorySource& source_;
  std::vector<Copy> copies_;
  std::vector<std::uint32_t> recent_;  ///< region by a hash of the address
  std::size_t bytes_read_ = 0;
};

}  // namespace dcmt::scan

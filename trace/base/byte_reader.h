// Reads numbers from bytes that are not trusted. Needs no library: the agent uses it, too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace dcmt {

/// Beyond the end everything reads as 0, and ok() is false from then on.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return at_ >= bytes_.size(); }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] std::string_view rest() const {
    const std::size_t at = std::min(at_, bytes_.size());
    return {bytes_.data() + at, bytes_.size() - at};
  }

  template <class Number>
  Number fixed() {
    Number number{};
    if (bytes_.size() - std::min(at_, bytes_.size()) < sizeof number) {
      ok_ = false;
      at_ = bytes_.size();
      return number;
    }
    std::memcpy(&number, bytes_.data() + at_, sizeof number);
    at_ += sizeof number;
    return number;
  }
  std::uint8_t byte() { return fixed<std::uint8_t>(); }
  std::uint64_t uleb() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; ok_; shift += 7) {
      const std::uint8_t next = byte();
      if (shift < 64) number |= std::uint64_t{next & 0x7fu} << shift;
      if ((next & 0x80) == 0) break;
    }
    return number;
  }
  std::int64_t sleb() {
    std::uint64_t number = 0;
    unsigned shift = 0;
    std::uint8_t next = 0x80;
    while (ok_ && (next & 0x80) != 0) {
      next = byte();
      if (shift < 64) number |= std::uint64_t{next & 0x7fu} << shift;
      shift += 7;
    }
    if (shift < 64 && (next & 0x40) != 0) number |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(number);
  }
  std::string_view text() {
    const std::string_view text = rest();
    const std::size_t bytes = text.find('\0');
    if (bytes == std::string_view::npos) {
      ok_ = false;
      at_ = bytes_.size();
      return {};
    }
    at_ += bytes + 1;
    return {text.data(), bytes};
  }
  void skip(std::uint64_t bytes) {
    if (bytes > bytes_.size() - std::min(at_, bytes_.size())) {
      ok_ = false;
      at_ = bytes_.size();
    } else {
      at_ += bytes;
    }
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace dcmt

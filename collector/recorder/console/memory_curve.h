// The curve of allocated bytes, in a few figures however long the run is, and drawn with characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dcmt::recorder {

/// Thread-safety: none.
class MemoryCurve {
 public:
  /// The highest bytes since the last call. Calls come at equal times.
  void add(std::int64_t bytes);

  /// The highest bytes of each of at most so many equal parts of the time.
  [[nodiscard]] std::vector<std::int64_t> columns(std::size_t most) const;

 private:
  static constexpr std::size_t kMost = 1024;

  std::vector<std::int64_t> highest_;  ///< of `each_` calls
  std::size_t each_ = 1;
  std::size_t calls_ = 0;  ///< that the last one has
};

/// The curve as rows of block characters, the highest row first. Each column is filled up to its bytes.
/// @param top  bytes that reach the upper end of the first row
[[nodiscard]] std::vector<std::string> plot(const std::vector<std::int64_t>& columns, std::size_t rows,
                                            std::int64_t top);

}  // namespace dcmt::recorder

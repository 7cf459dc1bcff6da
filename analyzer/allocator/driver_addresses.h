// Where CUDA's driver puts the segments of torch's allocator, as far as their order matters: of two free blocks that
// fit a request equally well, torch takes the one with the lower address.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace dcmt::analyzer {

/// Seen on an H200 with CUDA 13: the driver cuts segments from aligned chunks of whole 32 MiB. It takes the lowest free
/// addresses that fit; a new chunk lies below all others. At first, the ends of some chunks are free.
///
/// Thread-safety: none.
class DriverAddresses {
 public:
  /// A segment of the recorded run. One that is the first in a chunk, but not at its begin, shows the free end of a
  /// chunk.
  void saw(std::int64_t address, std::int64_t bytes);
  /// The recorded addresses, as long as the same sizes are taken in the same order.
  [[nodiscard]] std::int64_t take(std::int64_t bytes);
  void give_back(std::int64_t address, std::int64_t bytes);

 private:
  [[nodiscard]] std::int64_t lowest_fit(std::int64_t bytes) const;
  void use(std::int64_t address, std::int64_t bytes);

  std::map<std::int64_t, std::int64_t> free_;                    ///< from, to
  std::vector<std::pair<std::int64_t, std::int64_t>> recorded_;  ///< addresses and bytes, in order
  std::size_t next_ = 0;                                         ///< of them
  std::set<std::int64_t> seen_;                                  ///< chunks of the recorded run
  std::int64_t lowest_ = std::int64_t{1} << 47;
};

}  // namespace dcmt::analyzer

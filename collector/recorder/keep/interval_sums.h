// The sums of one interval: exact, whether or not its rows are kept.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "collector/recorder/keep/device.h"
#include "trace/tables/sums.h"

namespace dcmt::recorder {

/// Thread-safety: none.
struct IntervalSums {
  IntervalRow row;
  std::vector<IntervalCurveRow> curves;  ///< one for each device seen in the run

  /// Highest allocated bytes of any device.
  [[nodiscard]] std::int64_t peak() const;

  /// Allocated bytes of all devices now.
  [[nodiscard]] std::int64_t allocated() const;

  /// Allocated bytes of one device.
  [[nodiscard]] std::int64_t allocated(Device device) const;

  /// @return the device's allocated bytes afterwards
  std::int64_t alloc(Device device, std::int64_t bytes, const Point& at);
  /// @param waits  other streams still use the block: it stays active
  void free(Device device, std::int64_t bytes, const Point& at, bool waits = false);
  /// The sum of blocks without records of their own has changed; it does not count as an allocation or a free.
  /// @return the device's allocated bytes afterwards
  std::int64_t change(Device device, std::int64_t bytes, const Point& at);
  /// A freed block that waited is no longer active.
  void free_done(Device device, std::int64_t bytes, const Point& at);
  /// Sets the bytes that the device's allocator has reserved. From the first call with `traced` on, active bytes are
  /// exact.
  void reserve(Device device, std::int64_t bytes, bool traced, const Point& at);

  /// The next interval: empty, with the curves continued.
  [[nodiscard]] IntervalSums next(RowId id, const Point& at) const;

  /// Merges the next interval into this one.
  void merge(const IntervalSums& following);

 private:
  /// @param device  static text
  IntervalCurveRow& curve(std::string_view device, const Point& at);
};

}  // namespace dcmt::recorder

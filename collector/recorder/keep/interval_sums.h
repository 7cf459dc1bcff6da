// The sums of one interval: exact, whether its rows are kept or not.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "collector/recorder/keep/device.h"
#include "trace/sql/rows.h"

namespace dcmt::recorder {

/// Thread-safety: none.
struct IntervalSums {
  IntervalRow row;
  std::vector<IntervalCurveRow> curves;  ///< one per device that was seen in the run

  /// Highest allocated bytes of any device.
  [[nodiscard]] std::int64_t peak() const;

  /// Allocated bytes of all devices now.
  [[nodiscard]] std::int64_t allocated() const;

  /// Of one device.
  [[nodiscard]] std::int64_t allocated(Device device) const;

  /// @return what the device has allocated after it
  std::int64_t alloc(Device device, std::int64_t bytes, const Moment& at);
  /// @param waits  other streams still use the block: it stays active
  void free(Device device, std::int64_t bytes, const Moment& at, bool waits = false);
  /// The sum of blocks that are no records each has become more, or less: not counted among allocations and frees.
  /// @return what the device has allocated after it
  std::int64_t change(Device device, std::int64_t bytes, const Moment& at);
  /// A freed block that waited is active no more.
  void free_done(Device device, std::int64_t bytes, const Moment& at);
  /// What the device's allocator has of it. From the first one with `traced` on, active bytes are known.
  void reserve(Device device, std::int64_t bytes, bool traced, const Moment& at);

  /// The interval that follows: nothing in it yet, the curves go on where they are.
  [[nodiscard]] IntervalSums next(RowId id, const Moment& at) const;

  /// Takes the interval that follows into this one.
  void merge(const IntervalSums& following);

 private:
  /// @param device  static text
  IntervalCurveRow& curve(std::string_view device, const Moment& at);
};

}  // namespace dcmt::recorder

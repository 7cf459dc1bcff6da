// The sums of one interval: exact, whether its rows are kept or not.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/sql/rows.h"

namespace dcmt::recorder {

/// The device of the blocks that are not a GPU's.
inline constexpr std::string_view kCpu = "cpu";

/// Thread-safety: none.
struct IntervalSums {
  IntervalRow row;
  std::vector<IntervalCurveRow> curves;  ///< one per device that was seen in the run

  /// Highest allocated bytes of any device.
  [[nodiscard]] std::int64_t peak() const;

  /// @param after  what the device has allocated after the event  @param device  static text
  void alloc(std::string_view device, std::int64_t bytes, std::int64_t after, const Moment& at);
  void free(std::string_view device, std::int64_t bytes, std::int64_t after, const Moment& at);

  /// The interval that follows: nothing in it yet, the curves go on where they are.
  [[nodiscard]] IntervalSums next(RowId id, const Moment& at) const;

  /// Takes the interval that follows into this one.
  void merge(const IntervalSums& following);

 private:
  IntervalCurveRow& curve(std::string_view device, std::int64_t before, const Moment& at);
};

}  // namespace dcmt::recorder

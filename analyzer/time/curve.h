// The allocated curve: bytes that allocators have handed out, after each event; and its peak.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "trace/base/status.h"

namespace dcmt::analyzer {

/// A stretch [from, to) in which a block does not count in the curve, as if it had been freed at `from`. A zero `to`
/// means the rest of the block's life.
struct Gap {
  const Block* block = nullptr;
  Sequence from, to;
  std::optional<Bytes> part = {};  ///< of a sum of small blocks: only so many bytes of it

  [[nodiscard]] std::int64_t bytes() const { return part.value_or(block->bytes).value; }
  /// True if the block is alive then, and not needed.
  [[nodiscard]] bool covers(Sequence at) const {
    return from <= at && (!to.valid() || at < to) && block->span.covers(at);
  }
};

struct CurvePoint {
  Sequence seq;
  Bytes bytes;  ///< right after the event at `seq`
};
using Curve = std::vector<CurvePoint, HugePages<CurvePoint>>;

struct Peak {
  StringId device;
  Bytes bytes;
  Sequence seq;  ///< the event that first reached it; zero if nothing was ever allocated
  TimeNs ns;
  const Block* block = nullptr;  ///< the allocation that reached the peak
};

/// True for a GPU's name; false for "cpu".
[[nodiscard]] bool is_gpu(std::string_view device);

/// The index of the device with that name, or of the first one of that kind ("cuda"). Else an error that lists them.
[[nodiscard]] Expected<std::size_t> device_named(const std::string& path, const std::vector<std::string_view>& devices,
                                                 std::string_view name);

/// The devices that have blocks: GPUs before the CPU; of several GPUs the one with the highest peak first.
[[nodiscard]] std::vector<StringId> devices_of(const TraceData& data);

/// The curve of one device, in order of sequence, without `gaps`. An interval with sums only contributes its peak and
/// its end.
[[nodiscard]] Curve allocated_curve(const TraceData& data, StringId device, const std::vector<Gap>& gaps = {});

/// Calls visit for the points of that curve without storing them.
void for_each_point(const TraceData& data, StringId device, const std::vector<Gap>& gaps,
                    const std::function<void(const CurvePoint&)>& visit);

/// The maxima of the device's allocator; empty if unknown.
[[nodiscard]] DevicePeaks device_peaks_of(const TraceData& data, StringId device);

/// The first maximum of that curve. With `gaps`, only intervals with rows count.
[[nodiscard]] Peak peak_of(const TraceData& data, StringId device, const std::vector<Gap>& gaps = {});

}  // namespace dcmt::analyzer

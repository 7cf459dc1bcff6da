// The allocated curve: bytes that allocators have handed out, after every event, and its peak.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "trace/base/status.h"

namespace dcmt::analyzer {

/// A stretch [from, to) in which a block is taken out of the curve: what-if it had been freed at `from`. A zero `to`
/// means for the rest of the block's life.
struct Gap {
  const Block* block = nullptr;
  Sequence from, to;
  Bytes small = {};  ///< of blocks without rows that go with it
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
  const Block* block = nullptr;  ///< the allocation that reached it
};

/// True for a GPU's name; false for "cpu".
[[nodiscard]] bool is_gpu(std::string_view device);

/// Which of `devices` has that name, or is the first one of that kind ("cuda"); else an error that lists them.
[[nodiscard]] Expected<std::size_t> device_named(const std::string& path, const std::vector<std::string_view>& devices,
                                                 std::string_view name);

/// The devices that have blocks: GPUs before the CPU, of several the one with the highest peak first.
[[nodiscard]] std::vector<StringId> devices_of(const TraceData& data);

/// The curve of one device, in order of sequence; `gaps` are left out of it. An interval that has only sums gives its
/// peak and its end.
[[nodiscard]] Curve allocated_curve(const TraceData& data, StringId device, const std::vector<Gap>& gaps = {});

/// The points of that curve, none of which is kept.
void for_each_point(const TraceData& data, StringId device, const std::vector<Gap>& gaps,
                    const std::function<void(const CurvePoint&)>& visit);

/// What the device's allocator had at most; empty where it is not known.
[[nodiscard]] DevicePeaks device_peaks_of(const TraceData& data, StringId device);

/// The first maximum of that curve; with `gaps`, of the intervals whose rows are there.
[[nodiscard]] Peak peak_of(const TraceData& data, StringId device, const std::vector<Gap>& gaps = {});

}  // namespace dcmt::analyzer

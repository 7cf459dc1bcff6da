// What a program asked torch's allocator of a GPU for, in order, and what the allocator reserved meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/allocator/caching_allocator.h"
#include "analyzer/allocator/driver_addresses.h"
#include "analyzer/load/trace_data.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

struct AllocatorEvent {
  enum class Kind : std::uint8_t {
    kRequest,
    kFree,      ///< no stream uses the block any more
    kReserved,  ///< segments began
    kReleased,  ///< segments ended, one after the other
    kRefused,   ///< a request that could not be satisfied
  };

  Sequence seq;
  Kind kind = Kind::kRequest;
  const Block* block = nullptr;  ///< of a request or a free
  std::int64_t address = 0;      ///< of a request
  ModelRequest request;
  /// Of the segments that began or ended. Of a refused request, what the device had for the allocator; 0: not known.
  std::int64_t bytes = 0;
  std::vector<std::int64_t> pools;  ///< of the segments that ended, without duplicates
};

/// The requests to the allocator of one device.
struct AllocatorRequests {
  std::vector<AllocatorEvent> events;  ///< in order
  Sequence listed;                     ///< before, segments may have begun earlier than the trace says
  AllocatorSettings settings;
  std::string settings_text;
  DriverAddresses addresses;          ///< as the driver had them at the begin
  std::optional<std::int64_t> total;  ///< bytes of the device, where that is known
  bool has_sizes = false;             ///< blocks have the bytes that the allocator gave; else those that were asked for
  /// Why the events do not say all that the allocator did; empty: they do.
  std::string incomplete;
};

/// @param gaps  blocks are freed at the begin of a gap, and requested again at its end
[[nodiscard]] AllocatorRequests requests_of(const TraceData& data, StringId device, const std::vector<Gap>& gaps = {});

/// The stream of the latest request; of a request that had no success, that of its thread's latest one. nullopt: not
/// known.
[[nodiscard]] std::optional<std::int32_t> stream_at(const TraceData& data, StringId device, Sequence at);

/// The GPU's number in the name of a device; nullopt: it is no GPU.
[[nodiscard]] std::optional<std::int64_t> gpu_of(const TraceData& data, StringId device);

}  // namespace dcmt::analyzer

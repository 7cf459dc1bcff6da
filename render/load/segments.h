// Memory that the allocators of GPUs had reserved, if a trace contains it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "render/scene/addresses.h"
#include "trace/base/status.h"

namespace dcmt::load {

/// An address range that was reserved at once, or a part of an expandable segment that was mapped at once.
struct Segment {
  scene::AddressStretch addresses;
  bool expandable = false;
  Sequence from;  ///< zero: reserved before the first record
  Sequence to;    ///< zero: never freed
};

/// By device name, "cuda:0".
using Segments = std::map<std::string, std::vector<Segment>, std::less<>>;

/// Empty if the trace has no segments. Fails with kBadInput for a file that is no trace.
Expected<Segments> read_segments(const std::string& path);

/// The segments that are reserved right after that record, ascending. Adjacent parts of an expandable segment are
/// merged, as in torch's snapshots.
[[nodiscard]] std::vector<scene::AddressStretch> segments_after(const std::vector<Segment>& segments, Sequence seq);

}  // namespace dcmt::load

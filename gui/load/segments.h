// What the allocators of GPUs had reserved, where a trace has it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "gui/scene/addresses.h"
#include "trace/base/status.h"

namespace dcmt::gui::load {

/// Addresses that were reserved together, or a part of an expandable segment that was mapped at once.
struct Segment {
  scene::AddressStretch addresses;
  bool expandable = false;
  Sequence from;  ///< zero: it was there before the first record
  Sequence to;    ///< zero: it lasts
};

/// By device, "cuda:0".
using Segments = std::map<std::string, std::vector<Segment>, std::less<>>;

/// Nothing where the trace does not say. Fails with kBadInput for what is no trace.
Expected<Segments> read_segments(const std::string& path);

/// Those that are reserved right after that record, ascending. Parts of an expandable segment that lie side by side are
/// one, as in torch's snapshots.
[[nodiscard]] std::vector<scene::AddressStretch> segments_after(const std::vector<Segment>& segments, Sequence seq);

}  // namespace dcmt::gui::load

// The curve of a trace before its rows are loaded. It comes from the trace's pyramid, quickly for any size.
#pragma once

#include <string>

#include "render/scene/overview.h"
#include "trace/base/status.h"

namespace dcmt::load {

/// The curve of the device that a report begins with, in at most `most` stretches. Empty if nothing was allocated, or
/// if the trace has no pyramid: it is still recorded, and making one is as slow as loading the trace.
Expected<scene::Overview> read_overview(const std::string& path, std::size_t most);

}  // namespace dcmt::load

// The curve of a trace before its rows are read: from its pyramid, at once whatever its size.
#pragma once

#include <string>

#include "gui/scene/overview.h"
#include "trace/base/status.h"

namespace dcmt::gui::load {

/// Of the device that a report begins with, in at most `most` stretches. Empty where nothing was allocated, or where
/// the trace has no pyramid: it is still recorded, and making one takes as long as reading it.
Expected<scene::Overview> read_overview(const std::string& path, std::size_t most);

}  // namespace dcmt::gui::load

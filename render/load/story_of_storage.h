// The story of a storage as a chart.
#pragma once

#include <cstdint>

#include "analyzer/model/holders_view.h"
#include "analyzer/model/views.h"
#include "render/scene/story_chart.h"

namespace dcmt::load {

struct StoryOfStorage {
  scene::StoryChart chart;
  std::int64_t begin_ns = 0;  ///< begin of the axis, after the start of the trace
};

/// @param holders  of this storage, according to readings of the memory
/// @param end_ns  end of the trace, after its start
[[nodiscard]] StoryOfStorage story_of(const model::StorageView& storage, const model::HoldersView& holders,
                                      std::int64_t start_ns, std::int64_t end_ns);

}  // namespace dcmt::load

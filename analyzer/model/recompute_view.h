// The peak with activation checkpointing, as `show recompute` prints it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/model/values.h"
#include "analyzer/storages/recompute.h"

namespace dcmt::model {

struct RecomputeView {
  std::string path;
  std::int64_t rank = -1;
  std::optional<std::string_view> device, phase;
  std::optional<std::int64_t> step;
  std::optional<TimeNs> step_time;
  Bytes peak, small;
  std::vector<analyzer::Recompute> choices;

  static constexpr std::string_view kShape = "show recompute";
  static void describe(auto&& field) {
    field("path", &RecomputeView::path, "");
    field("rank", &RecomputeView::rank, "");
    field("device", &RecomputeView::device, "null: nothing was allocated");
    field("peak_bytes", &RecomputeView::peak, "measured");
    field("small_bytes", &RecomputeView::small,
          "of the peak, in allocations under 64 KiB, whose module is not known: they stay in each prediction");
    field("step", &RecomputeView::step, "of the peak");
    field("phase", &RecomputeView::phase, "of the peak");
    field("step_ns", &RecomputeView::step_time, "how long that step took");
    field("choices", &RecomputeView::choices,
          "lowest peak first; each is for itself. Empty: no call of a module kept anything for a backward");
  }
};

[[nodiscard]] RecomputeView recompute_view(const std::string& path, const analyzer::Analysis& analysis);

}  // namespace dcmt::model

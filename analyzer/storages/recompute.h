// What-if of activation checkpointing: the peak if modules were computed again in the backward, instead of what their
// nodes save for it being kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

/// Modules that are computed again together, each call of each of them on its own.
struct Recompute {
  std::string modules;
  std::int64_t instances = 0;
  Bytes peak;
  Bytes saved;
  std::optional<TimeNs> again;

  static constexpr std::string_view kShape = "recompute";
  static void describe(auto&& field) {
    field("modules", &Recompute::modules, "\"model.layers.*\": a * stands for any number");
    field("instances", &Recompute::instances, "modules of that name whose calls a backward followed");
    field("peak_bytes", &Recompute::peak, "predicted");
    field("saved_bytes", &Recompute::saved, "the most that would not be kept at one time");
    field("again_ns", &Recompute::again,
          "how long their calls took in the step of the peak; null: not known, as on a GPU");
  }
};

/// One row for each name of modules whose calls keep something for a backward, lowest peak first. What a call made is
/// known of blocks with rows only: what is under 64 KiB stays in the predicted curve.
[[nodiscard]] std::vector<Recompute> recomputes(const TraceData& data, const PhaseIndex& phases,
                                                const std::vector<Step>& steps, StringId device);

}  // namespace dcmt::analyzer

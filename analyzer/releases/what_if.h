// What-if: the peak without storages that were kept past their release.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/releases/releases.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

/// The stretches in which blocks of a released storage were kept for nothing: from the end of the release to the next
/// gather or wait that gives the storage, or to the block's end. Empty for a release that is not residual. Also empty
/// if the storage was read afterwards: freeing it at the release would break the program.
[[nodiscard]] std::vector<Gap> gaps_at_release(const TraceData& data, const ReleaseRow& release);

/// The same for releases that left bytes for some time, residual or not.
[[nodiscard]] std::vector<Gap> gaps_while_held(const TraceData& data, const std::vector<const ReleaseRow*>& releases);

/// Like gaps_at_release(), but from the last use that is known: the release itself, or the last observed read after it
/// (the end of the operator, the launch of the kernel). Uses before the release are not recorded, so the actual last
/// use may be earlier.
[[nodiscard]] std::vector<Gap> gaps_at_last_use(const TraceData& data, const ReleaseRow& release);

/// The gaps of many releases.
[[nodiscard]] std::vector<Gap> gaps_at_release(const TraceData& data, const std::vector<const ReleaseRow*>& releases);
[[nodiscard]] std::vector<Gap> gaps_at_last_use(const TraceData& data, const std::vector<const ReleaseRow*>& releases);

/// The gaps in blocks of one device.
[[nodiscard]] std::vector<Gap> gaps_on(StringId device, std::vector<Gap> gaps);

/// The measured peak of a device, and its predictions.
struct WhatIf {
  Peak measured;
  Bytes dead_at_peak;           ///< part of the measured peak that was kept past its release
  Bytes needed_at_peak;         ///< the rest of the measured peak
  Peak predicted;               ///< the peak if every residual storage were freed at its release
  Peak predicted_last_use;      ///< the peak if every residual storage were freed at its last known use
  bool last_use_known = false;  ///< some storage was read after its release; else both predictions are equal
};

[[nodiscard]] WhatIf what_if(const TraceData& data, StringId device, const std::vector<const ReleaseRow*>& releases);

/// The bytes of blocks on `device` whose gaps cover `at`.
[[nodiscard]] Bytes bytes_in_gaps(const std::vector<Gap>& gaps, StringId device, Sequence at);

}  // namespace dcmt::analyzer

// What-if: the peak without the storages that were kept past their release.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/releases/releases.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

/// The stretches in which blocks of a released storage were kept for nothing: from the end of the release to the next
/// gather or wait that gives the storage again, or to the block's end. Empty for a release that is not residual, and
/// for one whose storage was read afterwards: freeing that at the release would break the program.
[[nodiscard]] std::vector<Gap> gaps_at_release(const TraceData& data, const ReleaseRow& release);

/// The same, from the last use that is known: the release itself, or the end of the last operator or the launch of the
/// last kernel seen reading the storage after it. Uses before the release are not recorded, so real last uses may lie
/// earlier.
[[nodiscard]] std::vector<Gap> gaps_at_last_use(const TraceData& data, const ReleaseRow& release);

/// The gaps of many releases.
[[nodiscard]] std::vector<Gap> gaps_at_release(const TraceData& data, const std::vector<const ReleaseRow*>& releases);
[[nodiscard]] std::vector<Gap> gaps_at_last_use(const TraceData& data, const std::vector<const ReleaseRow*>& releases);

/// Those of blocks of one device.
[[nodiscard]] std::vector<Gap> gaps_on(StringId device, std::vector<Gap> gaps);

/// The measured peak of a device and what it would be.
struct WhatIf {
  Peak measured;
  Bytes dead_at_peak;           ///< of the measured peak: bytes kept past their release
  Bytes needed_at_peak;         ///< the rest
  Peak predicted;               ///< with every residual storage freed at its release
  Peak predicted_last_use;      ///< with every residual storage freed at its last known use
  bool last_use_known = false;  ///< some storage was seen read after its release; else both predictions are the same
};

[[nodiscard]] WhatIf what_if(const TraceData& data, StringId device, const std::vector<const ReleaseRow*>& releases);

/// Bytes of the gaps' blocks on `device` that are open at `at`.
[[nodiscard]] Bytes bytes_in_gaps(const std::vector<Gap>& gaps, StringId device, Sequence at);

}  // namespace dcmt::analyzer

// The tables of `show` as a person reads them.
#pragma once

#include <string>

#include "analyzer/releases/storage_story.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/time/curve_overview.h"
#include "cli/inputs.h"
#include "cli/text.h"

namespace dcmt::cli {

[[nodiscard]] std::string curve_text(const analyzer::CurveOverview& curve, const Style& style);
[[nodiscard]] std::string peak_text(const LoadedTrace& trace, analyzer::GroupBy by, const Style& style);
/// What is alive right after `at`, grouped.
[[nodiscard]] std::string live_text(const LoadedTrace& trace, StringId device, Sequence at, analyzer::GroupBy by,
                                    const Style& style);
[[nodiscard]] std::string releases_text(const LoadedTrace& trace, const Style& style);
[[nodiscard]] std::string storage_text(const LoadedTrace& trace, const analyzer::StorageStory& story,
                                       const Style& style);

}  // namespace dcmt::cli

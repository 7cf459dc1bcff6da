// The machine-readable face. Its keys are documented in docs/json.md; a test compares the two.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/releases/storage_story.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/time/curve_overview.h"
#include "cli/doctor.h"
#include "cli/inputs.h"
#include "cli/json_values.h"

namespace dcmt::cli {

/// The version of these documents: it grows when a key changes its meaning or goes; new keys do not change it.
inline constexpr int kJsonVersion = 1;

/// {"version", "command", "traces": [...]} around the traces' own objects.
[[nodiscard]] Json document(std::string_view command, Json traces);

/// As it is printed. Bytes that are no UTF-8 (a file's name may have them) become U+FFFD.
[[nodiscard]] std::string printed(const Json& document);

/// The whole document of `doctor`.
[[nodiscard]] Json diagnosis_json(const Diagnosis& diagnosis);

[[nodiscard]] Json report_json(const LoadedTrace& trace);
[[nodiscard]] Json releases_json(const LoadedTrace& trace);
/// The live set at the peak with the curve's height there.
[[nodiscard]] Json peak_json(const LoadedTrace& trace);
[[nodiscard]] Json curve_json(const OpenedTrace& trace, const analyzer::CurveOverview& curve);
[[nodiscard]] Json live_json(const LoadedTrace& trace, StringId device, Sequence at);
[[nodiscard]] Json storage_json(const LoadedTrace& trace, const analyzer::StorageStory& story);

}  // namespace dcmt::cli

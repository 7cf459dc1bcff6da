// The views of `show` as text for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/holders_view.h"
#include "analyzer/model/job_view.h"
#include "analyzer/model/kernels_view.h"
#include "analyzer/model/memory_view.h"
#include "analyzer/model/native_view.h"
#include "analyzer/model/recompute_view.h"
#include "analyzer/model/reserved_view.h"
#include "analyzer/model/saved_view.h"
#include "analyzer/model/views.h"
#include "cli/groups_text.h"
#include "cli/text.h"

namespace dcmt::cli {

[[nodiscard]] std::string peak_text(const model::PeakView& view, const Grouping& by, const Style& style);
[[nodiscard]] std::string live_text(const model::LiveView& view, const Grouping& by, const Style& style);
[[nodiscard]] std::string releases_text(const model::ReleasesView& view, const Style& style);
[[nodiscard]] std::string holders_text(const model::HoldersView& view, const Style& style);
[[nodiscard]] std::string native_text(const model::NativeView& view, const Style& style);
[[nodiscard]] std::string job_text(const model::JobView& view, const Style& style);
[[nodiscard]] std::string kernels_text(const model::KernelsView& view, const Style& style);
[[nodiscard]] std::string memory_text(const model::MemoryView& view, const Style& style);
[[nodiscard]] std::string recompute_text(const model::RecomputeView& view, const Style& style);
[[nodiscard]] std::string reserved_text(const model::ReservedView& view, const Style& style);
[[nodiscard]] std::string saved_text(const model::SavedView& view, const std::optional<Grouping>& by,
                                     const Style& style);
[[nodiscard]] std::string storage_text(const model::StorageView& view, const Style& style);
/// Who took and who gave back each reference; empty if none was watched.
[[nodiscard]] std::string references_text(const std::vector<model::CountStory>& stories, const Style& style);

/// The name of a point: "at the peak".
[[nodiscard]] std::string point_text(const std::string& at);

/// The line in `show peak` and `show curve` about a device that they do not show.
[[nodiscard]] std::string other_device_line(std::string_view device, Bytes peak, const Style& style);

}  // namespace dcmt::cli

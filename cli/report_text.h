// The report as a person reads it.
#pragma once

#include <string>
#include <vector>

#include "cli/inputs.h"
#include "cli/text.h"

namespace dcmt::cli {

/// The report of all traces; a rank that says the same as the one before it gets one line.
[[nodiscard]] std::string report_text(const std::vector<LoadedTrace>& traces, const Style& style);

/// Parts that other faces show too.
[[nodiscard]] std::string where_of_peak(const analyzer::TraceData& data, const analyzer::DeviceAnalysis& device);
[[nodiscard]] std::string footer_text(const LoadedTrace& trace, const Style& style);
/// Lines "held by …" of what one census found.
[[nodiscard]] std::string holder_lines(const analyzer::TraceData& data, const analyzer::Holders& holders,
                                       std::string_view suffix, const Style& style);
/// "storage 1 = 1 explained + 0 unexplained · tensors …".
[[nodiscard]] std::string count_text(const analyzer::Holders& holders);
/// "by the last reference, at the return of Runner.call".
[[nodiscard]] std::string gone_text(const analyzer::TraceData& data, const analyzer::Gone& gone,
                                    const analyzer::Holders* holders);

/// A line of a finding.
[[nodiscard]] std::string labelled(std::string_view label, std::string_view text, const Style& style);

}  // namespace dcmt::cli

// The peak of a device as text for people.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/model/devices.h"
#include "cli/text.h"

namespace dcmt::cli {

/// "cuda:0 · step 3 · forward · at release_param · train.py:9 main".
[[nodiscard]] std::string where_of_peak(const model::DevicePeak& peak);
/// The peak, the dead part of it, and its predicted value without the findings.
[[nodiscard]] std::string peak_lines(const model::DevicePeak& peak, std::string_view history, const Style& style);
/// What is alive at the peak, by category: "  of it   optimizer state 3.0 MiB · …"; empty if no reading of the memory
/// found what anything is for.
[[nodiscard]] std::string composition_line(const model::LivePeak& peak, const Style& style);

}  // namespace dcmt::cli

// The peak of a device as a person reads it.
#pragma once

#include <string>

#include "analyzer/model/devices.h"
#include "cli/text.h"

namespace dcmt::cli {

/// "cuda:0 · step 3 · forward · at release_param · train.py:9 main".
[[nodiscard]] std::string where_of_peak(const model::DevicePeak& peak);
/// The peak, what of it is dead, and what it would be without the findings.
[[nodiscard]] std::string peak_lines(const model::DevicePeak& peak, const Style& style);
/// What is alive at the peak, by category: "  of it   optimizer state 3.0 MiB · …"; empty where readings
/// of the memory do not say it of most bytes.
[[nodiscard]] std::string composition_line(const model::Peak& peak, const Style& style);

}  // namespace dcmt::cli

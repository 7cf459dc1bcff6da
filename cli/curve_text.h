// The allocated curve as text for people.
#pragma once

#include <string>

#include "analyzer/model/curve_view.h"
#include "cli/text.h"

namespace dcmt::cli {

[[nodiscard]] std::string curve_text(const model::CurveView& view, const Style& style);

}  // namespace dcmt::cli

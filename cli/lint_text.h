// The results of `lint` as text for people.
#pragma once

#include <string>

#include "analyzer/generated/linted.h"
#include "cli/text.h"

namespace dcmt::cli {

[[nodiscard]] std::string lint_text(const analyzer::Linted& linted, const Style& style);

}  // namespace dcmt::cli

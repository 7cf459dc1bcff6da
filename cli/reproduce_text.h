// Results of replays as text for people.
#pragma once

#include <string>

#include "analyzer/replay/replay_views.h"
#include "cli/text.h"

namespace dcmt::cli {

[[nodiscard]] std::string reproduce_text(const model::ReproduceView& all, const Style& style);

}  // namespace dcmt::cli

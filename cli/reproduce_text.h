// What a person reads of a replay, and the program that tells a plan's story without anything but torch.
#pragma once

#include <string>
#include <vector>

#include "cli/plan_json.h"
#include "cli/text.h"

namespace dcmt::cli {

[[nodiscard]] std::string reproduce_text(const LoadedTrace& trace, const std::vector<Replay>& replays,
                                         const Style& style);

/// A Python program of at most 100 lines that needs torch and nothing else. `finding`: whose parameters are shown where
/// not all have room; nullptr: the first ones.
[[nodiscard]] std::string story_program(const LoadedTrace& trace, const analyzer::ReplayPlan& plan,
                                        const analyzer::Finding* finding);

}  // namespace dcmt::cli

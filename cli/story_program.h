// The story of a plan as a program that needs only torch.
#pragma once

#include <string>

#include "analyzer/replay/replay_plan.h"

namespace dcmt::cli {

/// A Python program of at most 100 lines. `path`: of the trace. `finding`: its parameters are shown if there is no
/// space for all; nullptr: the first ones.
[[nodiscard]] std::string story_program(const std::string& path, const analyzer::ReplayPlan& plan,
                                        const analyzer::Finding* finding);

}  // namespace dcmt::cli

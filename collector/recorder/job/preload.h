// How the agent gets into a program that is started: by the environment.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dcmt::recorder {

/// Variables, with their values, by which a program and all below it load the agent at `agent` (a path). What is
/// preloaded already stays before it.
std::vector<std::pair<std::string, std::string>> preload_variables(const std::string& agent);

}  // namespace dcmt::recorder

// Brings the agent into a started program through the environment.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dcmt::recorder {

/// Variables, with their values, that make a program and its child processes load the agent at the path `agent`.
/// Libraries that are preloaded already stay before it.
std::vector<std::pair<std::string, std::string>> preload_variables(const std::string& agent);

}  // namespace dcmt::recorder

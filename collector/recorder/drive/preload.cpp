#include "collector/recorder/drive/preload.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace dcmt::recorder {
namespace fs = std::filesystem;

namespace {

/// After libraries that are preloaded already, because sanitizers must be first. Replaces the agent of an outer run.
std::string preload_value(const std::string& agent) {
  const char* already = getenv("LD_PRELOAD");
  std::string value;
  std::istringstream words(already != nullptr ? already : "");
  for (std::string paths; words >> paths;) {  // ld.so separates paths by spaces and colons
    std::istringstream colons(paths);
    for (std::string path; std::getline(colons, path, ':');) {
      if (!path.empty() && fs::path(path).filename() != fs::path(agent).filename()) value += path + ":";
    }
  }
  return value + agent;
}

/// A program with the address sanitizer refuses to start if a library is loaded before the sanitizer. The agent
/// replaces none of its functions, so the order does not matter.
std::string sanitizer_value() {
  const char* already = getenv("ASAN_OPTIONS");
  const std::string ours = "verify_asan_link_order=0";
  return already != nullptr && *already != '\0' ? std::string(already) + ":" + ours : ours;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> preload_variables(const std::string& agent) {
  return {{"LD_PRELOAD", preload_value(agent)}, {"ASAN_OPTIONS", sanitizer_value()}};
}

}  // namespace dcmt::recorder

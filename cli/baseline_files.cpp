#include "cli/baseline_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "trace/base/shell_words.h"

namespace dcmt::cli {

namespace fs = std::filesystem;

Expected<std::vector<std::string>> baselines_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".json") files.push_back(at->path().string());
  }
  if (files.empty()) return Error{ErrorCode::kBadInput, path + ": no baseline (*.json) in this folder."};
  std::ranges::sort(files);
  return files;
}

Expected<gate::Baseline> read_baseline(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file && errno != ENOENT) {
    return Error{ErrorCode::kBadInput, path + ": cannot be read: " + std::strerror(errno) + "."};
  }
  if (!file) {
    return Error{ErrorCode::kBadInput,
                 path + ": there is no such baseline. Make it: dc-memtrace check --update --baseline " +
                     shell_word(path) + " -- <command>"};
  }
  std::ostringstream text;
  text << file.rdbuf();
  return gate::parse_baseline(path, text.str());
}

}  // namespace dcmt::cli

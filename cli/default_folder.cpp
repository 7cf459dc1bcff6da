#include "cli/default_folder.h"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "trace/base/closest_word.h"

namespace dcmt::cli {
namespace {

namespace fs = std::filesystem;

/// A name for one folder, without characters that are special for a shell or a file system.
std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const bool fine =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
    text += fine || (c == '.' && !text.empty()) ? c : '_';
  }
  return text.empty() ? "run" : text;
}

struct Run {
  std::string folder;
  fs::file_time_type time;
};

/// Folders below `parent` that contain a run, compared with the newest one so far. Unreadable folders are skipped.
void find_newest(const fs::path& parent, std::optional<Run>& newest) {
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    std::error_code missing;
    const fs::file_time_type time = fs::last_write_time(at->path() / "run.json", missing);
    if (missing || (newest && newest->time >= time)) continue;
    newest = Run{at->path().lexically_normal().string(), time};
  }
}

}  // namespace

std::string program_of(const std::vector<std::string>& command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    const fs::path word(command[i]);
    if (word.extension() == ".py") return word.stem().string();
    if (command[i] == "-m" && i + 1 < command.size()) return command[i + 1];
  }
  return command.empty() ? "" : fs::path(command.front()).filename().string();
}

std::string default_folder(const std::string& program, bool launched_with_others) {
  const std::string name = fmt::format("{}/{}", kRunsFolder, plain(program));
  if (launched_with_others) return name;
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 32> time{};
  std::strftime(time.data(), time.size(), "%Y%m%d-%H%M%S", &local);
  const std::string first = fmt::format("{}-{}", name, time.data());
  std::string folder = first;
  std::error_code ignored;
  for (int next = 2; fs::exists(folder, ignored); ++next) folder = fmt::format("{}-{}", first, next);
  return folder;
}

Expected<std::string> newest_run() {
  std::optional<Run> newest;
  find_newest(".", newest);
  find_newest(kRunsFolder, newest);
  if (!newest) {
    return Error{ErrorCode::kBadInput, fmt::format("no run in this folder or in {}. Record one: dc-memtrace run python "
                                                   "train.py",
                                                   kRunsFolder)};
  }
  return newest->folder;
}

Expected<std::string> run_named(const std::string& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored)) return path;
  if (path == kLastRun) return newest_run();
  const std::string meant = did_you_mean(path, {kLastRun});
  if (!meant.empty()) return Error{ErrorCode::kBadInput, path + ": no such file or folder." + meant};
  return path;
}

}  // namespace dcmt::cli

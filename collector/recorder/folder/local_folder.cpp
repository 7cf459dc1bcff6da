#include "collector/recorder/folder/local_folder.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "collector/recorder/folder/file_system.h"
#include "collector/recorder/folder/private_folder.h"

namespace dcmt::recorder {
namespace {

namespace fs = std::filesystem;

constexpr char kName[] = "dc-memtrace-";
/// A link in the local folder to the output folder.
constexpr char kOutput[] = "/output";

/// Empty if there is none.
std::string local_disk() {
  for (const char* name : {"SLURM_TMPDIR", "TMPDIR", ""}) {
    const char* const value = *name != '\0' ? getenv(name) : "/tmp";
    if (value == nullptr || *value == '\0') continue;
    std::error_code error;
    if (!fs::is_directory(value, error) || access(value, W_OK | X_OK) != 0) continue;
    if (network_file_system_of(value).empty()) return value;
  }
  return {};
}

}  // namespace

Expected<TraceFolders> trace_folders(const std::string& output, const std::string& scratch) {
  if (scratch.empty() && network_file_system_of(output).empty()) return TraceFolders{output, output};
  const std::string disk = !scratch.empty() ? scratch : local_disk();
  if (disk.empty()) return TraceFolders{output, output};
  std::string pattern = fs::absolute(disk).lexically_normal().string();
  while (pattern.size() > 1 && pattern.back() == '/') pattern.pop_back();
  pattern += std::string("/") + kName + "XXXXXX";
  if (mkdtemp(pattern.data()) != nullptr) {
    std::error_code ignored;
    fs::create_directory_symlink(fs::absolute(output), pattern + kOutput, ignored);
    return TraceFolders{output, pattern};
  }
  const int why = errno;
  if (scratch.empty()) return TraceFolders{output, output};
  return Error{ErrorCode::kIo, fmt::format("{}: no folder for traces can be made: {}. Name another with --scratch.",
                                           scratch, std::strerror(why))};
}

Status check_local_folder(const std::string& folder) {
  const fs::path path(folder);
  const Error bad{ErrorCode::kBadInput, folder + ": is no folder that a run here would make for its traces"};
  if (!path.is_absolute() || path != path.lexically_normal() || !is_made_from(path.filename().string(), kName)) {
    return bad;
  }
  const int fd = open_private(folder);
  if (fd >= 0) {
    close(fd);
  } else if (errno != ENOENT) {
    return bad;
  }
  return {};
}

void remove_local_folder(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path() != folder + kOutput) return;
  }
  if (error || !check_local_folder(folder).ok()) return;
  unlink((folder + kOutput).c_str());
  rmdir(folder.c_str());
}

std::string output_folder_of(const std::string& folder) {
  std::error_code error;
  const fs::path output = fs::read_symlink(folder + kOutput, error);
  return error || !check_local_folder(fs::absolute(folder).string()).ok() ? folder : output.string();
}

}  // namespace dcmt::recorder

#include "cli/new_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "trace/base/printable.h"

namespace dcmt::cli {

namespace fs = std::filesystem;

NewFile::NewFile(std::string path) : path_(std::move(path)) {
  const fs::path shown(path_);
  part_ = (shown.parent_path() / ("." + shown.filename().string() + "." + std::to_string(getpid()) + ".part")).string();
  std::error_code ignored;
  fs::remove(part_, ignored);
}

NewFile::~NewFile() {
  std::error_code ignored;
  if (!kept_) fs::remove(part_, ignored);
}

Status NewFile::check(bool replace) const {
  std::error_code error;
  if (fs::is_directory(path_, error)) {
    return {ErrorCode::kBadInput, printable(path_) + ": is a folder. Name a file."};
  }
  if (fs::exists(path_, error) && !fs::is_regular_file(path_, error)) {
    return {ErrorCode::kBadInput, printable(path_) + ": is a device or the like, and is not replaced. Name a file."};
  }
  if (!replace && fs::exists(fs::symlink_status(path_, error))) {
    return {ErrorCode::kBadInput, printable(path_) + ": exists already. Choose another name, or replace it: --force."};
  }
  const fs::path folder = fs::path(path_).parent_path();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0) {
    return {ErrorCode::kBadInput, printable(path_) + ": cannot be written: " + std::strerror(errno) + "."};
  }
  return {};
}

Status NewFile::keep() {
  std::error_code error;
  fs::rename(part_, path_, error);
  if (error) return {ErrorCode::kIo, printable(path_) + ": cannot be written: " + error.message() + "."};
  kept_ = true;
  return {};
}

Status write_new_file(const std::string& path, const std::string& text) {
  std::error_code ignored;  // write_new_file reports below what cannot be made
  if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) fs::create_directories(folder, ignored);
  NewFile file(path);
  DCMT_RETURN_IF_ERROR(file.check(true));
  std::ofstream out(file.part(), std::ios::binary);
  out << text;
  out.close();
  if (!out) return {ErrorCode::kIo, path + ": cannot be written: is the disk full?"};
  return file.keep();
}

}  // namespace dcmt::cli

// Where the parts of the installation, or of the build tree, are.
#pragma once

#include <filesystem>

namespace dcmt::cli {

/// <root>/bin/dc-memtrace is this program.
[[nodiscard]] inline std::filesystem::path installation_root() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path();
}

/// The agent, its providers, the executor.
[[nodiscard]] inline std::filesystem::path library_folder() { return installation_root() / "lib" / "dcmt"; }

/// Tables and Python modules.
[[nodiscard]] inline std::filesystem::path data_folder() { return installation_root() / "share" / "dcmt"; }

}  // namespace dcmt::cli

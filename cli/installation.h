// Locations of the parts of the installation, or of the build tree, and of what was prepared for this user.
#pragma once

#include <filesystem>

namespace dcmt::cli {

/// This program is <root>/bin/dc-memtrace.
[[nodiscard]] inline std::filesystem::path installation_root() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path();
}

/// Contains the agent, its providers and the executor.
[[nodiscard]] inline std::filesystem::path library_folder() { return installation_root() / "lib" / "dcmt"; }

/// The library that puts a process which loads it in standby.
[[nodiscard]] inline std::filesystem::path entry_library() { return library_folder() / "libdcmt_standby.so"; }

/// Contains tables, Python modules, and sources of the torch provider.
[[nodiscard]] inline std::filesystem::path data_folder() { return installation_root() / "share" / "dcmt"; }

/// The folder for all files that dc-memtrace stores on its own: $XDG_CACHE_HOME/dc-memtrace, else ~/.cache/dc-memtrace.
/// Empty if neither variable is set.
[[nodiscard]] std::filesystem::path cache_folder();

/// The folder in the cache with torch providers that were built from the sources of this installation: one folder each,
/// named by the build id of its torch. Empty if the installation has no sources, or if there is no cache folder.
[[nodiscard]] std::filesystem::path preparation_folder();

/// preparation_folder() if it exists and only its owner, the user of this process, can write to it: its contents are
/// loaded into jobs. Else empty.
[[nodiscard]] std::filesystem::path prepared_folder();

}  // namespace dcmt::cli

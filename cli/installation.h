// Where the parts of the installation, or of the build tree, are, and what was prepared for this user.
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

/// What puts a process in standby that loads it.
[[nodiscard]] inline std::filesystem::path entry_library() { return library_folder() / "libdcmt_standby.so"; }

/// Tables, Python modules, and sources of the torch provider.
[[nodiscard]] inline std::filesystem::path data_folder() { return installation_root() / "share" / "dcmt"; }

/// Everything that dc-memtrace keeps of its own accord: $XDG_CACHE_HOME/dc-memtrace, else ~/.cache/dc-memtrace. Empty
/// where neither variable is set.
[[nodiscard]] std::filesystem::path cache_folder();

/// In the cache, where torch providers are that were made from the sources of this installation: one folder each, named
/// by the build id of its torch. Empty where the installation has no sources, or there is no cache folder.
[[nodiscard]] std::filesystem::path preparation_folder();

/// The same, if it is there and only its owner, who is this process's user, can write to it: what lies in it is loaded
/// into jobs. Else empty.
[[nodiscard]] std::filesystem::path prepared_folder();

}  // namespace dcmt::cli

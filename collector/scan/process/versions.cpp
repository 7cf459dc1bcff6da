#include "collector/scan/process/versions.h"

#include "collector/scan/process/elf_symbols.h"
#include "trace/base/build_id.h"
#include "trace/base/read_file.h"

namespace dcmt::scan {
namespace {

constexpr const char* kTorchLibrary = "/lib/libtorch_cpu.so";

/// "2.11.0" from a line such as: __version__ = '2.11.0+cu130'
std::string version_of_package(const std::string& text) {
  const std::size_t line = text.find("__version__ =");
  const std::size_t begin = line == std::string::npos ? line : text.find('\'', line);
  if (begin == std::string::npos) return {};
  return text.substr(begin + 1, text.find_first_of("'+", begin + 1) - begin - 1);
}

/// "2.11.0" from what libtorch has in its file build-version: 2.11.0+cpu
std::string version_of_libtorch(const std::string& text) {
  return text.substr(0, text.find_first_not_of("0123456789."));
}

}  // namespace

Expected<RunningVersions> running_versions(Mirror& memory) {
  RunningVersions versions;
  const MemorySource& source = memory.source();
  // Try a shared libpython first: the path of a program that embeds Python can contain "python".
  bool has_python = false;
  for (const char* file : {"libpython", "/python", "/"}) {
    const auto runtime = symbol_address(source, file, "_PyRuntime");
    const auto version = symbol_address(source, file, "Py_Version");
    has_python = has_python || runtime.has_value();
    if (!runtime || !version) continue;
    versions.runtime = *runtime;
    versions.python = static_cast<std::int64_t>(memory.word(*version) >> 16);
    break;
  }
  const Error no_python{ErrorCode::kCannotRecord, kNoPython};
  if (has_python && versions.python == 0) return no_python;
  for (const Region& region : source.regions()) {
    if (!region.path.ends_with(kTorchLibrary)) continue;
    const std::string folder = region.path.substr(0, region.path.size() - std::string_view(kTorchLibrary).size());
    versions.torch = version_of_package(read_file(source.host_path(folder + "/version.py")).value_or(""));
    if (versions.torch.empty())
      versions.torch = version_of_libtorch(read_file(source.host_path(folder + "/build-version")).value_or(""));
    versions.torch_build = build_id_of(source.host_path(region.path));
    break;
  }
  if (versions.torch.empty() && !has_python) return no_python;
  if (versions.torch.empty()) {
    return Error{ErrorCode::kCannotRecord, "the process has not loaded torch: there is no storage to name"};
  }
  return versions;
}

}  // namespace dcmt::scan

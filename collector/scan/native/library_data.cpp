#include "collector/scan/native/library_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "trace/base/demangled.h"

namespace dcmt::scan {
namespace {

/// The recording's own libraries note addresses, and never keep a reference.
constexpr std::array<std::string_view, 6> kRecording = {"libdcmt_agent.so",  "libdcmt_cuda.so",    "libdcmt_native.so",
                                                        "libdcmt_python.so", "libdcmt_standby.so", "libdcmt_torch.so"};

/// Of these libraries no variable holds an object of the program.
bool keeps_nothing(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  // malloc's lists of free chunks are in libc.
  return name.starts_with("libc.so.") || name.starts_with("ld-linux") ||
         std::ranges::any_of(kRecording, [&](std::string_view each) { return name.find(each) != name.npos; });
}

}  // namespace

const LibraryData::Library& LibraryData::library(const std::string& path) {
  Library& library = libraries_[path];
  if (library.file == nullptr) {
    library.file = std::make_unique<ElfFile>(source_.host_path(path));
    library.loaded_at = std::ranges::find(source_.regions(), path, &Region::path)->begin;
    library.end = library.loaded_at + library.file->end() - library.file->first_page();
  }
  return library;
}

const Region* LibraryData::region_of(Address address) {
  const std::vector<Region>& regions = source_.regions();
  auto region = std::ranges::upper_bound(regions, address, {}, &Region::begin);
  if (region == regions.begin() || address >= (--region)->end || !region->writable) return nullptr;
  // Zero-initialised variables follow those in the file. The system may map other memory right after them.
  const bool begins_as_zero = region->path.empty();
  if (begins_as_zero && region != regions.begin() && std::prev(region)->end == region->begin) --region;
  const std::string& path = region->path;
  if (!path.starts_with('/') || !region->writable || keeps_nothing(path)) return nullptr;
  return begins_as_zero && address >= library(path).end ? nullptr : &*region;
}

std::string LibraryData::name_of(Address address) {
  const Region* region = region_of(address);
  if (region == nullptr) return {};
  const Library& found = library(region->path);
  const Address place = address - found.loaded_at + found.file->first_page();
  const std::optional<std::string> symbol = found.file->variable_at(place);
  const std::string name = region->path.substr(region->path.rfind('/') + 1);
  return symbol ? fmt::format("{}: {}", name, demangled(*symbol).value_or(*symbol))
                : fmt::format("{}: static data+{:#x}", name, place);
}

}  // namespace dcmt::scan

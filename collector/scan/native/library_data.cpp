#include "collector/scan/native/library_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "trace/base/demangled.h"

namespace dcmt::scan {
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
  // malloc's lists of free chunks are there.
  const bool is_libc = path.find("/libc.so.") != std::string::npos || path.find("/ld-linux") != std::string::npos;
  if (!path.starts_with('/') || !region->writable || is_libc) return nullptr;
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

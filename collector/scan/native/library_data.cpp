#include "collector/scan/native/library_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "trace/base/demangled.h"

namespace dcmt::scan {
const Region* LibraryData::region_of(Address address) const {
  const std::vector<Region>& regions = source_.regions();
  auto region = std::ranges::upper_bound(regions, address, {}, &Region::begin);
  if (region == regions.begin() || address >= (--region)->end || !region->writable) return nullptr;
  // Variables that begin as zero follow those that the file has.
  if (region->path.empty() && region != regions.begin() && std::prev(region)->end == region->begin) --region;
  const std::string& path = region->path;
  // malloc's lists of free pieces are there.
  const bool is_libc = path.find("/libc.so.") != std::string::npos || path.find("/ld-linux") != std::string::npos;
  return path.starts_with('/') && region->writable && !is_libc ? &*region : nullptr;
}

std::string LibraryData::name_of(Address address) {
  const Region* region = region_of(address);
  if (region == nullptr) return {};
  const std::string& path = region->path;
  std::unique_ptr<ElfFile>& file = files_[path];
  if (file == nullptr) file = std::make_unique<ElfFile>(source_.host_path(path));
  const auto first = std::ranges::find(source_.regions(), path, &Region::path);
  const Address place = address - first->begin + file->first_page();
  const std::optional<std::string> symbol = file->variable_at(place);
  const std::string library = path.substr(path.rfind('/') + 1);
  return symbol ? fmt::format("{}: {}", library, demangled(*symbol).value_or(*symbol))
                : fmt::format("{}: static data+{:#x}", library, place);
}

}  // namespace dcmt::scan

// A core file is foreign data: every value from it is checked against a limit.
#include "collector/scan/memory/core_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "trace/arch/arch.h"
#include "trace/base/printable.h"

namespace dcmt::scan {
namespace {

using MappedFile = CoreFile::MappedFile;

/// Limit of the note that lists mapped files. A process has some thousand mappings.
constexpr std::size_t kLargestNotes = std::size_t{64} << 20;

Error unusable(const std::string& path, const std::string& why) {
  return {ErrorCode::kBadInput, printable(path) + ": " + why};
}

/// Parses an NT_FILE note: a count, the size of a page, for each file its begin, end and offset in pages, then the
/// paths, each with a zero at its end.
std::vector<MappedFile> parse_mapped_files(std::string_view note) {
  const auto word = [&](std::size_t index) {
    std::uint64_t value = 0;
    std::memcpy(&value, note.data() + index * sizeof value, sizeof value);
    return value;
  };
  std::vector<MappedFile> files;
  if (note.size() < 16) return files;
  const std::uint64_t count = word(0);
  const std::uint64_t page = word(1);
  if (count > note.size() / 24 || (2 + 3 * count) * 8 > note.size()) return files;
  std::string_view paths = note.substr((2 + 3 * count) * 8);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t end = paths.find('\0');
    if (end == std::string_view::npos) break;
    files.push_back({word(2 + 3 * i), word(3 + 3 * i), word(4 + 3 * i) * page, std::string(paths.substr(0, end))});
    paths.remove_prefix(end + 1);
  }
  return files;
}

/// Reads exactly `bytes` bytes at an offset; false if the file has fewer.
bool read_at(int file, std::uint64_t offset, void* into, std::size_t bytes) {
  return pread(file, into, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

std::vector<MappedFile> mapped_files(int core, const Elf64_Phdr& segment) {
  if (segment.p_filesz > kLargestNotes) return {};
  std::string notes(segment.p_filesz, '\0');
  if (!read_at(core, segment.p_offset, notes.data(), notes.size())) return {};
  const auto padded = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
  Elf64_Nhdr note;
  for (std::size_t at = 0; at + sizeof note <= notes.size();) {
    std::memcpy(&note, notes.data() + at, sizeof note);
    const std::size_t content = at + sizeof note + padded(note.n_namesz);
    if (content > notes.size() || note.n_descsz > notes.size() - content) return {};
    if (note.n_type == NT_FILE) return parse_mapped_files(std::string_view(notes).substr(content, note.n_descsz));
    at = content + padded(note.n_descsz);
  }
  return {};
}

/// The number of segments; nothing if this is no core file of this architecture.
std::optional<std::size_t> segments_of_core(int file, const Elf64_Ehdr& header) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_type != ET_CORE || header.e_machine != arch::kElfMachine || header.e_phentsize != sizeof(Elf64_Phdr)) {
    return std::nullopt;
  }
  if (header.e_phnum != PN_XNUM) return header.e_phnum;
  Elf64_Shdr first;  // it has the number where the header's field is too small
  if (!read_at(file, header.e_shoff, &first, sizeof first)) return std::nullopt;
  return first.sh_info;
}

}  // namespace

Expected<CoreFile> CoreFile::open(const std::string& path) {
  CoreFile core(Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)));
  if (core.file_.get() < 0) return unusable(path, std::string(std::strerror(errno)) + ".");
  Elf64_Ehdr header{};
  const bool has_header = read_at(core.file_.get(), 0, &header, sizeof header);
  const auto count = has_header ? segments_of_core(core.file_.get(), header) : std::nullopt;
  if (!count)
    return unusable(
        path, std::string("is no core file of an ") + arch::kName + " process. The kernel writes one, or: gcore PID");
  std::vector<MappedFile> files;
  std::vector<std::pair<Region, Stored>> found;
  for (std::size_t i = 0; i < *count; ++i) {
    Elf64_Phdr segment;
    if (!read_at(core.file_.get(), header.e_phoff + i * sizeof segment, &segment, sizeof segment)) break;
    if (segment.p_type == PT_NOTE && files.empty()) files = mapped_files(core.file_.get(), segment);
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0 || segment.p_vaddr + segment.p_memsz < segment.p_vaddr)
      continue;
    Region region;
    region.begin = segment.p_vaddr;
    region.end = segment.p_vaddr + segment.p_memsz;
    region.readable = (segment.p_flags & PF_R) != 0;
    region.writable = (segment.p_flags & PF_W) != 0;
    region.executable = (segment.p_flags & PF_X) != 0;
    found.emplace_back(std::move(region), Stored{segment.p_offset, std::min(segment.p_filesz, segment.p_memsz)});
  }
  std::ranges::sort(found, {}, [](const auto& each) { return each.first.begin; });
  for (auto& [region, stored] : found) {
    if (!core.regions_.empty() && region.begin < core.regions_.back().end) continue;  // overlapping: damaged
    const auto file = std::ranges::find_if(
        files, [&](const MappedFile& each) { return each.begin <= region.begin && region.begin < each.end; });
    if (file != files.end()) {
      region.path = file->path;
      region.file_offset = file->offset + (region.begin - file->begin);
      if (region.path.starts_with("/dev/")) region.readable = false;
    }
    core.regions_.push_back(std::move(region));
    core.stored_.push_back(stored);
  }
  if (core.regions_.empty()) return unusable(path, "has no memory in it.");
  core.add_left_out(files);
  return core;
}

void CoreFile::add_left_out(const std::vector<MappedFile>& files) {
  std::vector<Region> more;
  for (const MappedFile& file : files) {
    Address begin = file.begin;
    auto next = std::ranges::upper_bound(regions_, begin, {}, &Region::end);
    while (begin < file.end) {
      const Address end = next == regions_.end() ? file.end : std::min(file.end, next->begin);
      if (begin < end) {
        Region region;
        region.begin = begin;
        region.end = end;
        region.file_offset = file.offset + (begin - file.begin);
        region.readable = !file.path.starts_with("/dev/");
        region.path = file.path;
        more.push_back(std::move(region));
      }
      if (next == regions_.end()) break;
      begin = std::max(begin, next->end);
      ++next;
    }
  }
  for (Region& region : more) {
    const auto place = std::ranges::lower_bound(regions_, region.begin, {}, &Region::begin);
    if (place != regions_.end() && place->begin < region.end) continue;  // the note has two files at this address
    stored_.insert(stored_.begin() + (place - regions_.begin()), Stored{});
    regions_.insert(place, std::move(region));
  }
}

std::size_t CoreFile::read(std::span<const Piece> pieces) {
  std::size_t total = 0;
  for (const Piece& piece : pieces) {
    std::size_t done = 0;
    while (done < piece.into.size()) {
      const std::size_t got = read_some(piece.from + done, piece.into.subspan(done));
      if (got == 0) return total;
      done += got;
      total += got;
    }
  }
  return total;
}

/// Reads the part of `into` that is in one region and in one file.
std::size_t CoreFile::read_some(Address from, std::span<std::byte> into) {
  const auto after = std::ranges::upper_bound(regions_, from, {}, &Region::begin);
  if (after == regions_.begin()) return 0;
  const auto index = static_cast<std::size_t>(after - regions_.begin() - 1);
  const Region& region = regions_[index];
  if (from >= region.end) return 0;
  const std::uint64_t skipped = from - region.begin;
  int file = file_.get();
  std::uint64_t offset = stored_[index].offset + skipped;
  std::uint64_t most = region.end - from;
  if (skipped < stored_[index].bytes) {
    most = stored_[index].bytes - skipped;
  } else {
    file = mapped_file(region.path);
    offset = region.file_offset + skipped;
  }
  if (file < 0) return 0;
  const std::size_t wanted = std::min<std::uint64_t>(most, into.size());
  const ssize_t got = pread(file, into.data(), wanted, static_cast<off_t>(offset));
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

int CoreFile::mapped_file(const std::string& path) {
  if (!path.starts_with('/')) return -1;
  const auto [known, is_new] = mapped_.try_emplace(path);
  if (is_new) {
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info {};
    if (file.get() >= 0 && fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode)) known->second = std::move(file);
  }
  return known->second.get();
}

}  // namespace dcmt::scan

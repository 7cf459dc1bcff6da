#include "collector/scan/memory/process_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "trace/base/lines.h"
#include "trace/base/page_size.h"
#include "trace/base/read_file.h"

namespace dcmt::scan {
namespace {

// Bits of a page in /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst of Linux).
constexpr std::uint64_t kMappedOnce = std::uint64_t{1} << 56, kOfFile = std::uint64_t{1} << 61,
                        kSwapped = std::uint64_t{1} << 62, kPresent = std::uint64_t{1} << 63;

std::string_view next_field(std::string_view& line) {
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos) return line = {};
  line.remove_prefix(begin);
  const std::string_view field = line.substr(0, line.find(' '));
  line.remove_prefix(field.size());
  return field;
}

bool hexadecimal(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && end == text.data() + text.size();
}

std::string why_not_readable(pid_t pid, int error) {
  if (error == ESRCH) {
    const bool exists = read_file(fmt::format("/proc/{}/stat", pid)).has_value();
    return fmt::format("cannot inspect process {}: it {}", pid, exists ? "has ended" : "does not exist");
  }
  const std::string scope = read_file("/proc/sys/kernel/yama/ptrace_scope").value_or("");
  if (error == EPERM && !scope.empty() && scope[0] != '0') {
    return fmt::format(
        "cannot inspect process {}: kernel.yama.ptrace_scope is {} and it is not our child. Run this as root, or start "
        "the program with dc-memtrace run",
        pid, scope[0]);
  }
  if (error == EPERM) return fmt::format("cannot inspect process {}: it is another user's. Run this as root", pid);
  return fmt::format("cannot inspect process {}: {}", pid, std::strerror(error));
}

}  // namespace

std::vector<Region> parse_maps(std::string_view text) {
  std::vector<Region> regions;
  while (!text.empty()) {
    std::string_view line = next_line(text);
    const std::string_view range = next_field(line);
    const std::string_view access = next_field(line);
    const std::string_view offset = next_field(line);
    next_field(line);  // device
    next_field(line);  // inode
    const std::size_t dash = range.find('-');
    Region region;
    if (dash == std::string_view::npos || access.size() < 4 || !hexadecimal(range.substr(0, dash), region.begin) ||
        !hexadecimal(range.substr(dash + 1), region.end) || !hexadecimal(offset, region.file_offset) ||
        region.begin >= region.end) {
      continue;
    }
    const std::size_t path = line.find_first_not_of(' ');
    if (path != std::string_view::npos) region.path = line.substr(path);
    region.readable = access[0] == 'r' && !region.path.starts_with("[v") && !region.path.starts_with("/dev/");
    region.writable = access[1] == 'w' && access[3] == 'p';
    region.executable = access[2] == 'x';
    regions.push_back(std::move(region));
  }
  return regions;
}

Expected<ProcessMemory> ProcessMemory::open(pid_t pid) {
  const std::optional<std::string> maps = read_file(fmt::format("/proc/{}/maps", pid));
  const auto why = [pid] { return why_not_readable(pid, errno == EACCES || errno == EPERM ? EPERM : ESRCH); };
  // A process that ends has no memory any more before it is gone.
  if (!maps || maps->empty()) {
    if (maps) errno = ESRCH;
    return Error{ErrorCode::kCannotRecord, why()};
  }
  std::vector<Region> regions = parse_maps(*maps);
  ProcessBytes bytes(pid);
  if (!bytes.is_open()) return Error{ErrorCode::kCannotRecord, why()};
  Descriptor pages(::open(fmt::format("/proc/{}/pagemap", pid).c_str(), O_RDONLY | O_CLOEXEC));
  ProcessMemory memory(pid, std::move(regions), std::move(bytes), std::move(pages));
  for (const Region& region : memory.regions_) {
    if (!region.readable) continue;
    std::array<std::byte, 8> word;
    const Piece piece{region.begin, word};
    errno = ESRCH;  // of a process without memory, nothing is read, and no error is set
    if (memory.read({&piece, 1}) == word.size()) return memory;
    break;
  }
  return Error{ErrorCode::kCannotRecord, why_not_readable(pid, errno)};
}

std::size_t ProcessMemory::read(std::span<const Piece> pieces) {
  std::size_t total = 0;
  for (const Piece& piece : pieces) {
    const std::size_t got = memory_.read(piece.from, piece.into.data(), piece.into.size());
    total += got;
    if (got < piece.into.size()) break;
  }
  return total;
}

std::vector<bool> ProcessMemory::written_pages(Range range) {
  const std::uint64_t page_bytes = page_size();  // may be more than kPageBytes
  const std::uint64_t first = range.begin / page_bytes;
  std::vector<std::uint64_t> entries((range.end + page_bytes - 1) / page_bytes - first);
  const std::size_t size = entries.size() * sizeof(entries[0]);
  const auto offset = static_cast<off_t>(first * sizeof(entries[0]));
  if (pread(pages_.get(), entries.data(), size, offset) != static_cast<ssize_t>(size)) {
    return MemorySource::written_pages(range);
  }
  std::vector<bool> written((range.end - range.begin) / kPageBytes);
  for (std::size_t page = 0; page < written.size(); ++page) {
    // A private page of a file becomes the process's own at the first write.
    const std::uint64_t entry = entries[(range.begin + page * kPageBytes) / page_bytes - first];
    written[page] = (entry & kOfFile) == 0 && (entry & (kPresent | kSwapped)) != 0;
  }
  return written;
}

bool ProcessMemory::is_page_unshared(Address address) {
  std::uint64_t entry = 0;
  const auto offset = static_cast<off_t>(address / page_size() * sizeof entry);
  if (pread(pages_.get(), &entry, sizeof entry, offset) != static_cast<ssize_t>(sizeof entry)) return false;
  return (entry & kPresent) != 0 && (entry & kMappedOnce) != 0;
}

std::string ProcessMemory::host_path(const std::string& path) const {
  return fmt::format("/proc/{}/root{}", pid_, path);
}

}  // namespace dcmt::scan

#include "collector/recorder/target/resident_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

#include "trace/base/lines.h"
#include "trace/base/page_size.h"
#include "trace/base/process_read.h"
#include "trace/base/read_file.h"

namespace dcmt::recorder {
namespace {

constexpr std::uint64_t kArenaOfMalloc = std::uint64_t{64} << 20;  // of glibc; begins at a multiple of this
constexpr std::uint64_t kArenaOfPython = std::uint64_t{1} << 20;
constexpr std::uint64_t kPoolOfPython = 16 * 1024;
constexpr std::uint64_t kClassesOfPython = 64;
/// Unnamed memory after a library has its zero-initialised variables; cuBLAS has 90 MiB of them.
constexpr std::uint64_t kLargestVariables = std::uint64_t{256} << 20;
constexpr std::uint64_t kLargestGuard = std::uint64_t{64} << 10;
constexpr std::uint64_t kLargestPiece = std::uint64_t{1} << 46;
/// Limit for one reading of the classes: chunks beyond it count as other memory.
constexpr int kMostHeaders = 20'000;

struct Mapping {
  std::uint64_t begin = 0, end = 0;
  bool is_executable = false, is_shared = false, is_reserved = false;
  bool is_wiped_on_fork = false;  ///< like the agent's tables; hardly any other memory has this flag
  std::string_view path;
  std::int64_t bytes = 0;  ///< resident or swapped

  [[nodiscard]] std::uint64_t size() const { return end - begin; }
};

std::int64_t kilobytes(std::string_view line) {
  const std::size_t digit = line.find_first_of("0123456789");
  std::int64_t value = 0;
  if (digit != std::string_view::npos) std::from_chars(line.data() + digit, line.data() + line.size(), value);
  return value * 1024;
}

/// "7f00-7f10 rw-s 00000000 00:01 12   /dev/shm/a": the first line of a mapping.
bool begins_mapping(std::string_view line, Mapping& mapping) {
  const char* const end = line.data() + line.size();
  const auto from = std::from_chars(line.data(), end, mapping.begin, 16);
  if (from.ec != std::errc{} || from.ptr == end || *from.ptr != '-') return false;
  const auto to = std::from_chars(from.ptr + 1, end, mapping.end, 16);
  if (to.ec != std::errc{} || end - to.ptr < 6 || mapping.end < mapping.begin) return false;
  const std::string_view rights(to.ptr + 1, 4);
  mapping.is_reserved = rights.starts_with("---");
  mapping.is_executable = rights[2] == 'x';
  mapping.is_shared = rights[3] == 's';
  std::string_view rest(to.ptr + 5, static_cast<std::size_t>(end - to.ptr - 5));
  for (int field = 0; field < 3; ++field) {  // offset, device, inode
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    rest.remove_prefix(std::min(rest.find(' '), rest.size()));
  }
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  mapping.path = rest;
  return true;
}

std::vector<Mapping> mappings_of(std::string_view smaps) {
  std::vector<Mapping> mappings;
  while (!smaps.empty()) {
    const std::string_view line = next_line(smaps);
    if (Mapping mapping; begins_mapping(line, mapping)) {
      mappings.push_back(mapping);
    } else if (mappings.empty()) {
      continue;
    } else if (line.starts_with("Rss:") || line.starts_with("Swap:")) {
      mappings.back().bytes += kilobytes(line);
    } else if (line.starts_with("VmFlags:")) {
      mappings.back().is_wiped_on_fork = line.find(" wf") != std::string_view::npos;
    }
  }
  return mappings;
}

/// The class of a named mapping.
MappingClass class_of_named(const Mapping& mapping, const std::set<std::string_view>& programs) {
  const std::string_view path = mapping.path;
  if (path == "[heap]") return MappingClass::kMalloc;
  if (path.starts_with("[stack")) return MappingClass::kStacks;
  if (path.starts_with("/dev/nvidia") || path.starts_with("/memfd:nvidia")) return MappingClass::kDriver;
  if (is_of_recorder(path)) return MappingClass::kRecorder;
  if (programs.contains(path) || path.find(".so") != std::string_view::npos) return MappingClass::kLibraries;
  if (is_shared_memory(path)) {
    return path.starts_with("/dev/shm/torch_") ? MappingClass::kSharedTensors : MappingClass::kSharedMemory;
  }
  if (path.starts_with('[')) return MappingClass::kOther;
  return MappingClass::kFiles;
}

/// The parts of an unnamed mapping, in bytes.
struct Parts {
  std::uint64_t malloc = 0, python = 0;
};

/// True for a pool of Python's allocator, by its header.
bool is_pool(std::uint64_t address, std::span<const std::uint64_t> words) {
  const std::uint64_t free_object = words[1];
  const std::uint64_t size_class = words[4] >> 32;
  const std::uint64_t next = words[5] & 0xffffffff, last = words[5] >> 32;
  const bool points_into_itself = free_object == 0 || free_object / kPoolOfPython == address / kPoolOfPython;
  return size_class < kClassesOfPython && next > 0 && next <= kPoolOfPython && last > 0 && last < kPoolOfPython &&
         points_into_itself;
}

/// The size of a chunk of malloc with its own pages, by its second word; 0: not such a chunk.
std::uint64_t length_of_piece(std::uint64_t word) {
  const std::uint64_t length = word & ~std::uint64_t{7};
  return (word & 7) == 2 && length % page_size() == 0 ? length : 0;
}

/// A mapping contains chunks of malloc with their own pages, each with its size before it, and arenas of Python's
/// allocator. Other memory is skipped, an arena's size at a time. @param from  begin of the first chunk
Parts parts_of(const Mapping& mapping, std::uint64_t from, PieceHeaders& headers, int& left) {
  Parts parts;
  parts.malloc = from - mapping.begin;
  for (std::uint64_t at = from; at + page_size() <= mapping.end && left > 0;) {
    std::array<std::uint64_t, 6> words{};
    --left;
    if (!headers.read(at, std::span(words).first(2))) break;
    const std::uint64_t length = length_of_piece(words[1]);
    if (length > 0 && length <= mapping.end - at) {
      parts.malloc += length;
      at += length;
      continue;
    }
    const std::uint64_t pool = (at + kPoolOfPython - 1) / kPoolOfPython * kPoolOfPython;
    const std::uint64_t step = std::min(kArenaOfPython, mapping.end - at);
    if (pool + kPoolOfPython <= mapping.end && headers.read(pool, words) && is_pool(pool, words)) parts.python += step;
    at += step;
  }
  return parts;
}

/// Bytes of blocks in the mapping.
std::int64_t bytes_in(const Mapping& mapping, std::span<const BlockPlace> blocks) {
  std::uint64_t bytes = 0;
  auto block = std::ranges::upper_bound(blocks, mapping.begin, {}, &BlockPlace::address);
  if (block != blocks.begin()) --block;
  for (; block != blocks.end() && block->address < mapping.end; ++block) {
    const std::uint64_t from = std::max(block->address, mapping.begin);
    const std::uint64_t to = std::min(block->address + block->bytes, mapping.end);
    if (to > from) bytes += to - from;
  }
  return static_cast<std::int64_t>(bytes);
}

class Classifier {
 public:
  Classifier(std::span<const Mapping> mappings, std::span<const BlockPlace> blocks, PieceHeaders& headers)
      : mappings_(mappings), blocks_(blocks), headers_(headers) {
    for (const Mapping& each : mappings_) {
      if (each.is_executable && each.path.starts_with('/')) programs_.insert(each.path);
    }
  }

  ClassesOfMemory run() {
    for (std::size_t i = 0; i < mappings_.size(); ++i) {
      const Mapping& mapping = mappings_[i];
      if (mapping.bytes == 0 && mapping.is_reserved) continue;
      if (!mapping.path.empty()) {
        add_named(i);
      } else if (mapping.is_wiped_on_fork) {
        add(MappingClass::kRecorder, mapping, mapping.bytes, 0);
      } else if (is_of_library(i)) {
        add(MappingClass::kLibraries, mapping, mapping.bytes, 0);
      } else if (is_arena(i)) {
        add(MappingClass::kMalloc, mapping, mapping.bytes, bytes_in(mapping, blocks_));
      } else if (is_stack(i)) {
        add(MappingClass::kStacks, mapping, mapping.bytes, 0);
      } else {
        add_unnamed(i);
      }
    }
    return classes_;
  }

 private:
  void add_named(std::size_t at) {
    const Mapping& mapping = mappings_[at];
    const MappingClass of = class_of_named(mapping, programs_);
    const std::int64_t torch = of == MappingClass::kMalloc ? bytes_in(mapping, blocks_) : 0;
    add(of, mapping, mapping.bytes, torch);
  }

  [[nodiscard]] bool is_of_library(std::size_t at) const {
    if (at == 0 || mappings_[at].size() > kLargestVariables) return false;
    const Mapping& before = mappings_[at - 1];
    return before.end == mappings_[at].begin && before.path.starts_with('/') &&
           class_of_named(before, programs_) == MappingClass::kLibraries;
  }

  [[nodiscard]] bool is_arena(std::size_t at) const {
    const Mapping& mapping = mappings_[at];
    const std::uint64_t end = mapping.begin + kArenaOfMalloc;
    if (mapping.begin % kArenaOfMalloc != 0 || mapping.end > end) return false;
    if (mapping.end == end) return true;
    return at + 1 < mappings_.size() && mappings_[at + 1].is_reserved && mappings_[at + 1].begin == mapping.end &&
           mappings_[at + 1].end == end;
  }

  /// True if there is a guard below it.
  [[nodiscard]] bool is_stack(std::size_t at) const {
    if (at == 0) return false;
    const Mapping& below = mappings_[at - 1];
    return below.is_reserved && below.end == mappings_[at].begin && below.size() <= kLargestGuard;
  }

  /// The end, in a mapping, of the malloc chunk whose first page is the mapping before: the program has requested huge
  /// pages for the rest of the chunk, as numpy does for large arrays.
  [[nodiscard]] std::uint64_t end_of_piece_before(std::size_t at) {
    const Mapping& mapping = mappings_[at];
    const std::uint64_t first_page = mapping.begin - page_size();
    std::array<std::uint64_t, 2> words{};
    const bool is_adjacent = at > 0 && mappings_[at - 1].end == mapping.begin && mappings_[at - 1].path.empty();
    if (!is_adjacent || !headers_.read(first_page, words)) return mapping.begin;
    const std::uint64_t length = length_of_piece(words[1]);
    return length > page_size() && length <= kLargestPiece ? std::min(mapping.end, first_page + length) : mapping.begin;
  }

  void add_unnamed(std::size_t at) {
    const Mapping& mapping = mappings_[at];
    const Parts parts = parts_of(mapping, end_of_piece_before(at), headers_, headers_left_);
    const std::int64_t torch = bytes_in(mapping, blocks_);
    // The kernel only reports how many pages are resident, not which.
    const double used =
        static_cast<double>(mapping.bytes) / static_cast<double>(std::max<std::uint64_t>(1, mapping.size()));
    auto malloc = static_cast<std::int64_t>(static_cast<double>(parts.malloc) * used);
    const auto python = static_cast<std::int64_t>(static_cast<double>(parts.python) * used);
    // A block of torch's allocator with a mapping of its own is a chunk of malloc, even if its header does not show
    // that.
    malloc = std::min(std::max(malloc, torch), mapping.bytes - python);
    if (malloc > 0) add(MappingClass::kMalloc, mapping, malloc, torch);
    if (python > 0) add(MappingClass::kPython, mapping, python, 0);
    const std::int64_t rest = mapping.bytes - malloc - python;
    if (rest > 0) add(MappingClass::kOther, mapping, rest, 0);
  }

  void add(MappingClass of, const Mapping& mapping, std::int64_t bytes, std::int64_t torch) {
    ClassBytes& sum = classes_[static_cast<std::size_t>(of)];
    sum.bytes += bytes;
    sum.torch += std::min(torch, bytes);
    sum.size += static_cast<std::int64_t>(mapping.size());
    ++sum.mappings;
    // "[heap]" and "/dev/zero" are not files.
    const bool has_file = mapping.path.starts_with('/') && !mapping.path.starts_with("/dev/zero");
    if (!has_file || bytes < sum.largest_bytes) return;
    sum.largest = mapping.path;
    sum.largest_bytes = bytes;
  }

  std::span<const Mapping> mappings_;
  std::span<const BlockPlace> blocks_;
  PieceHeaders& headers_;
  std::set<std::string_view> programs_;  ///< executed files
  ClassesOfMemory classes_;
  int headers_left_ = kMostHeaders;
};

class HeadersOfProcess final : public PieceHeaders {
 public:
  explicit HeadersOfProcess(pid_t pid) : memory_(pid) {}
  bool read(std::uint64_t address, std::span<std::uint64_t> words) override {
    return memory_.read_all(address, words.data(), words.size_bytes());
  }

 private:
  ProcessBytes memory_;
};

/// The bytes of a line "RssAnon:   12 kB"; -1: there is none.
std::int64_t bytes_of_line(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  return at == std::string_view::npos ? -1 : kilobytes(text.substr(at, text.find('\n', at) - at));
}

}  // namespace

bool is_shared_memory(std::string_view path) {
  return path.starts_with("/dev/shm/") || path.starts_with("/memfd:") || path.starts_with("/dev/zero") ||
         path.starts_with("/SYSV") || path.starts_with("[anon_shmem");
}

bool is_of_recorder(std::string_view path) {
  return path.find(".spool") != std::string_view::npos || path.starts_with("/memfd:dcmt") ||
         path.starts_with("/memfd:dc-memtrace");
}

std::optional<ResidentMemory> parse_status(std::string_view status) {
  const auto of = [&](std::string_view key) { return bytes_of_line(status, key); };
  const std::int64_t anonymous = of("RssAnon:");
  if (anonymous < 0) return {};  // it has ended
  return ResidentMemory{anonymous + std::max<std::int64_t>(0, of("VmSwap:")), of("RssFile:"), of("RssShmem:")};
}

std::optional<ResidentMemory> resident_memory(pid_t pid) {
  return parse_status(read_file(fmt::format("/proc/{}/status", pid)).value_or(""));
}

std::optional<SharedMemory> parse_rollup(std::string_view rollup) {
  const auto of = [&](std::string_view key) { return std::max<std::int64_t>(0, bytes_of_line(rollup, key)); };
  if (bytes_of_line(rollup, "Rss:") < 0) return {};  // it has ended
  return SharedMemory{of("Rss:"),       of("Private_Dirty:") + of("SwapPss:"),
                      of("Pss_Anon:"),  of("Pss_File:"),
                      of("Pss_Shmem:"), of("SwapPss:")};
}

std::optional<SharedMemory> shared_memory(pid_t pid) {
  return parse_rollup(read_file(fmt::format("/proc/{}/smaps_rollup", pid)).value_or(""));
}

std::string_view name_of(MappingClass mapping_class) {
  constexpr std::array<std::string_view, kMappingClasses> kNames = {
      "libraries", "files",  "shared tensors", "shared memory", "driver",
      "malloc",    "python", "stacks",         "recorder",      "other"};
  return kNames[static_cast<std::size_t>(mapping_class)];
}

ClassesOfMemory parse_smaps(std::string_view smaps, std::span<const BlockPlace> blocks, PieceHeaders& headers) {
  const std::vector<Mapping> mappings = mappings_of(smaps);
  return Classifier(mappings, blocks, headers).run();
}

std::optional<ClassesOfMemory> classes_of_memory(pid_t pid, std::span<const BlockPlace> blocks) {
  const std::optional<std::string> smaps = read_file(fmt::format("/proc/{}/smaps", pid));
  if (!smaps || smaps->empty()) return {};
  HeadersOfProcess headers(pid);
  return parse_smaps(*smaps, blocks, headers);
}

}  // namespace dcmt::recorder

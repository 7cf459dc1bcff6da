#include "collector/recorder/target/shared_segments.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "collector/recorder/target/process_table.h"
#include "collector/recorder/target/resident_memory.h"
#include "trace/base/descriptor.h"
#include "trace/base/lines.h"
#include "trace/base/page_size.h"
#include "trace/base/read_file.h"

namespace dcmt::recorder {
namespace {

constexpr char kSharedFolder[] = "/dev/shm";
constexpr std::int64_t kBlockOfStat = 512;
/// Limits for one reading: of a process, descriptors; and pages of mappings whose size nothing else says.
constexpr int kMostDescriptors = 8192;
constexpr std::uint64_t kMostPages = std::uint64_t{1} << 20;
/// A file of this size is worth a look at the other processes of the machine, which may have it.
constexpr std::int64_t kWorthSearching = std::int64_t{1} << 20;

/// A file's identity: device and inode.
using FileKey = std::pair<std::uint64_t, std::uint64_t>;

struct Segment {
  std::string name;
  std::int64_t bytes = -1;  ///< -1: not known yet
  pid_t first = 0;          ///< the oldest process that has it; 0: none
};
using Segments = std::map<FileKey, Segment>;

FileKey key_of(const struct stat& file) { return {file.st_dev, file.st_ino}; }

std::int64_t bytes_of(const struct stat& file) { return file.st_blocks * kBlockOfStat; }

void add_segment(Segments& segments, FileKey key, std::string_view name, std::int64_t bytes, pid_t process) {
  Segment& segment = segments[key];
  if (segment.name.empty()) segment.name = name;
  if (segment.first == 0) segment.first = process;
  segment.bytes = std::max(segment.bytes, bytes);
}

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

/// Calls visit(name) for each entry of a folder.
void each_entry(const std::string& path, const std::function<void(const char*)>& visit) {
  const Folder folder(opendir(path.c_str()), closedir);
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder.get())) {
    if (entry->d_name[0] != '.') visit(entry->d_name);
  }
}

/// Adds what a process has open.
void add_open(pid_t pid, Segments& segments) {
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  int left = kMostDescriptors;
  each_entry(folder, [&](const char* name) {
    if (left-- <= 0) return;
    const std::string path = folder + "/" + name;
    std::array<char, 512> target{};
    const ssize_t length = readlink(path.c_str(), target.data(), target.size());
    if (length <= 0) return;
    const std::string_view text(target.data(), static_cast<std::size_t>(length));
    struct stat file {};
    if (is_shared_memory(text) && stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode)) {
      add_segment(segments, key_of(file), text, bytes_of(file), pid);
    }
  });
}

/// The bytes of a mapping that are in the page table of the process.
std::int64_t present_bytes(pid_t pid, const SharedMapping& mapping) {
  constexpr std::uint64_t kPresentPage = std::uint64_t{1} << 63;
  const Descriptor table(open(fmt::format("/proc/{}/pagemap", pid).c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<std::uint64_t> entries(std::min((mapping.end - mapping.begin) / page_size(), kMostPages));
  const ssize_t read = pread(table.get(), entries.data(), entries.size() * sizeof entries[0],
                             static_cast<off_t>(mapping.begin / page_size() * sizeof entries[0]));
  if (read <= 0) return 0;
  entries.resize(static_cast<std::size_t>(read) / sizeof entries[0]);
  const auto present = std::ranges::count_if(entries, [](std::uint64_t each) { return (each & kPresentPage) != 0; });
  return present * static_cast<std::int64_t>(page_size());
}

/// Adds what a process has mapped. Of a mapping whose file nobody has open, the pages that the process has used count.
void add_mapped(pid_t pid, Segments& segments) {
  const std::string maps = read_file(fmt::format("/proc/{}/maps", pid)).value_or("");
  for (const SharedMapping& mapping : shared_mappings(maps)) {
    const FileKey key{mapping.device, mapping.inode};
    const auto known = segments.find(key);
    if (known != segments.end() && known->second.first != 0 && known->second.bytes > 0) continue;
    struct stat file {};
    const std::string path = fmt::format("/proc/{}/root{}", pid, mapping.path);
    const bool has_file = stat(path.c_str(), &file) == 0 && key_of(file) == key;
    add_segment(segments, key, mapping.path, has_file ? bytes_of(file) : present_bytes(pid, mapping), pid);
  }
}

/// The process in "torch_4711_…": 0 if the name is another one.
pid_t maker_of(std::string_view name) {
  constexpr std::string_view kBegin = "torch_";
  const std::size_t at = name.rfind('/') + 1;
  if (!name.substr(at).starts_with(kBegin)) return 0;
  pid_t pid = 0;
  std::from_chars(name.data() + at + kBegin.size(), name.data() + name.size(), pid);
  return pid;
}

/// Removes those that a process outside of the job has.
void remove_used_elsewhere(Segments& left, const std::vector<pid_t>& processes) {
  for (const ProcessEntry& each : all_processes()) {
    if (left.empty()) return;
    if (std::ranges::find(processes, each.pid) != processes.end()) continue;
    Segments elsewhere;
    add_open(each.pid, elsewhere);
    const std::string maps = read_file(fmt::format("/proc/{}/maps", each.pid)).value_or("");
    for (const SharedMapping& mapping : shared_mappings(maps)) elsewhere[{mapping.device, mapping.inode}];
    for (const auto& [key, segment] : elsewhere) left.erase(key);
  }
}

/// Files in /dev/shm that no process of the job has, and that are the job's.
Segments left_files(const std::vector<pid_t>& processes, const std::set<pid_t>& before, std::int64_t since_ns,
                    const Segments& known) {
  Segments named, others;
  each_entry(kSharedFolder, [&](const char* name) {
    const std::string path = std::string(kSharedFolder) + "/" + name;
    struct statx file {};
    if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &file) != 0) return;
    const FileKey key{makedev(file.stx_dev_major, file.stx_dev_minor), file.stx_ino};
    if (!S_ISREG(file.stx_mode) || known.contains(key)) return;
    const pid_t maker = maker_of(name);
    const std::int64_t made = file.stx_btime.tv_sec * 1'000'000'000 + file.stx_btime.tv_nsec;
    const bool is_after = (file.stx_mask & STATX_BTIME) != 0 && made >= since_ns && file.stx_uid == geteuid();
    if (!is_after) return;
    const auto bytes = static_cast<std::int64_t>(file.stx_blocks) * kBlockOfStat;
    if (before.contains(maker) || std::ranges::find(processes, maker) != processes.end()) {
      add_segment(named, key, path, bytes, 0);
    } else if (maker == 0 && bytes >= kWorthSearching) {
      add_segment(others, key, path, bytes, 0);
    }
  });
  if (!others.empty()) remove_used_elsewhere(others, processes);
  named.merge(others);
  return named;
}

SegmentKind kind_of(const Segment& segment) {
  const std::string_view name = segment.name;
  if (is_of_recorder(name)) return SegmentKind::kRecorder;
  if (segment.first == 0) return SegmentKind::kLeft;
  if (name.find("/torch_") != std::string_view::npos) return SegmentKind::kTensors;
  return name.find("/nccl-") != std::string_view::npos ? SegmentKind::kNccl : SegmentKind::kOther;
}

}  // namespace

std::string_view name_of(SegmentKind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"tensors", "nccl", "recorder", "other", "left"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<SharedMapping> shared_mappings(std::string_view maps) {
  std::vector<SharedMapping> mappings;
  while (!maps.empty()) {
    const std::string_view line = next_line(maps);
    // "7f00-7f10 rw-s 00000000 00:01 12   /dev/shm/a"
    const std::size_t slash = line.find('/');
    if (slash == std::string_view::npos || !is_shared_memory(line.substr(slash))) continue;
    SharedMapping mapping{.path = line.substr(slash)};
    const char* const end = line.data() + slash;
    const auto number = [&](const char* from, std::uint64_t& value, int base) {
      return std::from_chars(std::min(from, end), end, value, base).ptr;
    };
    std::uint64_t offset = 0, major = 0, minor = 0;
    const char* at = number(line.data(), mapping.begin, 16);
    at = number(at + 1, mapping.end, 16);
    if (end - at < 6 || at[4] != 's') continue;
    at = number(at + 6, offset, 16);
    at = number(at + 1, major, 16);
    at = number(at + 1, minor, 16);
    number(at + 1, mapping.inode, 10);
    mapping.device = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
    if (mapping.end > mapping.begin) mappings.push_back(mapping);
  }
  return mappings;
}

std::vector<SharedSegments> shared_segments(const std::vector<pid_t>& processes, const std::set<pid_t>& before,
                                            std::int64_t since_ns) {
  Segments segments;
  for (const pid_t each : processes) add_open(each, segments);
  for (const pid_t each : processes) add_mapped(each, segments);
  segments.merge(left_files(processes, before, since_ns, segments));
  std::map<std::pair<SegmentKind, pid_t>, std::pair<SharedSegments, std::int64_t>> groups;  // and bytes of the largest
  for (const auto& [key, segment] : segments) {
    if (segment.bytes <= 0) continue;
    const pid_t maker = maker_of(segment.name);
    const pid_t owner = maker != 0 ? maker : segment.first;
    auto& [group, largest] = groups[{kind_of(segment), owner}];
    group.kind = kind_of(segment);
    group.owner = owner;
    ++group.segments;
    group.bytes += segment.bytes;
    if (segment.bytes > largest) {
      largest = segment.bytes;
      group.name = segment.name;
    }
  }
  std::vector<SharedSegments> result;
  for (auto& [key, group] : groups) result.push_back(std::move(group.first));
  std::ranges::stable_sort(result, std::greater(), &SharedSegments::bytes);
  return result;
}

}  // namespace dcmt::recorder

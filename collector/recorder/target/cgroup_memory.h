// The memory of a process's control group: its limit and its use.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace dcmt::recorder {

/// What a control group uses; bytes.
struct CgroupUse {
  std::int64_t used = 0;
  std::int64_t anonymous = 0;  ///< memory without a file
  std::int64_t file = 0;       ///< page cache of files
  std::int64_t mapped = 0;     ///< of the page cache and of the shared memory, what processes have mapped
  std::int64_t shared = 0;     ///< shared memory, and files of file systems in memory
  std::int64_t kernel = 0;     ///< page tables, stacks, network buffers
};

/// Version 1 or 2.
class CgroupMemory {
 public:
  /// Of the process's own group and the groups around it, the one with the lowest limit. Without a group, all values
  /// are unknown. @param root  where control groups are mounted
  static CgroupMemory of(pid_t pid, const std::string& root = "/sys/fs/cgroup");
  /// The innermost group that has all of these processes; those that have ended do not count.
  static CgroupMemory around(const std::set<pid_t>& processes, const std::string& root = "/sys/fs/cgroup");

  /// Bytes in use, including the page cache of its files; nothing if unknown.
  [[nodiscard]] std::optional<std::int64_t> used() const;
  /// The same, by what it is used for.
  [[nodiscard]] std::optional<CgroupUse> use() const;
  /// The processes in it and in the groups below it, by their numbers here; 0: one that has no number here.
  [[nodiscard]] std::set<pid_t> processes() const;
  /// The limit; nothing: no limit, or unknown.
  [[nodiscard]] std::optional<std::int64_t> limit() const { return limit_; }
  /// Processes that the kernel has killed because the limit was reached.
  [[nodiscard]] std::optional<std::int64_t> kills() const;

 private:
  std::string folder_;  ///< empty: unknown
  bool is_v2_ = false;
  std::optional<std::int64_t> limit_;
};

}  // namespace dcmt::recorder

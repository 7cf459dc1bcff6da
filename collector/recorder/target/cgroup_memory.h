// The memory of a process's control group: its limit and its use.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dcmt::recorder {

/// Version 1 or 2. Of the process's own group and the groups around it, the one with the lowest limit counts.
class CgroupMemory {
 public:
  /// Without a group, all values are unknown. @param root  where control groups are mounted
  static CgroupMemory of(pid_t pid, const std::string& root = "/sys/fs/cgroup");

  /// Bytes in use, including the page cache of its files; nothing if unknown.
  [[nodiscard]] std::optional<std::int64_t> used() const;
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

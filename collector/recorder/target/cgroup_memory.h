// The memory of a process's control group: what it may use, and what it does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dcmt::recorder {

/// Version 1 or 2. The group with the least limit counts, of the process's own and those around it.
class CgroupMemory {
 public:
  /// Of no group: nothing is known. @param root  where control groups are mounted
  static CgroupMemory of(pid_t pid, const std::string& root = "/sys/fs/cgroup");

  /// Bytes in use, with the page cache of its files; nothing where that is not known.
  [[nodiscard]] std::optional<std::int64_t> used() const;
  /// The most that the kernel gives it; nothing: no limit, or not known.
  [[nodiscard]] std::optional<std::int64_t> limit() const { return limit_; }
  /// Processes that the kernel has killed because the limit was reached.
  [[nodiscard]] std::optional<std::int64_t> kills() const;

 private:
  std::string folder_;  ///< empty: not known
  bool is_v2_ = false;
  std::optional<std::int64_t> limit_;
};

}  // namespace dcmt::recorder

// Reads another process's memory without stopping it.
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "trace/base/descriptor.h"

namespace dcmt {

/// The memory of a process, by /proc/PID/mem. Not by process_vm_readv: it pins the pages that it reads, and of a page
/// that a forked child shares with its parent the kernel then makes a copy. Thread-safety: as a file descriptor.
class ProcessBytes {
 public:
  /// errno says why it is not open: EACCES or EPERM without the right to read it, ENOENT without such a process.
  explicit ProcessBytes(pid_t pid)
      : file_(open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY | O_CLOEXEC)) {}

  [[nodiscard]] bool is_open() const { return file_.get() >= 0; }
  /// Copies up to `bytes` bytes from `address`, and stops at the first that cannot be read; errno says why, but for a
  /// process that has ended. Returns their number.
  std::size_t read(std::uint64_t address, void* into, std::size_t bytes) const {
    std::size_t got = 0;
    while (got < bytes) {
      const ssize_t more =
          pread(file_.get(), static_cast<std::byte*>(into) + got, bytes - got, static_cast<off_t>(address + got));
      if (more <= 0) break;
      got += static_cast<std::size_t>(more);
    }
    return got;
  }
  [[nodiscard]] bool read_all(std::uint64_t address, void* into, std::size_t bytes) const {
    return read(address, into, bytes) == bytes;
  }

 private:
  Descriptor file_;
};

}  // namespace dcmt

#include "collector/agent/limits.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdint>

namespace dcmt::agent {
namespace {

/// Address space in use; 0 if /proc has no figure.
std::uint64_t mapped_bytes() noexcept {
  char text[32] = {};
  const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  return length > 0 ? strtoull(text, nullptr, 10) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

std::uint64_t limit(decltype(RLIMIT_AS) resource) noexcept {
  rlimit value{};
  return getrlimit(resource, &value) == 0 && value.rlim_cur != RLIM_INFINITY ? value.rlim_cur : UINT64_MAX;
}

}  // namespace

bool has_room(int fd, std::size_t bytes) noexcept {
  struct statfs room {};
  // A memory file system without a limit reports 0 blocks.
  return fstatfs(fd, &room) != 0 || room.f_blocks == 0 ||
         static_cast<std::uint64_t>(room.f_bavail) * static_cast<std::uint64_t>(room.f_bsize) >= 2 * bytes;
}

const char* limit_on_spool(std::size_t bytes) noexcept {
  if (limit(RLIMIT_FSIZE) < bytes) {
    return "the process may not write files as large as the spool (ulimit -f); a smaller one is asked for with "
           "--spool-mib";
  }
  if (limit(RLIMIT_AS) < mapped_bytes() + 2 * bytes) {
    return "the process's limit of address space (ulimit -v) leaves no room for the spool; a smaller one is asked for "
           "with --spool-mib";
  }
  return nullptr;
}

}  // namespace dcmt::agent

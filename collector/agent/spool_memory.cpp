#include "collector/agent/spool_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

namespace dcmt::agent {
namespace {

constexpr unsigned kNoExec = 0x0008U;  // MFD_NOEXEC_SEAL, which some systems require and kernels before 6.3 do not
                                       // support
constexpr int kMostPauses = 10'000;
constexpr timespec kPause{0, 1'000'000};

}  // namespace

bool lies_in_memory(int fd) noexcept {
  struct statfs where {};
  return fstatfs(fd, &where) == 0 && (where.f_type == TMPFS_MAGIC || where.f_type == RAMFS_MAGIC);
}

int make_spool_memory(std::size_t bytes) noexcept {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int fd = memfd_create("dc-memtrace-spool", kFlags | kNoExec);
  if (fd < 0 && errno == EINVAL) fd = memfd_create("dc-memtrace-spool", kFlags);
  if (fd < 0) return -1;
  int failure = 0;
  do {
    failure = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  } while (failure == EINTR);
  if (failure == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0) return fd;
  close(fd);
  return -1;
}

const char* hand_over_memory(int fd, const char* shown, const spool::Header& header) noexcept {
  char target[64];
  snprintf(target, sizeof target, "/proc/%ld/fd/%d", static_cast<long>(getpid()), fd);
  if (symlink(target, shown) != 0) {
    close(fd);
    return "the spool could not be shown to the recorder";
  }
  for (int pause = 0; pause < kMostPauses && header.taken_over.load(std::memory_order_acquire) == 0; ++pause) {
    nanosleep(&kPause, nullptr);
  }
  close(fd);
  if (header.taken_over.load(std::memory_order_acquire) != 0) return nullptr;
  unlink(shown);
  return "the recorder did not take the spool's memory over: it ended, or sees other processes than this one does";
}

}  // namespace dcmt::agent

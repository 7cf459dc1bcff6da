// Preloaded into tests that run in QEMU's user emulation: calls of the kernel that it does not pass on, although the
// agent needs them. madvise() answers that memory is wiped, or left out, at a fork, and does nothing;
// process_vm_readv() and process_vm_writev() are not there.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

struct Advice {
  void* begin;
  size_t bytes;
  int advice;
};
enum { kMost = 4096 };
static struct Advice g_advices[kMost];
static size_t g_count = 0;
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

static void in_child(void) {
  for (size_t i = 0; i < g_count; ++i) {
    const struct Advice* const each = &g_advices[i];
    if (each->bytes == 0) continue;
    if (each->advice == MADV_DONTFORK) munmap(each->begin, each->bytes);
    if (each->advice == MADV_WIPEONFORK) memset(each->begin, 0, each->bytes);
  }
}

__attribute__((constructor)) static void begin(void) { pthread_atfork(NULL, NULL, in_child); }

int madvise(void* begin_of, size_t bytes, int advice) {
  if (advice == MADV_WIPEONFORK || advice == MADV_DONTFORK) {
    pthread_mutex_lock(&g_lock);
    if (g_count < kMost) g_advices[g_count++] = (struct Advice){begin_of, bytes, advice};
    pthread_mutex_unlock(&g_lock);
    return 0;
  }
  return (int)syscall(SYS_madvise, begin_of, bytes, advice);
}

// Memory that is gone is not wiped. A part from the middle counts as all that follows it.
int munmap(void* begin_of, size_t bytes) {
  char* const end_of = (char*)begin_of + bytes;
  pthread_mutex_lock(&g_lock);
  for (size_t i = 0; i < g_count; ++i) {
    char* const begins = g_advices[i].begin;
    char* const ends = begins + g_advices[i].bytes;
    if ((char*)begin_of >= ends || end_of <= begins) continue;
    g_advices[i].begin = begins < (char*)begin_of ? begins : end_of;
    g_advices[i].bytes = begins < (char*)begin_of ? (size_t)((char*)begin_of - begins)
                         : end_of < ends          ? (size_t)(ends - end_of)
                                                  : 0;
  }
  pthread_mutex_unlock(&g_lock);
  return (int)syscall(SYS_munmap, begin_of, bytes);
}

// The emulation has the guest's memory at the guest's addresses.
ssize_t process_vm_readv(pid_t pid, const struct iovec* here, unsigned long here_count, const struct iovec* there,
                         unsigned long there_count, unsigned long flags) {
  char path[32];
  if (flags != 0 || here_count != 1) {
    errno = EINVAL;
    return -1;
  }
  snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t got = 0;
  for (unsigned long i = 0; i < there_count && (size_t)got < here->iov_len; ++i) {
    const ssize_t more = pread(file, (char*)here->iov_base + got, there[i].iov_len, (off_t)there[i].iov_base);
    if (more <= 0) break;
    got += more;
  }
  close(file);
  if (got > 0) return got;
  errno = EFAULT;
  return -1;
}

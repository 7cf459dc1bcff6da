#include "collector/agent/forks.h"

#include <pthread.h>
#include <sys/mman.h>

#include "collector/agent/gate.h"
#include "collector/agent/provider.h"
#include "trace/spool/layout.h"

namespace dcmt::agent {
namespace {

constinit void* g_base = nullptr;
constinit std::size_t g_bytes = 0;
constinit spool::Header* g_inherited = nullptr;  ///< the header once more, mapped in forked children too

/// A fork from within a signal handler can interrupt a hook, and the child goes on where the hook was: what it writes
/// then goes to memory of its own.
void in_child() {
  if (g_base == nullptr) return;
  mmap(g_base, g_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
       0);
}

}  // namespace

namespace {

bool follow_forks() noexcept {
  static constinit bool followed = false;
  followed = followed || pthread_atfork(nullptr, nullptr, in_child) == 0;
  return followed;
}

/// At the same place each time: a child that was forked earlier in this process's life never looks there again, and a
/// thread of this one may.
void* map_header(int fd) noexcept {
  const int at = g_inherited != nullptr ? MAP_FIXED : 0;
  return mmap(g_inherited, spool::kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED | at, fd, 0);
}

}  // namespace

bool prepare_for_forks(int fd, void* base, std::size_t bytes) noexcept {
  if (madvise(base, bytes, MADV_DONTFORK) != 0) return false;
  void* header = map_header(fd);
  if (header == MAP_FAILED) return false;
  g_base = base;
  g_bytes = bytes;
  g_inherited = static_cast<spool::Header*>(header);
  return follow_forks();
}

void leave_forks() noexcept {
  g_base = nullptr;
  mmap(g_inherited, spool::kHeaderBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

void note_unrecorded_allocation() noexcept {
  if (take_wiped_gate()) g_inherited->forked_children.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace dcmt::agent

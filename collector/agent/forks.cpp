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
constinit spool::Header* g_inherited = nullptr;  ///< a second mapping of the header, which forked children keep

/// Gives the child memory of its own at the spool's addresses. A fork in a signal handler can interrupt a hook, and the
/// child continues in that hook and writes there.
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

/// Maps the header at the same address each time, because threads may still use it. Children that were forked earlier
/// do not use it again.
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
  if (close_wiped_gate()) g_inherited->forked_children.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace dcmt::agent

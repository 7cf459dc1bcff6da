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
  mmap(g_base, g_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
       0);
}

}  // namespace

bool prepare_for_forks(int fd, void* base, std::size_t bytes) noexcept {
  if (madvise(base, bytes, MADV_DONTFORK) != 0) return false;
  void* header = mmap(nullptr, spool::kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (header == MAP_FAILED) return false;
  g_base = base;
  g_bytes = bytes;
  g_inherited = static_cast<spool::Header*>(header);
  return pthread_atfork(nullptr, nullptr, in_child) == 0;
}

void note_unrecorded_allocation() noexcept {
  if (take_wiped_gate()) g_inherited->forked_children.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace dcmt::agent

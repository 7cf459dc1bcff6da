// Reads another process's memory without stopping it.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace dcmt {

/// Copies `bytes` bytes from `address` of process `pid`. False unless all of them could be read; errno says why. Makes
/// one system call, and allocates nothing.
[[nodiscard]] inline bool read_process(pid_t pid, std::uint64_t address, void* into, std::size_t bytes) noexcept {
  const iovec here{into, bytes};
  // An address in the other process, which must not be dereferenced here.
  const iovec there{reinterpret_cast<void*>(address), bytes};  // NOLINT(performance-no-int-to-ptr)
  return process_vm_readv(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

}  // namespace dcmt

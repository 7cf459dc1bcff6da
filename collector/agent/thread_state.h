// The agent's data for each thread: plain data in the static TLS block, without constructor and destructor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "collector/agent/api.h"
#include "trace/spool/layout.h"

namespace dcmt::agent {

struct ThreadState {
  std::uint32_t inside;  ///< depth of Inside guards
  std::uint32_t tid;     ///< 0 until it is first needed
  std::uint32_t number;  ///< the agent's thread number + 1; 0 until the first record
  std::uint32_t used;    ///< bytes written into the chunk
  char* chunk;           ///< nullptr: none; then `used` equals the chunk size
  spool::ChunkDescriptor* descriptor;
  std::uint64_t lost_since;  ///< tsc of the first record lost since the last LostRecord
  std::uint32_t lost;        ///< records lost since then
  std::uint8_t has_loaded;   ///< the thread has called dlopen(), and has not checked for new objects since
  std::uint16_t session;     ///< session of the thread number, chunk and count of lost records; 0: none yet
  void* torch;               ///< torch_thread_slot()
  std::uint64_t shared_tsc;  ///< tsc of the live SharedTime; 0: none
};
static_assert(sizeof(ThreadState) == 64);
static_assert(offsetof(ThreadState, has_loaded) == 44);  // collector/inject/trampolines.*.S write it
static_assert(std::is_trivially_destructible_v<ThreadState>);

extern DCMT_AGENT_API constinit thread_local ThreadState t_state __attribute__((tls_model("initial-exec")));

}  // namespace dcmt::agent

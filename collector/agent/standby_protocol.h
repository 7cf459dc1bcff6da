// The messages between a process in standby and dc-memtrace, over a Unix socket that preserves message boundaries. Both
// sides must be of the same build; otherwise they refuse. Freestanding: included by the agent.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

namespace dcmt::agent {

/// The value of kEnvStandby (environment.h) that puts a process into standby.
inline constexpr char kStandby[] = "standby";

/// Increment it with any change of this file.
inline constexpr uint32_t kStandbyProtocol = 5;
inline constexpr char kStandbyMagic[8] = {'D', 'C', 'M', 'T', 'S', 'B', 'Y', '1'};

enum class Ask : uint32_t {
  kStatus = 0,
  kAttach = 1,     ///< with descriptors (AttachDescriptor). The connection is the session: closing it ends the session
  kPastKnown = 3,  ///< on the session's connection: the recorder has read what was there before. No answer
  kDetach = 2,     ///< ends the session, no matter who began it; the answer follows when it has ended
};

/// The descriptors passed with kAttach, in this order. The last two are passed only if the process cannot access these
/// folders.
enum AttachDescriptor : size_t { kSpool, kOperators, kProviders, kPrepared, kAttachDescriptors };

struct StandbyRequest {
  char magic[8];
  uint32_t protocol;
  uint32_t wire_version;
  uint32_t ask;  ///< Ask
  // Fields of kAttach:
  uint32_t detail;  ///< dcmt::Detail
  uint32_t chunk_count;
  int32_t exit_wait;    ///< seconds
  uint32_t may_trace;   ///< 1: the recorder asks for permission to read the process's memory (PR_SET_PTRACER)
  uint32_t kernels;     ///< 1: launches and copies on GPUs are observed, through CUPTI
  uint32_t native;      ///< 1: allocations of C and C++ are sampled
  char prepared[1024];  ///< folder of the providers made on this machine; empty: none
};

enum class Answer : uint32_t {
  kIdle = 0,       ///< in standby, no recorder is attached
  kRecording = 1,  ///< to kStatus; to kAttach when recording has begun: `message` has what is missing, in one line
  kEnded = 2,      ///< the session has ended, and its records are published
  kRefused = 3,    ///< `message` has the reason, in one line
};

struct StandbyReply {
  char magic[8];
  uint32_t protocol;
  uint32_t wire_version;
  uint32_t answer;   ///< Answer
  int32_t recorder;  ///< pid of the attached recorder, in the process's namespace; 0: none
  uint32_t session;  ///< sessions so far
  uint32_t reserved;
  char message[512];
};

/// The folder of a user's sockets. It is private, and the process in standby makes it.
/// @param runtime  $XDG_RUNTIME_DIR, or nullptr
inline bool standby_folder(char* out, size_t size, const char* runtime, uint32_t uid) noexcept {
  const int length = runtime != nullptr && *runtime == '/' ? snprintf(out, size, "%s/dc-memtrace", runtime)
                                                           : snprintf(out, size, "/tmp/dc-memtrace-%u", uid);
  return length > 0 && static_cast<size_t>(length) < size;
}

/// The socket's name in that folder.
inline bool standby_socket(char* out, size_t size, long pid) noexcept {
  const int length = snprintf(out, size, "%ld.socket", pid);
  return length > 0 && static_cast<size_t>(length) < size;
}

/// Limit of a socket's path. Longer paths go through /proc/self/fd of their folder.
inline constexpr size_t kMostSocketPath = 107;

}  // namespace dcmt::agent

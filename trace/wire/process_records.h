// Records of the process: its clocks and threads, what was lost, and what went wrong.
#pragma once

#include <cstdint>

#include "trace/wire/record_header.h"

namespace dcmt::wire {

/// Three clocks, read at one time. From these triples the recorder fits tsc → monotonic nanoseconds.
struct ClockRecord {
  RecordHeader header;  ///< header.tsc is the cycle counter of the triple
  std::uint64_t monotonic_ns;
  std::uint64_t real_ns;
};
static_assert(sizeof(ClockRecord) == 40);

/// The first record of a thread. The chunk header has the number of the thread that a record belongs to.
struct ThreadRecord {
  RecordHeader header;  ///< aux: the agent's thread number
  std::uint64_t tid;
  char name[16];
};
static_assert(sizeof(ThreadRecord) == 48);

enum class LossReason : std::uint32_t { kNoRoom = 1, kInFlight = 4 };

struct LostRecord {
  RecordHeader header;  ///< aux: LossReason
  std::uint64_t count;
  std::uint64_t since_tsc;
};
static_assert(sizeof(LostRecord) == 40);

enum class DiagnosticCode : std::uint32_t {
  kProviderOff = 1,  ///< a provider was switched off (the text has its name and the reason)
  kKeyTableFull = 5,
  kNote = 6,
};

struct DiagnosticRecord {
  RecordHeader header;  ///< aux: DiagnosticCode
  std::uint64_t text;   ///< string id
};
static_assert(sizeof(DiagnosticRecord) == 32);

}  // namespace dcmt::wire

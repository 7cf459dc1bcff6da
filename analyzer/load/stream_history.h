// Work on streams of GPUs, and what orders it (`run --streams`).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/load/trace_rows.h"
#include "trace/base/status.h"
#include "trace/base/typed_id.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

enum class StreamCallKind : std::uint8_t {
  kWork,           ///< a kernel, a copy, a fill, a graph
  kRecord,         ///< the event stands for all work that the stream has got so far
  kWait,           ///< further work of the stream begins after the event
  kEventDone,      ///< the host knows that the event has been reached
  kStreamDone,     ///< the host knows that the stream has finished its work
  kAllDone,        ///< the same of all streams
  kCaptureBegins,  ///< what the stream gets from here on becomes part of a graph
  kCaptureEnds,
};

struct StreamCall {
  Sequence seq;
  TimeNs ns;
  StreamCallKind kind = StreamCallKind::kWork;
  bool blocks = false;      ///< the stream and the default stream wait for each other
  bool may_not_use = true;  ///< work: its addresses are arguments of a kernel, which need not use them
  std::int32_t stream = kNoStream;
  std::int64_t event = 0;  ///< CUDA's handle
  StringId name;
  Actor by;
};

/// A call got an address in a block that was alive.
struct StreamUse {
  Sequence call;
  BlockId block;
};

/// Where such a block lies.
struct UsedBlock {
  BlockId id;
  std::optional<std::int64_t> gpu;
  std::int64_t address = 0;
};

struct StreamHistory {
  std::vector<StreamCall> calls;  ///< in order
  std::vector<StreamUse> uses;    ///< by call
  std::vector<UsedBlock> blocks;  ///< by id

  [[nodiscard]] std::span<const StreamUse> uses_of(Sequence call) const;

  /// Loads nothing from a trace before schema 17.
  static Expected<StreamHistory> load(Database& database);
};

}  // namespace dcmt::analyzer

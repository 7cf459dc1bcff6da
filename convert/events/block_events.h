// What happened to the blocks of a trace, one after the other, without a list of all of it.
#pragma once

#include <cstdint>
#include <functional>

#include "analyzer/load/trace_data.h"
#include "analyzer/load/watch.h"
#include "trace/base/status.h"

namespace dcmt::convert {

enum class BlockEventKind : std::uint8_t {
  kBirth,
  kFree,
  kDone,  ///< the streams that a freed block waited for are through with it
};

struct BlockEvent {
  BlockEventKind kind = BlockEventKind::kBirth;
  Sequence seq;
  TimeNs ns;
  const analyzer::Block* block = nullptr;
  bool waits = false;  ///< of a free: other streams still use the block
};

/// Calls `visit` for every event of every device in order. Stops with its error, or as `watch` says.
Status for_each_block_event(const analyzer::TraceData& data, const analyzer::Watch& watch,
                            const std::function<Status(const BlockEvent&)>& visit);

/// Times of sequences that are asked for in ascending order: of births, frees and of intervals without rows.
class EventTimes {
 public:
  explicit EventTimes(const analyzer::TraceData& data);
  TimeNs at(Sequence seq);

 private:
  using Position = decltype(std::declval<const analyzer::RowIndex<Sequence, analyzer::Block>&>().begin());

  const analyzer::TraceData& data_;
  Position begin_, end_;
  std::size_t interval_ = 0;
};

}  // namespace dcmt::convert

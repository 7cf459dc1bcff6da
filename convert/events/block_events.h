// The events of a trace's blocks in order, without a list of all of them.
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
  kDone,  ///< the streams that a freed block waited for are done with it
};

struct BlockEvent {
  BlockEventKind kind = BlockEventKind::kBirth;
  Sequence seq;
  TimeNs ns;
  const analyzer::Block* block = nullptr;
  bool waits = false;  ///< for a free: other streams still use the block
};

/// Calls `visit` for every event of every device in order. Stops with an error of `visit`, or if `watch` stops it.
Status for_each_block_event(const analyzer::TraceData& data, const analyzer::Watch& watch,
                            const std::function<Status(const BlockEvent&)>& visit);

/// Finds the times of sequences: births, frees, and intervals without rows. Must be asked in ascending order.
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

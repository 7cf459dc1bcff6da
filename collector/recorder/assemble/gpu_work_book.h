// Kernels, copies and fills of GPUs with their times, and the calls that gave them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "collector/recorder/assemble/lifetimes.h"
#include "collector/recorder/assemble/stream_numbers.h"
#include "collector/recorder/decode/dictionary.h"
#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/tables/gpu_work.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class GpuWorkBook {
 public:
  GpuWorkBook(Journal& journal, Dictionary& dictionary, StreamNumbers& streams, Lifetimes& lifetimes)
      : journal_(journal), dictionary_(dictionary), streams_(streams), lifetimes_(lifetimes) {}

  Status launch(const wire::GpuLaunchRecord& record);
  /// @param bytes  of a whole GpuWorkRecord with its items
  Status work(std::string_view bytes);

 private:
  struct Launch {
    std::uint64_t stream = wire::kUnknownStream;
    Place where;
  };

  Expected<GpuWorkRow> row_of(const wire::GpuWorkItem& item, std::int64_t from_ns);

  Journal& journal_;
  Dictionary& dictionary_;
  StreamNumbers& streams_;
  Lifetimes& lifetimes_;
  // CUPTI hands work over after its end. Not all calls give work that comes: those of a capture do not.
  std::unordered_map<std::uint32_t, Launch> launches_;  ///< by CUPTI's number of the call
  std::deque<std::uint32_t> in_order_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> handles_;  ///< of streams, by GPU and CUPTI's number
  bool said_full_ = false;
};

}  // namespace dcmt::recorder

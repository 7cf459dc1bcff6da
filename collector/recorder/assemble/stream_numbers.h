// Maps CUDA streams to small numbers for the trace, in the order of first use.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class StreamNumbers {
 public:
  explicit StreamNumbers(Journal& journal) : journal_(journal) {}

  Status resume() {
    return journal_.state.each_id([this](WireIdKind kind, std::uint64_t handle, RowId number) {
      if (kind == WireIdKind::kStream) numbers_[handle] = number;
    });
  }

  /// @param handle  CUDA's; 0 is the default stream and has the number 0
  Expected<std::int64_t> of(std::uint64_t handle) {
    if (handle == 0) return std::int64_t{0};
    const auto [known, is_new] = numbers_.try_emplace(handle, static_cast<std::int64_t>(numbers_.size()) + 1);
    if (is_new) DCMT_RETURN_IF_ERROR(journal_.state.add_id(WireIdKind::kStream, handle, known->second));
    return known->second;
  }

 private:
  Journal& journal_;
  std::unordered_map<std::uint64_t, std::int64_t> numbers_;
};

}  // namespace dcmt::recorder

#include "collector/recorder/drive/record_rounds.h"

#include <thread>

namespace dcmt::recorder {
namespace {

/// With so many records at once, they come faster than they are processed: no pause.
constexpr std::size_t kManyRecords = 20'000;

}  // namespace

Status record_rounds(const std::function<Expected<Round>()>& round) {
  for (;;) {
    DCMT_ASSIGN_OR_RETURN(const Round made, round());
    if (made.is_last) return {};
    if (made.drained < kManyRecords) std::this_thread::sleep_for(kPause);
  }
}

}  // namespace dcmt::recorder

#include "collector/recorder/folder/trace_mover.h"

#include <chrono>
#include <utility>

#include "collector/recorder/folder/move_trace.h"

namespace dcmt::recorder {

void TraceMover::add(std::string key, std::string trace) { waiting_.push_back({std::move(key), std::move(trace), {}}); }

std::vector<MovedTrace> TraceMover::collect(bool waits) {
  std::vector<MovedTrace> moved;
  while (!waiting_.empty()) {
    Waiting& first = waiting_.front();
    if (!first.result.valid()) {
      first.result = std::async(std::launch::async, move_trace, first.from, folder_);
    }
    if (!waits && first.result.wait_for(std::chrono::seconds(0)) != std::future_status::ready) break;
    moved.push_back({std::move(first.key), std::move(first.from), first.result.get()});
    waiting_.pop_front();
  }
  return moved;
}

}  // namespace dcmt::recorder

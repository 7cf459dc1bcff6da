#include "collector/recorder/drive/armed.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <thread>

#include "collector/recorder/target/kernel_memory.h"
#include "collector/recorder/target/process_table.h"
#include "trace/base/quantities.h"

namespace dcmt::recorder {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenSearches = std::chrono::milliseconds(100);
/// Listing all mappings of a process is done less often.
constexpr std::int64_t kSamplesPerMappings = 10;
/// The condition may be noticed this many steps late.
constexpr std::int64_t kNoticedLate = 8;

bool may_be_near(const Armed& armed, const KernelMemory& memory, bool has_gpu) {
  const double near = armed.near * static_cast<double>(armed.condition.bytes);
  switch (armed.condition.what) {
    case Counted::kAllocated:
      return has_gpu || static_cast<double>(memory.data) >= near;
    case Counted::kResident:
      return static_cast<double>(memory.resident) >= near;
    case Counted::kReserved:
      break;
  }
  return has_gpu;
}

std::string not_near(const Armed& armed, const Watched& watched, bool any_lives, bool has_gpu) {
  const bool counts_gpu_only = armed.condition.what == Counted::kReserved;
  return fmt::format("nothing was recorded: {} before {}; {}", any_lives ? "the wait was ended" : "the process ended",
                     text_of(armed.condition),
                     counts_gpu_only && !has_gpu
                         ? "no GPU was used, and only torch's CUDA allocator reserves: wait for allocated or rss"
                         : "its highest rss was " + rounded_bytes(watched.highest_resident));
}

}  // namespace

Expected<Watched> wait_until_near(const Armed& armed, const std::vector<pid_t>& pids,
                                  const std::function<bool(const Watched&)>& goes_on) {
  const auto began = Clock::now();
  Watched watched;
  if (armed.near <= 0) return watched;
  // A later process can have the pid of one that has ended.
  std::map<pid_t, std::uint64_t> begun;
  for (const pid_t pid : pids) begun[pid] = process_start(pid);
  const bool asks_for_gpu = armed.condition.what != Counted::kResident;
  bool has_gpu = false;
  for (;; std::this_thread::sleep_for(kBetweenSearches)) {
    bool any_lives = false;
    for (const pid_t pid : pids) {
      const auto memory = kernel_memory(pid);
      if (!memory || process_start(pid) != begun[pid]) continue;
      any_lives = true;
      if (asks_for_gpu && watched.samples % kSamplesPerMappings == 0) has_gpu = has_gpu || uses_gpu(pid);
      watched.highest_resident = std::max(watched.highest_resident, memory->resident);
      watched.time = Clock::now() - began;
      if (may_be_near(armed, *memory, has_gpu)) return watched;
    }
    ++watched.samples;
    if (!any_lives || !goes_on(watched)) {
      return Error{ErrorCode::kCannotRecord, not_near(armed, watched, any_lives, has_gpu)};
    }
  }
}

RetentionOptions retention_of(const Armed& armed, RetentionOptions retention) {
  retention.everything_up_to = 0;
  retention.every = 0;
  retention.last = armed.before + 1 + armed.after + kNoticedLate;
  return retention;
}

std::string note_of(const Armed& armed, const Watched& watched, std::int64_t steps) {
  const double seconds = std::chrono::duration<double>(watched.time).count();
  std::string text = fmt::format("{} was met in step {}", text_of(armed.condition), steps);
  if (watched.samples > 0) {
    text += fmt::format("; for {:.1f} s before the recording the process was only watched, its rss was {} at most",
                        seconds, rounded_bytes(watched.highest_resident));
  }
  if (steps == 0) text += "; it came too fast for a step before it to be recorded";
  return text;
}

}  // namespace dcmt::recorder

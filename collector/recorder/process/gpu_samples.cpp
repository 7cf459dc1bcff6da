#include "collector/recorder/process/gpu_samples.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "collector/recorder/process/own_clock.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::recorder {
namespace {

/// Time between two readings, in nanoseconds and as a share of the run, so that a long run has some thousand rows.
constexpr std::int64_t kBetweenNs = 100'000'000, kBetweenDivisor = 2000;

}  // namespace

struct GpuSamples::Library {
  const std::string name;
  std::optional<Expected<GpuMemory>> memory;  ///< nothing before the first reading
};

GpuSamples::GpuSamples(TraceWriter& writer, pid_t pid, std::string library)
    : writer_(writer), pid_(pid), library_(std::make_shared<Library>(std::move(library), std::nullopt)) {}

Expected<bool> GpuSamples::poll(const Gpus& gpus) {
  // An answer is written at the call after it came: by then, what the allocator did meanwhile has been applied, too.
  bool wrote = false;
  if (answer_) {
    DCMT_ASSIGN_OR_RETURN(wrote, write(*std::exchange(answer_, std::nullopt), gpus));
  }
  if (reading_.valid()) {
    if (reading_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) answer_ = reading_.get();
    return wrote;
  }
  if (!is_due()) return wrote;
  std::vector<Asked> asked;
  for (const auto& [gpu, then] : gpus) {
    if (!then.uuid.empty()) asked.push_back({gpu, then.uuid});
  }
  if (!asked.empty()) begin(std::move(asked));
  return wrote;
}

bool GpuSamples::is_due() const {
  const bool is_over = library_->memory && !library_->memory->ok();
  const std::int64_t now = now_ns();
  return !is_over && (first_ns_ == 0 || now - latest_ns_ >= std::max(kBetweenNs, (now - first_ns_) / kBetweenDivisor));
}

void GpuSamples::begin(std::vector<Asked> asked) {
  latest_ns_ = now_ns();
  if (first_ns_ == 0) first_ns_ = latest_ns_;
  std::packaged_task<Answer()> task(
      [library = library_, asked = std::move(asked), pid = pid_] { return read(*library, asked, pid); });
  std::future<Answer> reading = task.get_future();
  try {
    std::thread(std::move(task)).detach();
    reading_ = std::move(reading);
  } catch (const std::system_error&) {
    // No thread can be had now: the next reading may have one.
  }
}

GpuSamples::Answer GpuSamples::read(Library& library, const std::vector<Asked>& asked, pid_t pid) {
  if (!library.memory) library.memory.emplace(GpuMemory::open(library.name.c_str()));
  Answer answer;
  if (!library.memory->ok()) {
    answer.why_not = library.memory->error().message;
    return answer;
  }
  answer.began_ns = now_ns();
  for (const Asked& each : asked) {
    const Expected<GpuUse> use = (*library.memory)->use_of(each.uuid, pid);
    if (use.ok()) {
      answer.uses.emplace_back(each.gpu, *use);
    } else {
      answer.why_not = use.error().message;
    }
  }
  answer.ended_ns = now_ns();
  return answer;
}

Expected<bool> GpuSamples::write(const Answer& answer, const Gpus& gpus) {
  if (!answer.why_not.empty() && !std::exchange(has_said_why_, true)) {
    DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kGpuMemoryUnknown, answer.why_not));
  }
  bool wrote = false;
  for (const auto& [gpu, use] : answer.uses) {
    const auto found = gpus.find(gpu);
    // Reserved or given back during the reading: it is not clear which of the two it has counted.
    if (found == gpus.end() || found->second.changed_ns >= answer.began_ns) continue;
    GpuMemoryRow row{next_id_++, answer.began_ns, gpu, use.used, use.total, use.process, found->second.reserved};
    DCMT_RETURN_IF_ERROR(writer_.write(row));
    wrote = true;
  }
  return wrote;
}

}  // namespace dcmt::recorder

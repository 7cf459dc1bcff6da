#include "collector/recorder/process/samplers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>

#include "collector/recorder/process/small_block_sizes.h"

namespace dcmt::recorder {
namespace {

/// Time between two sums over all storages that are tracked, in seconds and as a share of the run.
constexpr double kBetweenSums = 0.02, kBetweenSumsShare = 1.0 / 32;

}  // namespace

void Samplers::begin(pid_t pid) {
  memory_ = std::make_unique<MemorySamples>(process_.writer(), pid);
  gpus_ = std::make_unique<GpuSamples>(process_.writer(), pid);
  forked_ = std::make_unique<ForkedSamples>(process_.writer(), pid);
}

Status Samplers::finish() {
  if (forked_ == nullptr) return {};
  DCMT_RETURN_IF_ERROR(forked_->end(torch_then().seq));
  forked_.reset();
  return {};
}

TorchSample Samplers::torch_then() const {
  const Assembler& assembler = process_.assembler();
  return {static_cast<std::int64_t>(assembler.last_seq()), assembler.totals().steps, assembler.cpu_bytes().allocated};
}

Status Samplers::poll() {
  if (memory_ == nullptr || !process_.seconds() || is_over_) return {};
  DCMT_ASSIGN_OR_RETURN(const bool wrote,
                        memory_->poll(torch_then(), [&] { return process_.assembler().cpu_blocks(); }));
  if (wrote) process_.changed();
  DCMT_ASSIGN_OR_RETURN(const bool wrote_children, forked_->poll(torch_then().seq));
  if (wrote_children) process_.changed();
  // A record that is missing yet could be of what a GPU's allocator has just reserved.
  if (process_.spool().waiting() == 0) {
    DCMT_ASSIGN_OR_RETURN(const bool wrote_gpus, gpus_->poll(process_.assembler().gpus()));
    if (wrote_gpus) process_.changed();
  }
  // If the kernel kills the recorder, too, everything that is not committed is lost.
  return wrote && memory_->is_near_limit() ? process_.commit() : Status();
}

Status Samplers::sample_last() {
  if (memory_ == nullptr || !process_.seconds()) return {};
  process_.changed();
  return memory_->sample_last(torch_then(), [&] { return process_.assembler().cpu_blocks(); });
}

void Samplers::follow_small_growth(pid_t pid) {
  const std::optional<double> now = process_.seconds();
  if (!now) return;
  ReadingNeeds& readings = process_.assembler().readings();
  SmallBlocksThen then = readings.small_blocks();
  std::optional<BytesBySize> live;
  // Then all are tracked, and it is only open which are worth holders.
  const bool tracks_all = process_.spool().facts().detail >= Detail::kFull;
  if (tracks_all) {
    if (*now < next_count_) return;
    next_count_ = *now + std::max(kBetweenSums, kBetweenSumsShare * *now);
    live = readings.small_storages();
    then.bytes = std::accumulate(live->begin(), live->end(), std::int64_t{0});
  }
  if (!small_growth_.is_due(*now, then)) return;
  if (!tracks_all) live = read_small_block_sizes(pid, process_.spool().small_block_tables());
  if (!live) return small_growth_.give_up();
  for (const std::size_t size_class : small_growth_.add_reading(*now, then, *live)) {
    if (!tracks_all) process_.spool().follow_size_class(size_class);
    readings.size_is_followed(size_class);
  }
}

}  // namespace dcmt::recorder

// What the recorder samples of a process, beside its records.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "collector/recorder/assemble/small_growth.h"
#include "collector/recorder/process/forked_samples.h"
#include "collector/recorder/process/gpu_samples.h"
#include "collector/recorder/process/memory_samples.h"
#include "collector/recorder/process/spool_drain.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class Samplers {
 public:
  /// @param process  must outlive it
  explicit Samplers(SpoolDrain& process) : process_(process) {}

  /// From now on, samples the kernel's figures of the process's memory, of its forked children and of its GPUs.
  void begin(pid_t pid);
  /// From now on the memory of the children is read, too. Call it after begin().
  void read_children(const scan::LayoutFolders& layouts) {
    if (forked_ != nullptr) forked_->read_with(layouts);
  }
  /// Waits for what runs.
  Status finish();
  /// No further samples.
  void end() { is_over_ = true; }
  /// Samples if it is time. Commits if the kernel may kill the recorder soon.
  Status poll();
  /// Samples now: the program has ended, and its memory still exists.
  Status sample_last();
  /// Asks the process to track sizes of small blocks of which it keeps more and more. With a detail that tracks all of
  /// them, readings search their holders from then on.
  /// @param pid  a process whose memory may be read
  void follow_small_growth(pid_t pid);
  /// Writes the limits of the process's memory to meta.
  Status write_limits() { return memory_ != nullptr ? memory_->write_limits() : Status{}; }

  /// Lasting growth of memory outside torch since the first steps, in units of some MiB.
  [[nodiscard]] std::int64_t grown_outside() const { return memory_ != nullptr ? memory_->grown() : 0; }
  /// Memory outside torch at the latest sample; bytes.
  [[nodiscard]] std::optional<std::int64_t> outside() const {
    return memory_ != nullptr ? memory_->outside() : std::nullopt;
  }

 private:
  [[nodiscard]] TorchSample torch_then() const;

  SpoolDrain& process_;
  std::unique_ptr<MemorySamples> memory_;  ///< nullptr: the process cannot be found
  std::unique_ptr<GpuSamples> gpus_;       ///< likewise
  std::unique_ptr<ForkedSamples> forked_;  ///< likewise
  SmallGrowth small_growth_;
  double next_count_ = 0;
  bool is_over_ = false;
};

}  // namespace dcmt::recorder

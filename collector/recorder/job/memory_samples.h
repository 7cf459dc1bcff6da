// Samples of what the kernel counts of a process's memory: at ends of steps, and seldom by what pages are mapped for.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "collector/recorder/target/cgroup_memory.h"
#include "collector/recorder/target/resident_memory.h"
#include "trace/base/status.h"
#include "trace/sql/trace_writer.h"

namespace dcmt::recorder {

/// What torch's allocator of the CPU has at a sample.
struct TorchThen {
  std::int64_t seq = 0;    ///< of the latest record that is applied
  std::int64_t steps = 0;  ///< that have ended
  std::int64_t bytes = 0;  ///< allocated
};

/// When to sample. Times are seconds since the first sample. Thread-safety: none.
class SampleSchedule {
 public:
  /// Whether the counters are due, by the number of steps that have ended.
  [[nodiscard]] bool is_due(double now, std::int64_t steps) const;
  void sampled(double now, std::int64_t steps);
  /// Whether the classes are due at a sample of so many bytes that are not torch's.
  [[nodiscard]] bool classes_are_due(double now, std::int64_t steps, std::int64_t outside) const;
  void classes_read(double now, std::int64_t steps, double took, std::int64_t outside);

 private:
  double latest_ = -1;
  std::int64_t steps_ = 0;         ///< at the latest sample
  double spent_ = 0;               ///< on classes, seconds
  double took_ = 0;                ///< the latest reading of them
  double next_classes_ = 0;        ///< without growth
  std::int64_t outside_ = 0;       ///< at the latest reading of classes
  bool has_read_classes_ = false;  ///< after the first steps
};

/// Whether what is not torch's has become more, and stays so over several samples. Thread-safety: none.
class OutsideWatch {
 public:
  /// The next sample after the first steps.
  void see(std::int64_t outside);
  [[nodiscard]] std::int64_t grown() const;

 private:
  static constexpr std::size_t kSamples = 8;
  std::size_t seen_ = 0;
  std::int64_t highest_at_first_ = 0;
  std::array<std::int64_t, kSamples> latest_{};
};

/// Thread-safety: none.
class MemorySamples {
 public:
  using Blocks = std::function<std::vector<BlockPlace>()>;  ///< of torch's allocator, by address

  /// `writer` must outlive it.
  MemorySamples(TraceWriter& writer, pid_t pid) : writer_(writer), pid_(pid), cgroup_(CgroupMemory::of(pid)) {}

  /// Samples if it is time. Returns whether a row was written.
  Expected<bool> poll(const TorchThen& torch, const Blocks& blocks);
  /// Samples now, with the classes: the program has ended, and its memory is there.
  Status sample_last(const TorchThen& torch, const Blocks& blocks);
  /// What memory outside torch has grown by since the first steps and stays, in steps of some MiB.
  [[nodiscard]] std::int64_t grown() const { return growth_.grown(); }
  /// Whether, at the latest sample, the control group was so near its limit that the kernel may kill this process, too.
  [[nodiscard]] bool is_near_limit() const { return is_near_limit_; }
  /// What the control group allows and whether the kernel has killed in it, for meta.
  Status write_limits();

 private:
  double seconds();  ///< since the first sample
  Expected<bool> sample(double now, const TorchThen& torch, const Blocks& blocks, bool classes);
  Status write_classes(std::int64_t torch, const Blocks& blocks);

  TraceWriter& writer_;
  const pid_t pid_;
  const CgroupMemory cgroup_;
  const std::optional<std::int64_t> kills_before_ = cgroup_.kills();
  SampleSchedule schedule_;
  std::optional<std::int64_t> began_ns_;
  RowId latest_ = 0;
  bool is_near_limit_ = false;
  OutsideWatch growth_;
};

}  // namespace dcmt::recorder

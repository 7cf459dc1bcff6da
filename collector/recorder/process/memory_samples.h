// Samples the kernel's figures of a process's memory: at the ends of steps, and less often by the purpose of mappings.
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

/// The bytes of torch's CPU allocator at a sample.
struct TorchSample {
  std::int64_t seq = 0;    ///< latest applied record
  std::int64_t steps = 0;  ///< steps that have ended
  std::int64_t bytes = 0;  ///< allocated
};

/// Bytes that are not torch's, at a sample.
struct OutsideThen {
  std::int64_t bytes = 0;
  std::int64_t grown = 0;  ///< lasting growth since the first steps
};

/// Decides when to sample. Times are seconds since the first sample. Thread-safety: none.
class SampleSchedule {
 public:
  /// True if the counters are due, by the number of ended steps.
  [[nodiscard]] bool is_due(double now, std::int64_t steps) const;
  void sampled(double now, std::int64_t steps);
  /// True if the classes are due at a sample with this many bytes outside torch.
  [[nodiscard]] bool classes_are_due(double now, std::int64_t steps, OutsideThen outside) const;
  void classes_read(double now, std::int64_t steps, double took, OutsideThen outside);

 private:
  double latest_ = -1;
  std::int64_t steps_ = 0;         ///< at the latest sample
  double spent_ = 0;               ///< on classes, in seconds
  double took_ = 0;                ///< duration of the latest reading of them
  double next_classes_ = 0;        ///< without growth
  OutsideThen outside_;            ///< at the latest reading of the classes
  bool has_read_classes_ = false;  ///< after the first steps
};

/// Detects growth of memory outside torch that lasts over several samples. Thread-safety: none.
class OutsideWatch {
 public:
  /// Processes the next sample after the first steps.
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
  using Blocks = std::function<std::vector<BlockPlace>()>;  ///< blocks of torch's allocator, by address

  /// `writer` must outlive it.
  MemorySamples(TraceWriter& writer, pid_t pid) : writer_(writer), pid_(pid), cgroup_(CgroupMemory::of(pid)) {}

  /// Samples if it is time. Returns whether a row was written.
  Expected<bool> poll(const TorchSample& torch, const Blocks& blocks);
  /// Samples now, with the classes: the program has ended, and its memory still exists.
  Status sample_last(const TorchSample& torch, const Blocks& blocks);
  /// Lasting growth of memory outside torch since the first steps, in units of some MiB.
  [[nodiscard]] std::int64_t grown() const { return growth_.grown(); }
  /// Memory outside torch at the latest sample; bytes.
  [[nodiscard]] std::optional<std::int64_t> outside() const { return outside_; }
  /// True if, at the latest sample, the control group was so near its limit that the kernel may kill this process, too.
  [[nodiscard]] bool is_near_limit() const { return is_near_limit_; }
  /// Writes the control group's limit, and the kernel's kills in it, to meta.
  Status write_limits();

 private:
  double seconds();  ///< since the first sample
  Expected<bool> sample(double now, const TorchSample& torch, const Blocks& blocks, bool classes);
  Status write_classes(std::int64_t torch, const Blocks& blocks, bool with_free);

  TraceWriter& writer_;
  const pid_t pid_;
  const CgroupMemory cgroup_;
  const std::optional<std::int64_t> kills_before_ = cgroup_.kills();
  SampleSchedule schedule_;
  std::optional<std::int64_t> began_ns_;
  RowId latest_ = 0;
  bool is_near_limit_ = false;
  OutsideWatch growth_;
  std::optional<std::int64_t> outside_;
};

}  // namespace dcmt::recorder

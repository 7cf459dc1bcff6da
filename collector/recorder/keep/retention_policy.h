// Decides which parts of a run keep their rows, and which only their sums. It has no rows, only decisions.
//
// Everything is kept until a tenth of the disk bound is used. After that, or from the begin if steps were requested,
// windows are kept: requested steps, every Nth step, steps with a new peak, steps with a finding not seen before, and
// the last steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "trace/sql/kept.h"

namespace dcmt::recorder {

/// Steps first to last, both included.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

struct RetentionOptions {
  std::vector<StepRange> steps;  ///< empty: everything, until a tenth of max_disk is used
  std::int64_t every = 1000;     ///< 0: none for this reason
  std::int64_t last = 3;         ///< finished steps kept at the end
  std::int64_t max_disk = std::int64_t{5} * 1024 * 1024 * 1024;  ///< bytes of one trace
  double everything_up_to = 0.1;  ///< fraction of max_disk up to which everything is kept, unless steps are named
  /// Of storages, tensors, blocks and operators that have ended, keep only what was alive when memory ran out.
  bool only_living = false;
};

enum class FindingKind : std::uint8_t { kResidual, kReadAfterRelease, kOutOfMemory };

/// Thread-safety: none.
class RetentionPolicy {
 public:
  explicit RetentionPolicy(RetentionOptions options) : options_(std::move(options)) {}

  /// Sets the size of the trace, on which later decisions depend.
  void set_used(std::int64_t bytes) { used_ = bytes; }
  /// From now on everything is kept, for example after a resume, where only the rest of a spool follows.
  void keep_everything() { everything_ = true; }

  /// Whether the part that begins now is kept regardless of its content.
  /// @param step  expected number of the step that will end it
  [[nodiscard]] Kept beforehand(std::int64_t step) const;

  /// Whether the part that ended is kept because of its content. The call changes no state.
  /// @param step  its number, if a step ended it  @param peak  highest allocated bytes in it
  [[nodiscard]] Kept afterwards(std::optional<std::int64_t> step, std::int64_t peak) const;

  /// A part with this peak is kept.
  void kept(std::int64_t peak);
  [[nodiscard]] std::int64_t kept_peak() const { return kept_peak_; }

  /// A problem with a key was seen in the current part.
  void see_finding(FindingKind kind, std::int64_t graph, std::int64_t key);
  /// A new part begins.
  void next() {
    new_finding_ = false;
    ++stretch_;
  }

  [[nodiscard]] std::int64_t last() const { return options_.last; }
  [[nodiscard]] bool only_living() const { return options_.only_living; }
  /// There is no space for lifetimes that are not in the trace: from here on, only data of bounded size is written.
  [[nodiscard]] bool full() const;
  /// There is so little space that a row whose end has come is removed instead of growing.
  [[nodiscard]] bool over() const;
  /// How many rows are written before the size is read again. In a trace with rows on both sides, each may need a page.
  [[nodiscard]] std::size_t batch_rows(std::size_t usual) const;
  /// How many rows may wait: `usual`, or less where the disk bound is so small that they would not fit.
  [[nodiscard]] std::size_t most_rows(std::size_t usual) const {
    constexpr std::int64_t kShare = 500;
    return std::min(usual, static_cast<std::size_t>(options_.max_disk / kShare));
  }
  /// How many parts without rows share one row of sums: 1 until nine tenths of the bound are used, then doubled with
  /// every two-hundredth, so that the bound holds for a run of any length.
  [[nodiscard]] std::int64_t merged() const;

 private:
  [[nodiscard]] bool asked_for(std::int64_t step) const;
  [[nodiscard]] bool used_less_than(double share) const {
    return static_cast<double>(used_) < share * static_cast<double>(options_.max_disk);
  }

  RetentionOptions options_;
  std::int64_t used_ = 0;
  std::int64_t kept_peak_ = 0;
  bool everything_ = false;
  bool new_finding_ = false;
  struct Shown {
    int times = 0;
    std::int64_t in = 0;  ///< the part that was counted last
  };
  std::int64_t stretch_ = 1;
  std::map<std::tuple<FindingKind, std::int64_t, std::int64_t>, Shown> findings_;
};

}  // namespace dcmt::recorder

// Decides when the recorder reads a process's memory. Readings of variables take milliseconds: with the first tensor,
// after the first step, as soon as memory grows, and again while it grows. Readings of everything come a little later
// and seldom; after the first ones, they never use more than a hundredth of the run.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "collector/recorder/assemble/growth_watch.h"
#include "collector/scan/census.h"

namespace dcmt::recorder {

/// The progress of the program.
struct Progress {
  GrowingBytes growing;
  double growing_for = 0;     ///< seconds for which growth has gone on
  bool has_storages = false;  ///< it had at least the bytes of one tracked storage
  bool stepped = false;       ///< a step has ended
  bool held = false;          ///< it waits for readings of variables at points of its work
  double of_peak = 1;         ///< its allocated bytes, as a share of their highest value so far
};

/// Times are seconds since the process made its first tensor. Thread-safety: none.
class ScanSchedule {
 public:
  [[nodiscard]] bool is_due(scan::Scope scope, double now, const Progress& program) const;
  /// A reading is over that began at `now`, at this progress of the program, and needed this many seconds of CPU time.
  void done(scan::Scope scope, double now, double took, const Progress& program);

 private:
  struct Readings {
    double spent = 0;
    double latest = 0;         ///< duration of the latest
    std::int64_t growing = 0;  ///< bytes at the latest
  };
  [[nodiscard]] const Readings& of(scan::Scope scope) const { return readings_[static_cast<std::size_t>(scope)]; }
  [[nodiscard]] bool prepares(double now, const Progress& program) const;

  std::array<Readings, 2> readings_;  ///< by scope
  /// When a reading of variables has found the places to read, which takes longer than the reading: the program may be
  /// a few steps further then.
  std::optional<double> prepared_at_;
  bool prepared_again_ = false;       ///< again after long imports
  bool stepped_ = false;              ///< a reading of variables has begun after the first step
  std::optional<double> began_;       ///< the first of these; before that, the first one without preparation
  std::optional<double> grows_from_;  ///< the first reading since which the memory has grown at each one
  double next_ = 10;                  ///< next reading of everything, without growth
  double next_near_ = 0;              ///< next reading of variables
  double next_quiet_ = 0;             ///< next reading of variables, without growth
  std::size_t quiet_ = 0;             ///< readings of variables so far, without the first
};

}  // namespace dcmt::recorder

// When the recorder reads the memory of a process: what variables lead to with the first tensor, after the first step,
// as soon as the memory grows and again as it goes on, since that takes milliseconds; everything a little later,
// seldom, and never for more than a hundredth of the run, after what the first readings cost.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "collector/recorder/assemble/growth_watch.h"
#include "collector/scan/census.h"

namespace dcmt::recorder {

/// How far the program is.
struct Progress {
  GrowingBytes growing;
  bool has_storages = false;  ///< it had as many bytes as one storage that is followed
  bool stepped = false;       ///< a step has ended
  double of_peak = 1;         ///< what it has allocated, as a share of the most that it ever had
};

/// Times are seconds since the process made its first tensor. Thread-safety: none.
class ScanSchedule {
 public:
  [[nodiscard]] bool is_due(scan::Scope scope, double now, const Progress& program) const;
  /// Whether a reading of everything that also searches C++ memory fits into its share of the run.
  [[nodiscard]] bool affords_search(double now) const;
  /// A reading is over that was begun at `now`, when the program was so far, and took so many seconds of a core.
  void done(scan::Scope scope, double now, double took, const Progress& program);

 private:
  struct Readings {
    double spent = 0;
    double latest = 0;         ///< what the latest took
    std::int64_t growing = 0;  ///< bytes, at the latest
  };
  [[nodiscard]] const Readings& of(scan::Scope scope) const { return readings_[static_cast<std::size_t>(scope)]; }
  [[nodiscard]] bool prepares(double now, const Progress& program) const;

  std::array<Readings, 2> readings_;  ///< by scope
  /// When a reading of variables has found out where things are, which takes longer than the reading: the program may
  /// be over a few steps later.
  std::optional<double> prepared_at_;
  bool prepared_again_ = false;       ///< after imports that took long
  bool stepped_ = false;              ///< one of variables has begun after the first step
  std::optional<double> began_;       ///< the first of these; before, the first that prepared nothing
  std::optional<double> grows_from_;  ///< the first reading since which the memory has grown at each
  double next_ = 10;                  ///< of everything, without growth
  double next_near_ = 0;              ///< of variables
  double next_quiet_ = 0;             ///< of variables, without growth
  std::size_t quiet_ = 0;             ///< readings of variables so far that were not the first
};

}  // namespace dcmt::recorder

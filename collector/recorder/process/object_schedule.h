// Decides when the objects of a process are read because its memory outside torch grows: what grows may be a list of
// the program, without any tensor.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collector/scan/census.h"

namespace dcmt::recorder {

/// Times are seconds since the process made its first tensor. Thread-safety: none.
class ObjectSchedule {
 public:
  /// The latest sample of the memory outside torch; bytes.
  void see(std::int64_t outside);
  [[nodiscard]] bool is_due(scan::Scope scope, double now) const;
  /// True if a reading after the program's end adds information.
  [[nodiscard]] bool wants_last(scan::Scope scope) const;
  /// A reading begins.
  void begin(scan::Scope scope) { of(scope).began_outside = outside_; }
  /// It is over. @param at  when it began  @param took  its CPU time, if it began because of this schedule, else 0
  void done(scan::Scope scope, double at, double took, const scan::Census& found);

 private:
  struct Readings {
    double spent = 0;     ///< seconds
    double latest = 0.5;  ///< duration of the latest one of this schedule; before that, what is usual for everything
    double at = 0;        ///< begin of the latest
    int count = 0;
    std::int64_t outside = 0;  ///< at the latest
    std::int64_t began_outside = 0;
  };
  [[nodiscard]] const Readings& of(scan::Scope scope) const { return readings_[static_cast<std::size_t>(scope)]; }
  [[nodiscard]] Readings& of(scan::Scope scope) { return readings_[static_cast<std::size_t>(scope)]; }
  [[nodiscard]] std::int64_t grown() const { return outside_ - base_; }
  /// Growth up to the latest reading of variables, unless a collection that they lead to has grown by half of it. One
  /// reading may miss it, while it is changing.
  [[nodiscard]] std::int64_t unexplained() const {
    const std::int64_t then = of(scan::Scope::kVariables).outside - base_;
    return 2 * std::max(explained_, explained_before_) >= then ? 0 : then;
  }
  /// Growth since the latest reading that is worth another one.
  [[nodiscard]] double worth(scan::Scope scope) const;

  std::array<Readings, 2> readings_;  ///< by scope
  bool has_seen_ = false;
  bool was_importing_ = false;
  std::int64_t outside_ = 0;
  std::int64_t base_ = 0;                              ///< the lowest, but imports do not count as growth
  std::map<std::string, std::int64_t> first_bytes_;    ///< of each collection, when variables led to it first
  std::int64_t explained_ = 0, explained_before_ = 0;  ///< by the latest two of these readings
  int in_vain_ = 0;                                    ///< readings of variables in a row that explained nothing
};

}  // namespace dcmt::recorder

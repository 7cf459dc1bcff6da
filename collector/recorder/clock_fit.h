// Cycle counter to monotonic nanoseconds, through the first and the latest of the agent's clock readings.
#pragma once

#include <cstdint>

namespace dcmt::recorder {

/// Thread-safety: none.
class ClockFit {
 public:
  /// @param hz  cycles per second to use until two readings are far enough apart; 0: unknown, 1 GHz is assumed
  ClockFit(std::uint64_t hz, std::uint64_t tsc, std::uint64_t ns) : hz_(hz), first_{tsc, ns}, latest_{tsc, ns} {}

  /// Takes a reading. False, and ignored, if it runs backwards.
  bool add(std::uint64_t tsc, std::uint64_t ns);

  [[nodiscard]] std::int64_t ns(std::uint64_t tsc) const;

  /// Hands every member to `visit(name, value)`, to be saved or loaded.
  template <class Visit>
  void visit(Visit&& visit) {
    visit("clock.first_tsc", first_.tsc);
    visit("clock.first_ns", first_.ns);
    visit("clock.latest_tsc", latest_.tsc);
    visit("clock.latest_ns", latest_.ns);
    visit("clock.hz", hz_);
    visit("clock.readings", readings_);
  }

 private:
  struct Reading {
    std::uint64_t tsc;
    std::uint64_t ns;
  };

  std::uint64_t hz_;
  Reading first_;
  Reading latest_;
  std::uint64_t readings_ = 0;
};

}  // namespace dcmt::recorder

// Random choices that depend on a seed alone, on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace dcmt::fuzz {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t bits() { return engine_(); }
  /// 0 to `end` - 1; 0 for an `end` of 0.
  std::uint64_t below(std::uint64_t end) { return end == 0 ? 0 : engine_() % end; }
  /// True in `percent` of 100 cases.
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

  /// A number at which code likes to break, or any.
  std::uint64_t interesting() {
    static const std::vector<std::uint64_t> kEdges = {0,
                                                      1,
                                                      2,
                                                      7,
                                                      8,
                                                      23,
                                                      24,
                                                      0x7f,
                                                      0xff,
                                                      0xffff,
                                                      0x10000,
                                                      0x10001,
                                                      0x7fffffff,
                                                      1u << 31,
                                                      0xffffffff,
                                                      1ull << 32,
                                                      1ull << 40,
                                                      1ull << 62,
                                                      (1ull << 63) - 1,
                                                      1ull << 63,
                                                      ~0ull - 1,
                                                      ~0ull};
    return chance(80) ? pick(kEdges) : bits();
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace dcmt::fuzz

// Places of C and C++ that allocate: sampled sites that are one place in the source, and how much of them is alive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// The line that a person would name: the innermost function that is not of the runtimes of C and C++.
struct NativePlace {
  std::string function;
  std::string object;
  std::int64_t offset = 0;
  std::optional<std::string> source;
  std::optional<std::string> python;

  static constexpr std::string_view kShape = "native_place";
  static void describe(auto&& field) {
    field("function", &NativePlace::function, "without arguments; empty: the object has no name for it");
    field("object", &NativePlace::object, "path of the library or program; empty: unknown");
    field("offset", &NativePlace::offset, "bytes of the call from the begin of the function, or else of the object");
    field("source", &NativePlace::source, "file and line; null: the object has no debug information");
    field("python", &NativePlace::python, "the innermost line of the user's Python then; null: none ran");
  }
};

/// What is alive of a place, estimated from a sample.
struct NativeEstimate {
  Bytes bytes, low, high;
  std::int64_t samples = 0;

  static constexpr std::string_view kShape = "native_estimate";
  static void describe(auto&& field) {
    field("bytes", &NativeEstimate::bytes, "");
    field("low_bytes", &NativeEstimate::low, "with `high_bytes` a 95 % interval");
    field("high_bytes", &NativeEstimate::high, "");
    field("samples", &NativeEstimate::samples, "sampled allocations that are alive");
  }
};

/// The 95 % interval of a sum of weights whose variance is estimated from the weights, too: exact for equal weights.
[[nodiscard]] NativeEstimate native_estimate(double bytes, double variance, std::int64_t samples);

/// A place after a reading that found a change in it.
struct NativePoint {
  TimeNs ns;
  double bytes = 0, variance = 0, made = 0;
  double least = 0;  ///< of `bytes`, since the point before
  std::int64_t samples = 0;
};

struct NativeSeries {
  NativePlace place;
  /// The function belongs to Python, to torch or to numpy: readings of the memory find who holds what it allocates.
  bool of_objects = false;
  StackId stack;                    ///< of one of its sites
  std::vector<NativePoint> points;  ///< not empty
};

/// Most bytes at the end first.
[[nodiscard]] std::vector<NativeSeries> native_series(const TraceData& data);

}  // namespace dcmt::analyzer

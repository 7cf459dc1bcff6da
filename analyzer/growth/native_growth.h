// Growth of what C and C++ allocate, by place.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyzer/growth/native_places.h"
#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

struct NativeGrowth {
  NativePlace place;
  bool of_objects = false;
  NativeEstimate live;
  Bytes before, per_round, made;
  std::string_view unit;
  std::int64_t rounds = 0;

  static constexpr std::string_view kShape = "native_growth";
  static void describe(auto&& field) {
    field("place", &NativeGrowth::place, "");
    field("of_objects", &NativeGrowth::of_objects, "the function is one of Python, torch or numpy");
    field("live", &NativeGrowth::live, "at the end");
    field("before_bytes", &NativeGrowth::before, "that were alive when the place was seen first, an estimate");
    field("per_round_bytes", &NativeGrowth::per_round, "mean from then on");
    field("made_bytes", &NativeGrowth::made, "that the place has allocated in all, an estimate");
    field("unit", &NativeGrowth::unit, "\"step\", or \"second\" for a program without steps");
    field("rounds", &NativeGrowth::rounds, "steps or seconds, from then on");
  }
};

}  // namespace dcmt::analyzer

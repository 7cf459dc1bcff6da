// The result of `trim --json`: the trace that was written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/base/typed_id.h"

namespace dcmt::cli {

struct Trimmed {
  std::string input, output;
  Sequence after = {}, to = {};
  std::int64_t steps = 0, stretches = 0, of = 0;
  Bytes bytes = {};

  static constexpr std::string_view kShape = "trim";
  static void describe(auto&& field) {
    field("input", &Trimmed::input, "path");
    field("output", &Trimmed::output, "path of the trace that was written");
    field("after_seq", &Trimmed::after, "the window begins after this event");
    field("to_seq", &Trimmed::to, "and ends with this one");
    field("steps", &Trimmed::steps, "that end in it");
    field("stretches", &Trimmed::stretches, "that it has, as a rule steps");
    field("of_stretches", &Trimmed::of, "of the trace; of the others the new one has sums only");
    field("bytes", &Trimmed::bytes, "of the file");
  }
};

}  // namespace dcmt::cli

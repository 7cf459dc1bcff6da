// Detects memory that is not torch's and grows with each step, or all the time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/source/stored_by.h"

namespace dcmt::analyzer {

/// Bytes of one kind after a number of steps or seconds.
struct BytesAfter {
  double steps = 0;
  double bytes = 0;
};

/// The result of steady_growth().
struct SteadyGrowth {
  double per_step = 0;      ///< bytes: the median of the slopes between all points
  double from = 0, to = 0;  ///< steps
};

/// What counts as growing by similar amounts.
struct Evenness {
  double shortest = 12;                 ///< steps or seconds of all points
  double least_rise = 0.4, most = 2.5;  ///< of each part, relative to the typical rise from one part to the next
};
/// Seconds are no measure of a program's work: other work on the machine slows it down for a while.
inline constexpr Evenness kEvenInTime{.shortest = 5, .least_rise = 0.15, .most = 5};

/// Bytes per step: the median of the slopes between all pairs of points; 0 if there are none.
[[nodiscard]] double median_slope(std::span<const BytesAfter> points);

/// Detects growth of the points, which are in the order of their steps: in every part of the run except the first, by
/// similar amounts, and up to its end. What fills up and stops, jumps, or shrinks again does not count.
[[nodiscard]] std::optional<SteadyGrowth> steady_growth(std::span<const BytesAfter> points, const Evenness& even = {});

/// True if an array_holder of this type holds nodes of autograd, and no arrays: "graph", "list of graphs".
[[nodiscard]] bool is_graph(std::string_view type);

/// Growth of memory that is not torch's.
struct OutsideGrowth {
  std::string kind;
  std::optional<std::string> holder, place, type, file;
  std::string_view unit = "step";
  std::int64_t steps = 0;
  Bytes per_step, before, after;
  std::optional<std::int64_t> arrays;
  std::vector<StoringStatement> stored_by, called_at;

  static constexpr std::string_view kShape = "outside_growth";
  static void describe(auto&& field) {
    field("kind", &OutsideGrowth::kind,
          "\"numpy\" (arrays), \"graph\" (nodes of autograd), else the name of a memory_class: \"malloc\", \"python\", "
          "\"stacks\", \"shared tensors\", \"shared "
          "memory\", \"files\", \"other\"");
    field("holder", &OutsideGrowth::holder, "of arrays and nodes: what holds them, as \"main: rows\"");
    field("place", &OutsideGrowth::place, "where the frame stood that is the root of this path");
    field("type", &OutsideGrowth::type, "of the holder, as \"list\"; null: a variable");
    field("file", &OutsideGrowth::file, "of the largest mapping of this kind");
    field("unit", &OutsideGrowth::unit, "\"step\", or \"second\" for a program without steps");
    field("steps", &OutsideGrowth::steps, "or seconds, from the first reading of the classes to the last");
    field("per_step_bytes", &OutsideGrowth::per_step, "the median of the slopes between samples");
    field("before_bytes", &OutsideGrowth::before, "of the kind, without torch's, at the first reading");
    field("after_bytes", &OutsideGrowth::after, "the same at the last; of arrays and nodes, those that are held");
    field("arrays", &OutsideGrowth::arrays, "or nodes, that are held");
    field("stored_by", &OutsideGrowth::stored_by,
          "statements that may have put them into the holder, found by their text in the user's files");
    field("called_at", &OutsideGrowth::called_at,
          "lines of the user's files that call the functions in which these statements stand");
  }
};

}  // namespace dcmt::analyzer

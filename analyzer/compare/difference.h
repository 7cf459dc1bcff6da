// What differs between two runs of a program: `diff`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/compare/graph_difference.h"
#include "analyzer/compare/lifetimes.h"
#include "analyzer/compare/memory_facts.h"

namespace dcmt::analyzer {

/// A line of the program whose bytes at a peak differ.
struct LineDifference {
  std::string file, function, caller, holder;
  std::int64_t line = 0, change = 0;
  Bytes before;
  double share = 0;  ///< part of the growth of all lines, or of their decrease

  static constexpr std::string_view kShape = "line_difference";
  static void describe(auto&& field) {
    field("file", &LineDifference::file, "as the later trace has it; empty: not known, or the line is gone");
    field("line", &LineDifference::line, "");
    field("function", &LineDifference::function, "");
    field("caller", &LineDifference::caller, "the user's frame around it; empty: none");
    field("holder", &LineDifference::holder, "what holds the bytes; empty: not known");
    field("before_bytes", &LineDifference::before, "");
    field("change", &LineDifference::change, "bytes");
    field("share", &LineDifference::share, "of what lines changed in this direction, 0 to 1");
  }
};

/// A torch.nn.Module whose bytes at a peak differ.
struct ModuleDifference {
  std::string module;
  Bytes before, after;

  [[nodiscard]] std::int64_t change() const { return after.value - before.value; }

  static constexpr std::string_view kShape = "module_difference";
  static void describe(auto&& field) {
    field("module", &ModuleDifference::module, "\"model.layers.3.mlp\"; empty: what no module allocated");
    field("before_bytes", &ModuleDifference::before, "");
    field("after_bytes", &ModuleDifference::after, "");
  }
};

struct NumberDifference {
  std::string name;  ///< "peak.forward"
  std::optional<std::int64_t> before, after;
  std::vector<LineDifference> lines;  ///< of a peak: the lines that explain most of the change first
  std::string_view unit = kBytes;
  std::vector<ModuleDifference> modules = {};  ///< of a peak: those that differ, the largest change first

  static constexpr std::string_view kBytes = "bytes", kCount = "count";

  [[nodiscard]] std::int64_t change() const { return after.value_or(0) - before.value_or(0); }

  static constexpr std::string_view kShape = "number_difference";
  static void describe(auto&& field) {
    field("name", &NumberDifference::name,
          "\"peak.PHASE\", \"peak\", \"reserved\", \"growth.step\", \"peak.KIND\" of another kind of device, "
          "\"residual.bytes\", or a count as \"gathers\"");
    field("before", &NumberDifference::before, "null: the run does not have it");
    field("after", &NumberDifference::after, "");
    field("change", &NumberDifference::change, "");
    field("unit", &NumberDifference::unit, "\"bytes\", \"count\"");
    field("lines", &NumberDifference::lines, "of a peak, what explains most of the change first");
    field("modules", &NumberDifference::modules,
          "of a peak, those that differ, the largest change first; empty if no module is known");
  }
};

/// The peak of one step that both runs have.
struct StepDifference {
  std::int64_t step = 0;
  Bytes before, after;

  static constexpr std::string_view kShape = "step_difference";
  static void describe(auto&& field) {
    field("step", &StepDifference::step, "");
    field("before_bytes", &StepDifference::before, "peak of the step");
    field("after_bytes", &StepDifference::after, "");
  }
};

struct FindingChange {
  ChangeKind became = ChangeKind::kCame;
  std::string title, holder, file;
  std::int64_t line = 0;
  Bytes before, after;

  static constexpr std::string_view kShape = "finding_change";
  static void describe(auto&& field) {
    field("became", &FindingChange::became, "\"came\", \"went\", \"grew\", \"shrank\"");
    field("title", &FindingChange::title, "");
    field("holder", &FindingChange::holder, "empty: not known");
    field("file", &FindingChange::file, "where its storages were made; empty: not known");
    field("line", &FindingChange::line, "");
    field("before_bytes", &FindingChange::before, "0: it was not there");
    field("after_bytes", &FindingChange::after, "");
  }
};

/// How the operators of the last complete steps compare.
struct OrderDifference {
  std::int64_t before = 0, after = 0;     ///< number of operators
  std::optional<std::int64_t> first;      ///< position of the first operator that differs, from 1; nullopt: same order
  std::string first_before, first_after;  ///< the names of these operators; empty: the step has ended
  std::optional<std::int64_t> lifetimes;  ///< with the same order: the first operator after which other bytes are alive
  std::string lifetimes_at;               ///< its name
  std::int64_t lifetimes_change = 0;      ///< bytes

  static constexpr std::string_view kShape = "order_difference";
  static void describe(auto&& field) {
    field("before", &OrderDifference::before, "operators in the last step that ended");
    field("after", &OrderDifference::after, "");
    field("first", &OrderDifference::first, "that differs, from 1; null: the order is identical");
    field("first_before", &OrderDifference::first_before, "its name; empty: the step has ended there");
    field("first_after", &OrderDifference::first_after, "");
    field("lifetimes", &OrderDifference::lifetimes,
          "of one order: the first operator at whose end other bytes are allocated; null: none");
    field("lifetimes_at", &OrderDifference::lifetimes_at, "its name");
    field("lifetimes_change", &OrderDifference::lifetimes_change, "bytes");
  }
};

/// The difference of two traces. In runs with ranks, both traces are of the same rank.
struct Difference {
  std::string before, after;  ///< labels
  std::int64_t rank = -1;
  std::string device;
  OrderDifference order;
  std::vector<NumberDifference> numbers;  ///< numbers that differ, the largest change of a peak first
  std::vector<StepDifference> steps;      ///< steps whose peaks differ
  std::int64_t steps_before = 0, steps_after = 0;
  std::vector<FindingChange> findings;
  LifetimeHistograms lives;
  GraphDifference graph;
  std::int64_t equal = 0;  ///< count of numbers that do not differ

  static constexpr std::string_view kShape = "difference";
  static void describe(auto&& field) {
    field("before", &Difference::before, "label");
    field("after", &Difference::after, "label");
    field("rank", &Difference::rank, "-1: none");
    field("device", &Difference::device, "its kind, of the peaks by phase and step: \"cpu\", \"cuda\"");
    field("order", &Difference::order, "");
    field("numbers", &Difference::numbers, "that differ; peaks first, by the size of their change");
    field("equal", &Difference::equal, "numbers that do not differ");
    field("steps", &Difference::steps, "that both have and whose peaks differ");
    field("steps_before", &Difference::steps_before, "that ended");
    field("steps_after", &Difference::steps_after, "");
    field("findings", &Difference::findings, "that came, went, grew or shrank");
    field("lives", &Difference::lives, "how long the blocks of the device lived");
    field("graph", &Difference::graph, "what autograd's graph had saved at the peak that differs most");
  }

  [[nodiscard]] bool equal_runs() const {
    return numbers.empty() && steps.empty() && findings.empty() && !order.first && !order.lifetimes && !lives.differ();
  }
};

/// One row of the table of all runs.
struct RunRow {
  std::string label, device;
  std::int64_t rank = -1, steps = 0;
  Bytes peak;
  std::optional<Bytes> reserved;
  std::optional<TimeNs> step_time;
  std::int64_t change = 0;  ///< of the peak, relative to the first run
  std::string peak_part;    ///< "backward"
  std::optional<std::int64_t> peak_step;

  static constexpr std::string_view kShape = "run_row";
  static void describe(auto&& field) {
    field("label", &RunRow::label, "");
    field("device", &RunRow::device, "");
    field("rank", &RunRow::rank, "that has the highest peak; -1: none");
    field("steps", &RunRow::steps, "");
    field("peak_bytes", &RunRow::peak, "");
    field("reserved_bytes", &RunRow::reserved, "null: not known");
    field("step_ns", &RunRow::step_time, "the median of the steps after the first, recorded; null: there are none");
    field("change", &RunRow::change, "of the peak, to the first run, bytes");
    field("peak_part", &RunRow::peak_part, "the part of the run that has the peak, as in the names of numbers");
    field("peak_step", &RunRow::peak_step, "null: outside of steps");
  }
};

/// Ranks that only one of two runs has. They are compared with nothing.
struct LoneRanks {
  std::string run, lacking;  ///< labels
  std::vector<std::int64_t> ranks;

  static constexpr std::string_view kShape = "lone_ranks";
  static void describe(auto&& field) {
    field("run", &LoneRanks::run, "label of the run that has them");
    field("lacking", &LoneRanks::lacking, "label of the run that does not");
    field("ranks", &LoneRanks::ranks, "-1: a process without a rank");
  }
};

struct RunsDifference {
  std::vector<RunRow> runs;
  std::vector<Difference> differences;  ///< each later run against the first one, by rank
  std::vector<LoneRanks> lone_ranks;    ///< of the first run, or of a later run compared with it
  std::vector<std::string> left_out;    ///< paths of traces whose processes do not train

  static constexpr std::string_view kShape = "diff";
  static void describe(auto&& field) {
    field("runs", &RunsDifference::runs, "one a run and kind of device");
    field("differences", &RunsDifference::differences,
          "of each later run to the first one, of each rank that both have");
    field("lone_ranks", &RunsDifference::lone_ranks, "of the first run, or of a later one: they are not compared");
    field("left_out", &RunsDifference::left_out,
          "paths of traces whose process did less than another one of its rank: they are not compared");
  }
};

/// The traces of one run.
struct LabelledRun {
  std::string label;
  std::vector<MemoryFacts> ranks;
};

[[nodiscard]] Difference difference_of(const MemoryFacts& before, const MemoryFacts& after);
/// Compares at least two runs, each with at least one trace. Only processes that train are compared (trainers_of).
[[nodiscard]] RunsDifference differences_of(std::vector<LabelledRun> runs);

}  // namespace dcmt::analyzer

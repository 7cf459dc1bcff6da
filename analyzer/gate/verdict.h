// The result of `check`: a recording against its baseline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/gate/fact.h"

namespace dcmt::gate {

enum class Outcome {
  kPassed,
  kFailed,
  kNotComparable,
  kUnfit,  ///< nothing can be concluded from the recording
};

enum class State {
  kEqual,
  kWithin,    ///< the difference is within the spread of recordings of one program
  kGrew,      ///< fails
  kGained,    ///< is lower; fails if the check is strict
  kChanged,   ///< a count differs; fails
  kVacuous,   ///< a path that ran before did not run; fails
  kRetained,  ///< grew by no more than an expected retention
  kNew,       ///< the baseline does not have it; fails if the check is strict
  kAbsent,    ///< is absent, as in some recordings of the baseline
};

[[nodiscard]] std::string_view name_of(Outcome outcome);
[[nodiscard]] std::string_view name_of(State state);
[[nodiscard]] std::string_view name_of(Unit unit);

/// The line that a difference comes from.
struct Cause {
  std::string file;  ///< empty: unknown
  std::int64_t line = 0;
  std::string function, caller, holder;
  std::int64_t bytes = 0;                 ///< growth since the baseline
  double share = 0;                       ///< part of the change of all lines in this direction
  std::optional<std::int64_t> finding;    ///< its number in the report
  std::optional<std::string> title, fix;  ///< of the finding

  static constexpr std::string_view kShape = "check_cause";
  static void describe(auto&& field) {
    field("file", &Cause::file, "as the trace has it; empty: not known");
    field("line", &Cause::line, "");
    field("function", &Cause::function, "");
    field("caller", &Cause::caller, "the user's frame around it; empty: none");
    field("holder", &Cause::holder, "what holds the bytes; empty: not known");
    field("bytes", &Cause::bytes, "more than in the baseline");
    field("share", &Cause::share, "of what lines have more (of a gain: less) than in the baseline, 0 to 1");
    field("finding", &Cause::finding, "number in the report of this trace");
    field("title", &Cause::title, "of the finding");
    field("fix", &Cause::fix, "of the finding");
  }
};

struct CheckedFact {
  std::string name;
  Unit unit = Unit::kBytes;
  std::optional<std::int64_t> baseline;
  std::int64_t now = 0, tolerance = 0;
  State state = State::kEqual;
  bool failed = false;
  std::int64_t rank = -1;
  std::optional<std::int64_t> anchor;
  std::string since;
  std::vector<Cause> causes;  ///< the cause that explains most first

  [[nodiscard]] std::int64_t change() const { return now - baseline.value_or(0); }
  /// True if the value is as recordings of the same program may have it.
  [[nodiscard]] bool is_as_before() const {
    return state == State::kEqual || state == State::kWithin || state == State::kAbsent;
  }

  static constexpr std::string_view kShape = "checked_fact";
  static void describe(auto&& field) {
    field("name", &CheckedFact::name, "as in the baseline, \"peak.forward\"");
    field("unit", &CheckedFact::unit, "\"bytes\", \"count\"");
    field("baseline", &CheckedFact::baseline, "null: the baseline does not have it");
    field("now", &CheckedFact::now, "");
    field("change", &CheckedFact::change, "");
    field("tolerance", &CheckedFact::tolerance, "what recordings of one program differed by, and what is expected");
    field("state", &CheckedFact::state,
          "\"equal\", \"within tolerance\", \"grew\", \"gained\", \"changed\", \"vacuous\", \"retained\", \"new\", "
          "\"absent\" (and `now` is 0)");
    field("failed", &CheckedFact::failed, "");
    field("rank", &CheckedFact::rank, "of several, the one that it is of; -1: none");
    field("anchor", &CheckedFact::anchor, "its value on the day `since`; updates leave it");
    field("since", &CheckedFact::since, "");
    field("causes", &CheckedFact::causes, "of a difference, what explains most of it first");
  }
};

struct Verdict {
  std::string baseline;  ///< path of the file
  std::string section;
  Outcome outcome = Outcome::kPassed;
  std::vector<std::string> reasons;   ///< why the recording is not comparable, unfit, or vacuous; one sentence each
  std::vector<std::string> warnings;  ///< one sentence each
  std::vector<CheckedFact> facts;     ///< in the order of the baseline
  std::string order;                  ///< a sentence about the order of operators
  std::string ran;                    ///< the code paths that ran
  std::vector<std::string> traces;
  std::int64_t recordings = 1;  ///< the values are those of the recordings that are nearest to the baseline

  static constexpr std::string_view kShape = "verdict";
  static void describe(auto&& field) {
    field("baseline", &Verdict::baseline, "path");
    field("section", &Verdict::section, "kind of device and version of torch");
    field("outcome", &Verdict::outcome, "\"passed\", \"failed\", \"not comparable\", \"unfit\"");
    field("reasons", &Verdict::reasons, "of an outcome that no fact explains");
    field("warnings", &Verdict::warnings, "");
    field("facts", &Verdict::facts, "in the order of the baseline");
    field("order", &Verdict::order, "one sentence on the operators of a step");
    field("ran", &Verdict::ran, "one sentence on what gathered and released");
    field("traces", &Verdict::traces, "paths");
    field("recordings", &Verdict::recordings, "of these, the values nearest to the baseline");
  }

  [[nodiscard]] std::int64_t failed_facts() const;
};

/// The result of one call of `check`.
struct Checks {
  std::vector<Verdict> checks;

  static constexpr std::string_view kShape = "check";
  static void describe(auto&& field) { field("checks", &Checks::checks, "one for each baseline"); }
};

}  // namespace dcmt::gate

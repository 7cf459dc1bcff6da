// The facts of one rank's trace that are compared with other ranks. They are small and own their texts, so that the
// traces of many ranks can be read one after the other without keeping them in memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/model/values.h"
#include "analyzer/ranks/rank_memory.h"

namespace dcmt::analyzer {

/// The peak of one device.
struct RankPeak {
  std::string device;
  Bytes bytes;
  Sequence at;
  TimeNs at_ns;
  std::optional<std::int64_t> step;  ///< nullopt: outside of all steps
  Bytes predicted;                   ///< the peak if every residual storage were freed at its release

  static constexpr std::string_view kShape = "rank_peak";
  static void describe(auto&& field) {
    field("device", &RankPeak::device, "");
    field("peak_bytes", &RankPeak::bytes, "allocated, as requested");
    field(
        "at", [](const RankPeak& peak) { return model::point_of(peak.at, peak.at_ns); }, "first reached there");
    field("step", &RankPeak::step, "");
    field("predicted_bytes", &RankPeak::predicted, "the peak with every residual storage freed at its release");
  }
};

/// A gather, with facts of the cycle that it begins.
struct RankGather {
  Key key;
  std::optional<Bytes> bytes;            ///< of the gathered storage
  std::optional<std::int64_t> declared;  ///< declared uses, from the cycle's first release
  std::optional<bool> persistent;        ///< nullopt: no release of the cycle says it
  Sequence at;
  std::uint32_t place = 0;  ///< index in RankFacts::places
};

/// The operator and the line of a gather.
struct GatherPlace {
  std::string operator_name, site;
};

/// The gathers of a step, in order.
struct RankStep {
  std::optional<std::int64_t> number;  ///< nullopt: the trace has no steps
  bool ended = true;                   ///< false: the trace ends within it
  std::vector<RankGather> gathers;
};

/// The counts of a parameter over the whole run, including steps with sums only.
struct RankParameter {
  std::int64_t gathers = 0, final_releases = 0;
  std::int64_t residual = 0;  ///< final releases that left bytes
  Bytes residual_bytes;       ///< bytes that one of them left: the maximum of the trace's rows, else the mean
  bool persistent = false;
};

/// A finding in a form that other ranks may have, too: equal `identity` means the same finding.
struct RankFinding {
  FindingIdentity identity;
  std::string title, place;  ///< place of the release, the gather, or the growth; empty: there is none
  Bytes bytes;
};

struct RankFacts {
  std::string path;
  std::int64_t rank = -1, world_size = -1;
  std::vector<RankPeak> devices;  ///< GPUs first, then the highest peak
  RankMemory memory;              ///< of the first device
  std::vector<RankFinding> findings;
  std::map<Key, RankParameter> parameters;
  std::map<std::int64_t, std::string> mechanisms;  ///< by graph; graphs of functions that gather are below 0
  std::map<Key, std::string> names;                ///< of parameters that functions that gather name
  std::vector<RankStep> steps;                     ///< steps with all their rows, by number
  std::optional<std::int64_t> first_step;          ///< number of the first step; nullopt: the trace has none
  std::int64_t steps_ended = 0;
  std::int64_t steps_left_out = 0;  ///< number of `steps` left out: a summary has only the last ones
  std::int64_t lost = 0;            ///< number of lost records
  std::vector<GatherPlace> places;

  [[nodiscard]] std::int64_t gathers() const;
  [[nodiscard]] std::int64_t final_releases() const;
  [[nodiscard]] std::int64_t residual_keys() const;
  /// The sum over the residual parameters; each counts once.
  [[nodiscard]] Bytes residual_bytes() const;
  [[nodiscard]] std::vector<Key> residual() const;

  static constexpr std::string_view kShape = "rank";
  static void describe(auto&& field) {
    field("path", &RankFacts::path, "of the trace");
    field("rank", &RankFacts::rank, "");
    field("devices", &RankFacts::devices, "GPUs before the CPU, of several the highest peak first");
    field("residual", &RankFacts::residual, "parameters of which a final release left bytes, over the whole run");
    field("residual_bytes", &RankFacts::residual_bytes, "of them, each once");
    field("final_releases", &RankFacts::final_releases, "of the whole run, like the next two");
    field("gathers", &RankFacts::gathers, "");
    field("steps", &RankFacts::steps_ended, "that ended");
    field("lost", &RankFacts::lost, "records");
  }
};

[[nodiscard]] RankFacts rank_facts(const Analysis& analysis);

}  // namespace dcmt::analyzer

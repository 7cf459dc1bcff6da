// The facts about a stretch of a run that are compared with a replay.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/model/values.h"

namespace dcmt::analyzer {

/// The facts about a release.
struct ReleaseFacts {
  Key key;
  StorageId storage;
  Verdict verdict = Verdict::kCounted;
  bool residual = false;
  std::optional<Bytes> bytes_before, bytes_after, bytes_settled;
  Bytes allocated;  ///< on the device, at the end of the release
  std::int64_t reads = 0;
  /// The kinds of names that a census found, each once: "local" for a frame's own variables, "cell" for variables
  /// shared by functions; "unnamed" if references are unexplained. Empty: not inspected.
  std::vector<std::string> holder_kinds;

  static constexpr std::string_view kShape = "plan_release";
  static void describe(auto&& field) {
    field("key", &ReleaseFacts::key, "");
    field(
        "storage", [](const ReleaseFacts& release) { return model::given(release.storage); }, "");
    field("verdict", &ReleaseFacts::verdict, "a key of `verdict_counts`");
    field("residual", &ReleaseFacts::residual, "");
    field("bytes_before", &ReleaseFacts::bytes_before, "");
    field("bytes_after", &ReleaseFacts::bytes_after, "");
    field("bytes_settled", &ReleaseFacts::bytes_settled, "");
    field("allocated_bytes", &ReleaseFacts::allocated, "on the device, right after the release");
    field("reads", &ReleaseFacts::reads, "after it, before the next gather");
    field("holder_kinds", &ReleaseFacts::holder_kinds, "\"local\", \"cell\", \"unnamed\"; empty: not inspected");
  }
};

/// The facts about a finding: its items in the region.
struct FindingFacts {
  std::int64_t number = 0;
  std::string rule;
  std::vector<std::pair<Key, Bytes>> items;  ///< sorted
};

/// All facts about a stretch of a run.
struct ReplayFacts {
  std::vector<ReleaseFacts> releases;  ///< in order
  std::vector<FindingFacts> findings;
  Bytes peak;
  std::optional<Bytes> predicted_peak;  ///< the peak if every residual storage were freed at its release

  static constexpr std::string_view kShape = "plan_facts";
  static void describe(auto&& field) {
    field("releases", &ReplayFacts::releases, "in order");
    field("peak_bytes", &ReplayFacts::peak, "");
    field("predicted_peak_bytes", &ReplayFacts::predicted_peak, "");
  }
};

/// False for a release that an error stopped, that has nothing to release, or that another mark inside of it replaces.
[[nodiscard]] bool replayable(const ReleaseRow& row);

/// The facts of [from, to). `overhead` is subtracted from allocated bytes.
[[nodiscard]] ReplayFacts facts_in(const Analysis& analysis, StringId device, Sequence from, Sequence to,
                                   Bytes overhead);

}  // namespace dcmt::analyzer

// Remarks: facts for the reader that nobody has to fix.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/rules/left_gathered.h"

namespace dcmt::analyzer {

enum class RemarkKind {
  kPool,             ///< buffers that later gathers reuse: bytes kept by design
  kStaysGathered,    ///< gathered in a forward without a known backward of it: an evaluation, an exception
  kLate,             ///< releases whose storage another thread still held for a while
  kUsesLeft,         ///< more uses were declared than releases ran, but the storage was freed
  kUntracked,        ///< storages that were not tracked because there was no space
  kFirstMissed,      ///< releases of parameters whose gathers were not observed
  kUnknown,          ///< verdicts that lost records may have changed
  kKept,             ///< storages of an earlier step at the peak or at the last reading, with their holder
  kGrows,            ///< memory grows, and no holder was found except possibly garbage in cycles
  kGrowsUnfollowed,  ///< storages that are too small to be followed become more
  kStepsInTurn,      ///< several optimizers step in turn, and each one's step counts
  kSetting,          ///< a setting of torch's allocator that had no effect
};

struct Remark {
  RemarkKind kind = RemarkKind::kPool;
  std::int64_t count = 0;
  std::int64_t parameters = 0;
  std::int64_t releases = 0;
  Bytes bytes = {};
  Bytes per_step = {};              ///< for kGrows and kGrowsUnfollowed: a round; else 0
  std::string_view round = "step";  ///< for kGrows: what a round is
  /// For kKept and kGrows: where most of them were made; for kStepsInTurn: the lines of the steps; for kSetting: what
  /// was set.
  std::string place = {};
  std::string why = {};  ///< for kSetting
  std::optional<std::string> holder = {};
  bool unnamed = false;       ///< for kKept: made in the first step or before; no later line names the variable
  bool by_calls = false;      ///< for kKept: the program has no steps, so `steps` are calls
  std::int64_t steps = 0;     ///< for kKept: steps from the first one's creation to the peak; 0: of the last reading
  TimeNs longest = {};        ///< for kLate: from a release to its free, at most
  std::int64_t seen = 0;      ///< for kGrows: storages that existed when the memory was read
  std::int64_t searched = 0;  ///< for kGrows: those to which nothing led when all objects were read at the end

  /// The remark as one sentence.
  [[nodiscard]] std::string text() const;

  static constexpr std::string_view kShape = "remark";
  static void describe(auto&& field) {
    field("kind", &Remark::kind,
          "\"pool\", \"stays_gathered\", \"late\", \"uses_left\", \"untracked\", \"first_missed\", \"unknown\", "
          "\"kept\", \"grows\", \"grows_unfollowed\", \"steps_in_turn\", "
          "\"setting\"");
    field("count", &Remark::count,
          "of a pool its buffers, of \"stays_gathered\" gathers, of \"kept\" and \"grows\" storages, else releases");
    field("parameters", &Remark::parameters, "distinct ones; 0 of a pool");
    field("releases", &Remark::releases, "of a pool: those that gave a buffer back to it");
    field("bytes", &Remark::bytes, "kept; of \"late\" at the peak; 0 where it is of none, or not known");
    field("holder", &Remark::holder,
          "of \"kept\" the variable or container, as \"main: metric._computed\"; of \"late\" the thread; else null");
    field("text", &Remark::text, "one sentence");
  }
};

[[nodiscard]] std::string_view name_of(RemarkKind kind);

[[nodiscard]] std::vector<Remark> remarks(const TraceData& data, const Releases& releases);

}  // namespace dcmt::analyzer

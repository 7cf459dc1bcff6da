// The releases of a trace and the cycles of its parameters, as rows.
#pragma once

#include <string>
#include <vector>

#include "analyzer/model/holders.h"
#include "analyzer/model/range.h"
#include "analyzer/releases/releases.h"

namespace dcmt::model {

struct LastTouch {
  std::optional<std::string_view> kernel;
  std::optional<std::int64_t> launches;
  TimeNs before_release;

  static constexpr std::string_view kShape = "touch";
  static void describe(auto&& field) {
    field(
        "kernel", &LastTouch::kernel,
        "the last one that got an address in the storage; it can lie unused in a structure that the kernel was given");
    field("launches", &LastTouch::launches, "since the gather, that got one");
    field("ns_before_release", &LastTouch::before_release, "from its launch to the release");
  }
};

/// When the bytes of a release were freed.
enum class GoneWhen {
  kNotAsked,     ///< the release was not meant to free them
  kAtOnce,       ///< during the release
  kLater,        ///< after the release
  kNotToTheEnd,  ///< not before the end of the trace
};

/// A release. Expensive members are computed when they are called.
class Release {
 public:
  Release(const TraceData& data, const analyzer::ReleaseRow& row) : data_(&data), row_(&row) {}

  [[nodiscard]] Mark release() const { return mark_of(*data_, *row_->mark); }
  [[nodiscard]] std::optional<Mark> gather() const { return mark_of(*data_, row_->gather); }
  [[nodiscard]] analyzer::Key key() const { return row_->key(); }
  [[nodiscard]] std::int64_t cycle() const { return row_->mark->cycle; }
  [[nodiscard]] std::optional<std::int64_t> step() const { return number_of(row_->step); }
  [[nodiscard]] analyzer::Verdict verdict() const { return row_->verdict; }
  [[nodiscard]] bool residual() const { return row_->residual; }
  [[nodiscard]] bool metadata_only() const { return row_->metadata_only; }
  [[nodiscard]] bool final() const { return row_->mark->flags.final; }
  [[nodiscard]] bool persistent() const { return row_->mark->flags.persistent; }
  [[nodiscard]] bool mismatch() const { return row_->mark->flags.mismatch; }
  [[nodiscard]] bool no_gather() const { return row_->mark->flags.no_gather; }
  [[nodiscard]] bool shared() const { return row_->mark->flags.shared; }
  [[nodiscard]] bool function() const { return row_->mark->flags.function; }
  [[nodiscard]] bool explicit_mark() const { return row_->mark->flags.explicit_mark; }
  [[nodiscard]] bool unwound() const { return row_->mark->flags.unwound; }
  [[nodiscard]] std::optional<std::int64_t> declared() const { return row_->mark->declared; }
  [[nodiscard]] std::optional<std::int64_t> remaining() const { return row_->mark->remaining; }
  [[nodiscard]] std::optional<StorageId> storage() const { return given(row_->mark->storage); }
  [[nodiscard]] std::optional<Bytes> bytes_before() const { return row_->mark->bytes; }
  [[nodiscard]] std::optional<Bytes> bytes_after() const { return row_->mark->bytes_after; }
  [[nodiscard]] std::optional<Bytes> bytes_settled() const { return row_->mark->bytes_settled; }
  [[nodiscard]] std::optional<RunPoint> settled() const {
    return point_of(row_->mark->settled_seq, row_->mark->settled_ns);
  }
  [[nodiscard]] std::optional<Gone> gone() const { return gone_of(*data_, row_->gone); }
  [[nodiscard]] analyzer::OperatorCount operators_held() const { return row_->operators_held; }
  [[nodiscard]] std::optional<analyzer::LaunchCoverage> launches() const { return row_->launches(); }
  [[nodiscard]] std::optional<LastTouch> last_touch() const;
  [[nodiscard]] std::vector<Read> reads() const { return reads_of(*data_, row_->reads()); }
  [[nodiscard]] std::optional<analyzer::Holders> holders() const {
    return row_->holders() != nullptr ? std::optional(*row_->holders()) : std::nullopt;
  }

  static constexpr std::string_view kShape = "release";
  static void describe(auto&& field) {
    field("release", &Release::release, "");
    field("gather", &Release::gather, "of the same cycle");
    field("key", &Release::key, "");
    field("cycle", &Release::cycle, "which gather of the parameter, from 1");
    field("step", &Release::step, "");
    field("verdict", &Release::verdict, "a key of `totals`, \"freed\" to \"unknown\"");
    field("residual", &Release::residual, "");
    field("metadata_only", &Release::metadata_only, "");
    field("final", &Release::final, "it brought the use count to zero");
    field("persistent", &Release::persistent, "");
    field("mismatch", &Release::mismatch, "the declared count differs from the first one of the cycle");
    field("no_gather", &Release::no_gather, "");
    field("shared", &Release::shared, "another parameter's gather still used the storage");
    field("function", &Release::function, "by a Python function, not an operator");
    field("explicit", &Release::explicit_mark, "from a mark of the program, not a wrapped operator");
    field("unwound", &Release::unwound, "the operator threw");
    field("declared", &Release::declared, "uses");
    field("remaining", &Release::remaining, "uses left");
    field("storage", &Release::storage, "");
    field("bytes_before", &Release::bytes_before, "");
    field("bytes_after", &Release::bytes_after, "right after the operator");
    field("bytes_settled", &Release::bytes_settled,
          "at the thread's next activity; null if there was none, or the storage is untracked");
    field("settled", &Release::settled, "");
    field("gone", &Release::gone, "when the bytes went");
    field("operators_held", &Release::operators_held, "from the release until then");
    field("launches", &Release::launches,
          "what the GPU was given to do from the release until then or the next gather; null: the CPU's, or "
          "launches were not inspected");
    field("last_touch", &Release::last_touch,
          "of kernels, before a final release; null: not recorded (only `full` on a GPU records it)");
    field("reads", &Release::reads, "after the release, before the next gather, by operators and kernels");
    field("holders", &Release::holders, "null: no census was taken");
  }

  /// Only for text output.
  [[nodiscard]] std::string_view operator_name() const { return data_->text(row_->mark->name); }
  [[nodiscard]] std::string graph_name() const;
  [[nodiscard]] GoneWhen gone_when() const;
  /// The time from the release to the end of the bytes.
  [[nodiscard]] TimeNs held() const { return TimeNs(row_->gone->ns().value - row_->at_ns().value); }

 private:
  const TraceData* data_;
  const analyzer::ReleaseRow* row_;
};

struct Countdown {
  MarkId mark;
  std::optional<std::int64_t> remaining;
  analyzer::Verdict verdict = analyzer::Verdict::kCounted;

  static constexpr std::string_view kShape = "countdown";
  static void describe(auto&& field) {
    field("mark", &Countdown::mark, "of the release");
    field("remaining", &Countdown::remaining, "");
    field("verdict", &Countdown::verdict, "");
  }
};

/// The cycle of a parameter: from one gather to the next.
struct Cycle {
  analyzer::Key key;
  std::int64_t cycle = 0;
  Mark gather;
  std::int64_t waits = 0;
  bool persistent = false;
  std::vector<Countdown> releases;

  static constexpr std::string_view kShape = "cycle";
  static void describe(auto&& field) {
    field("key", &Cycle::key, "");
    field("cycle", &Cycle::cycle, "");
    field("gather", &Cycle::gather, "");
    field("waits", &Cycle::waits, "");
    field("persistent", &Cycle::persistent, "");
    field("releases", &Cycle::releases, "in order, down to 0");
  }
};

/// The number of releases by verdict. The derived types give it a shape.
struct VerdictCounts {
  std::int64_t freed = 0, late = 0, never = 0, early = 0, counted = 0, persistent = 0, no_gather = 0, shared = 0;
  std::int64_t recycled = 0, untracked = 0, unknown = 0;

  void add(analyzer::Verdict verdict);
};

struct Totals : VerdictCounts {
  std::int64_t total = 0, residual = 0, metadata_only = 0;

  static constexpr std::string_view kShape = "totals";
  static void describe(auto&& field) {
    field("total", &Totals::total, "releases");
    field("freed", &Totals::freed,
          "bytes gone before the thread's next activity: an operator, the birth of a followed block, a launch");
    field("late", &Totals::late, "gone by the end of the step");
    field("never", &Totals::never, "alive at the end of the step");
    field("early", &Totals::early, "read before the next gather");
    field("counted", &Totals::counted, "uses were left");
    field("persistent", &Totals::persistent, "");
    field("no_gather", &Totals::no_gather, "");
    field("shared", &Totals::shared, "");
    field("recycled", &Totals::recycled,
          "bytes kept by design: the buffer went to another gather, or waits for one in a pool");
    field("untracked", &Totals::untracked, "there was no room to follow the storage: nothing is known of its bytes");
    field("unknown", &Totals::unknown,
          "the storage is not in the trace, or records are lost that may be its end or another gather");
    field("residual", &Totals::residual,
          "final releases with bytes at the thread's next activity, but for recycled ones");
    field("metadata_only", &Totals::metadata_only, "the registered tensor was re-pointed, the old bytes stayed");
  }
};

/// Results of the releases that a report judges: final releases of parameters that are not persistent, after a gather.
struct FinalReleases {
  std::int64_t total = 0, freed = 0, recycled = 0, not_known = 0;
};

[[nodiscard]] Range<Release> releases_of(const TraceData& data, const analyzer::Releases& releases);
[[nodiscard]] Range<Cycle> cycles_of(const TraceData& data, const analyzer::Releases& releases);
[[nodiscard]] Totals totals_of(const analyzer::Releases& releases);
[[nodiscard]] FinalReleases final_releases_of(const analyzer::Releases& releases);

}  // namespace dcmt::model

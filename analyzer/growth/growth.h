// Storages that one holder keeps beyond the round in which they were made. Usually, each round adds some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/growth/rounds.h"
#include "analyzer/load/trace_data.h"
#include "analyzer/source/stored_by.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

/// A storage that is alive at the end.
struct GrowingStorage {
  StorageId storage;
  Bytes bytes;
  Sequence needed_until;  ///< the program does not need it from there on
  bool frees = false;     ///< freed if this container and other growing ones drop it
  bool alone = false;     ///< freed if this container alone drops it
  /// Nothing says until when it is needed: it is taken to be so until its round ends.
  bool by_round = false;
};

struct GrowingSite {
  StackId stack;  ///< the place where they were made
  Bytes bytes;
  std::int64_t storages = 0;
};

/// The holder of what grows in a program without Python, if no reading found it: nothing but references keeps it there.
inline constexpr std::string_view kHeldByCpp = "C++";

/// The storages of a growth that were made at places with one name.
struct GrowthSite {
  std::string site;
  std::optional<std::string> called_from;
  Bytes bytes;
  std::int64_t storages = 0;

  static constexpr std::string_view kShape = "growth_site";
  static void describe(auto&& field) {
    field("site", &GrowthSite::site, "");
    field(
        "called_from", &GrowthSite::called_from,
        "the line of the user's own files that called the package where the site lies; null: the site is such a line, "
        "or none led there");
    field("bytes", &GrowthSite::bytes, "");
    field("storages", &GrowthSite::storages, "");
  }
};

/// What is said of storages that one holder keeps. In a finding about storages whose number does not grow, `rounds`
/// is 0.
struct GrowthBase {
  std::string holder;             ///< "main: probe.seen"; empty: no scan found the storages
  std::vector<std::string> also;  ///< "main: probe.labels"
  std::optional<std::string_view> place, type;
  RoundKind kind = RoundKind::kStep;
  std::int64_t rounds = 0;  ///< from the first one that added to it to the last one
  Bytes per_round, alone;
  std::int64_t count = 0, seen = 0;  ///< numbers of storages
  std::vector<GrowthSite> made_at;
  std::vector<StoringStatement> stored_by, called_at, used_at;
  std::optional<StorageId> example;

  void take(Storing&& statements) {
    stored_by = std::move(statements.statements);
    called_at = std::move(statements.calls);
    used_at = std::move(statements.uses);
  }
  [[nodiscard]] bool by_calls() const { return kind == RoundKind::kCall; }

  static constexpr std::string_view kShape = "growth";
  static void describe(auto&& field) {
    field(
        "holder", &GrowthBase::holder,
        "what holds the storages, as \"main: probe.seen\"; \"C++\": of a program without Python, no reading found it");
    field("also", &GrowthBase::also,
          "other parts of the same object that grow in the same rounds, and have some of the storages");
    field("place", &GrowthBase::place,
          "where the frame stood that is the root of this path, at the last reading; null: another root");
    field("type", &GrowthBase::type, "of the container that has them as entries, as \"list\"; null: it is none");
    field("steps", &GrowthBase::rounds, "in which it grew, to the last one; 0: it does not grow");
    field("unit", &GrowthBase::kind,
          "what is counted in `steps`: \"step\", \"backward\" or, where neither fits, \"call\" of the place that "
          "made the storages");
    field("per_step_bytes", &GrowthBase::per_round, "mean over these");
    field("by_calls", &GrowthBase::by_calls, "`unit` is \"call\"");
    field("storages", &GrowthBase::count, "alive when the program makes its last storage");
    field("seen", &GrowthBase::seen,
          "of them, those that a reading of the memory found there; the others were made at the same places");
    field("alone_bytes", &GrowthBase::alone, "bytes freed if only this holder is cleared");
    field("sites", &GrowthBase::made_at, "where they were made, most bytes first");
    field("stored_by", &GrowthBase::stored_by,
          "statements that may have put them there, found by their text in the user's files through which they were "
          "made: one is likely the one, of several nothing says which; empty: none was found");
    field("called_at", &GrowthBase::called_at,
          "lines of the user's files that call the functions in which these statements stand: those that called them "
          "when a storage was made, else found by their text; if no line of both lists names what was made, lines "
          "that pass it to a call of which nothing has the result");
    field("used_at", &GrowthBase::used_at,
          "statements of the same object that use its entries, found by their text: what they need is to stay, so "
          "`predicted_peak_bytes` is the least");
    field("example", &GrowthBase::example, "the storage of it that was made last");
  }
};

/// A growth with its storages.
struct Growth : GrowthBase {
  std::int64_t first_round = 0;          ///< number of rounds before the first one that added to it
  Bytes begun_with;                      ///< of values that larger ones have replaced: the first ones
  std::vector<GrowingStorage> storages;  ///< in the order of creation
  /// Storages that larger ones of the holder have replaced, and those of a round that has not ended. They are not in
  /// the sums, but a peak contains them.
  std::vector<GrowingStorage> beside;
  /// What the holder has of the sums of small blocks.
  std::vector<Gap> of_sums;
  std::vector<GrowingSite> sites;  ///< most bytes first
  /// When statements that use the entries had run, ascending. Empty: not known.
  std::vector<Sequence> used;
};

/// The storages of one holder, and the places where they were made.
class HeldStorages {
 public:
  void add(const Storage& storage, const GrowingStorage& growing);
  /// Adds those of another holder. What both have is freed if both let go of it.
  void add(const TraceData& data, HeldStorages&& others);
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] std::size_t count() const { return storages_.size(); }
  /// Of all bytes, the part that only several of the holders have together.
  [[nodiscard]] double shared_part() const;
  /// Fills what follows from the storages: `storages`, `count`, `alone`, `sites`, `made_at`, `example`. May be called
  /// only once.
  void move_to(const TraceData& data, Growth& growth);
  /// True if all of its storages are so small that they are tracked only where they become more.
  [[nodiscard]] bool are_small() const;
  [[nodiscard]] StorageId first() const { return storages_.front().storage; }

 private:
  std::vector<GrowingStorage> storages_;
  std::map<StackId, GrowingSite> sites_;
  Bytes bytes_, shared_;
};

/// The gaps of blocks of the storages, from the end of the round that made them: a peak does not need them there.
/// Storages that something else would hold are left out.
[[nodiscard]] std::vector<Gap> gaps_of_growth(const TraceData& data, const Growth& growth);

/// The same where each storage is needed until the next of `used`, if that is later.
[[nodiscard]] std::vector<Gap> gaps_of_used(const TraceData& data, Growth growth);

}  // namespace dcmt::analyzer

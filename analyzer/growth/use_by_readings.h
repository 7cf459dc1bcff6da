// What else than its keeper had a storage, according to readings of the memory, and until when.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/growth/growing_sites.h"
#include "analyzer/growth/next_values.h"
#include "analyzer/growth/usual_holders.h"

namespace dcmt::analyzer {

/// What a reading finds of one storage holds for the others of its series: each variable or attribute on the path has
/// them as many of its values long, and a graph has them until a backward pass is done with the node. What has only the
/// latest of a place, `states[user]` or `last.previous`, has each until as many more were made. A variable of a call
/// that an exception has ended would have ended with the call.
class UseByReadings {
 public:
  /// `next` must outlive it.
  UseByReadings(const TraceData& data, const Holding& holding, NextValues& next)
      : data_(data), holding_(holding), next_(next) {}

  /// Of a place, before its series.
  void begin(const OutlivingSite& site);
  void add(const Series& series);
  /// nullopt: no reading says it.
  [[nodiscard]] std::optional<Sequence> until(StorageId storage) const;
  /// True if something else had it, too, of which they do not say until when.
  [[nodiscard]] bool is_open(StorageId storage) const;
  /// True if a variable of a call that an exception has ended has the storage.
  [[nodiscard]] bool is_of_ended_call(const Storage& storage) const;
  /// True if the readings say until when what this variable leads to is of use.
  [[nodiscard]] bool says(const Living& living, std::string_view variable) const;

 private:
  struct Found {
    const Living* living;
    const Scan* scan;
  };
  using ByPath = std::map<std::string_view, std::vector<Found>>;

  [[nodiscard]] ByPath found(const Series& series) const;
  struct Values {
    std::size_t most = 0;
    bool exact = true;  ///< false: one fewer, for some
  };
  /// How many of its values long it has a storage. nullopt: not the same for all.
  [[nodiscard]] std::optional<Values> values_long(const NextValues::Changes& changes, const Series& series,
                                                  const std::vector<Found>& found) const;
  /// How many backward passes that are done with the node a graph has each beyond. nullopt: not the same for all.
  [[nodiscard]] static std::optional<std::size_t> passes_long(const NextValues::Changes& node,
                                                              const std::vector<Found>& found);
  void add(const Series& series, std::string_view path, const std::vector<Found>& found);
  /// What has only the latest of the place's storages.
  struct Latest {
    std::size_t most = 0;  ///< of them; 0: it may have all
    /// The first of so many has gone so many sequence numbers after the last one was made.
    std::int64_t gone_after = std::numeric_limits<std::int64_t>::max();
    bool in_order = true;  ///< it has nearly all of these: what came first goes first
  };
  struct FirstAndLast {
    std::size_t first = 0, last = 0;  ///< numbers of those that a reading found there
    std::size_t count = 1;
  };
  [[nodiscard]] Latest latest_of(const std::vector<Sequence>& births,
                                 const std::map<ScanId, FirstAndLast>& found) const;
  [[nodiscard]] Bytes kind_of(const Storage& storage) const;
  /// nullopt: what leads there may have more than the latest of the place. Zero: as many more were not made.
  [[nodiscard]] std::optional<Sequence> by_births(const Living& living, std::string_view path) const;
  /// False if it may.
  bool add_by_births(const Series& series, std::string_view path);
  [[nodiscard]] bool has_latest(const Living& living, std::string_view path) const;
  /// True if what leads there has the latest, and lets go first of what came first.
  [[nodiscard]] bool goes_in_order(const Living& living, std::string_view path) const;
  /// True if the latest reading found it in a cycle.
  [[nodiscard]] bool is_of_cycle(const Living& living) const;
  /// The functions whose calls an exception has ended, and whose variables have the storage in a traceback.
  [[nodiscard]] std::set<std::string> ended_calls(StorageId storage) const;
  void add_ended_calls(const Series& series);
  void note(const Living& living, std::string_view path, Sequence until);
  /// True if the path goes from the keeper through a graph that a backward pass has let go of since.
  [[nodiscard]] bool is_of_past_graph(const OwnerPath& path) const;
  void leave_open(const Series& series, std::string_view path);
  /// True for a variable of a library's function, which ends with its call.
  [[nodiscard]] bool is_argument(std::string_view path) const;

  const TraceData& data_;
  const Holding& holding_;
  NextValues& next_;
  using Kind = std::pair<std::string, Bytes>;      ///< what leads there, and the size
  std::map<Bytes, std::vector<Sequence>> births_;  ///< of the place's storages, by size
  std::map<Kind, Latest> latest_;
  bool sizes_vary_ = false;  ///< then all are of one kind
  std::map<StorageId, Sequence> until_;
  std::map<StorageId, std::set<std::string>> variables_;
  std::set<StorageId> open_;
};

}  // namespace dcmt::analyzer

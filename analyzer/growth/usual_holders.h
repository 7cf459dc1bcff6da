// The usual holders of a place's storages, and the storages that a variable holds only until its next value.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analyzer/growth/growing_sites.h"
#include "analyzer/source/common_names.h"

namespace dcmt::analyzer {

/// The holder of a storage, according to the latest reading that found it.
struct HeldBy {
  std::vector<ContainerId> containers;
  bool otherwise = true;
  const OwnerPath* path = nullptr;  ///< if no container holds the storage

  /// True if no reading found a holder.
  [[nodiscard]] bool nobody() const { return containers.empty() && path == nullptr; }
  friend auto operator<=>(const HeldBy& a, const HeldBy& b) {
    return std::tie(a.containers, a.otherwise) <=> std::tie(b.containers, b.otherwise);
  }
  friend bool operator==(const HeldBy& a, const HeldBy& b) { return (a <=> b) == 0; }
};

[[nodiscard]] HeldBy held_by(const TraceData& data, StorageId storage);

/// True if the path is the container's, or leads through it: "main: rows" on "main: rows[0]", but not on "main:
/// rows_2"; "main: layers[*].maps" on "main: layers[2].maps[0]".
[[nodiscard]] bool is_on(std::string_view container, std::string_view path);

/// Who holds the storages of growing places while these grow.
class Holding {
 public:
  Holding(const TraceData& data, const GrowingSites& growing);

  /// As held_by(), but only containers that add, and nobody if there are only others. Siblings, `states['a']` and
  /// `states['b']`, or `layers[0].maps` and `layers[1].maps`, in which one reading found storages of one place, are one
  /// container, and so are those of a chain of objects. What hangs on a path through a container that adds is held by
  /// it. A variable or attribute has one value, the one of the last reading that found any. If a later reading found
  /// only a cycle that Python's collector can free, because the function with the container has returned, the container
  /// holds what the last reading before found there, if that was most of it; and what was made since.
  [[nodiscard]] HeldBy of(StorageId storage) const;
  /// All containers that add.
  [[nodiscard]] const std::set<ContainerId>& adding() const { return adding_; }
  /// True if the path is that of a container that adds, or leads through it.
  [[nodiscard]] bool keeps(std::string_view path) const;
  /// True if a reading found the storage there.
  [[nodiscard]] bool is_seen(StorageId storage) const;
  /// The container's path; of siblings what they have in common: "main: states" for its entries, "main:
  /// layers[*].maps".
  [[nodiscard]] std::string_view path_of(ContainerId container) const;
  /// True if the container stands for what is in the one with this path: for its entries.
  [[nodiscard]] bool is_inside(ContainerId container) const;
  /// Those with what it stands for: the one with this path, if there is one; else the siblings.
  [[nodiscard]] std::set<ContainerId> members_of(ContainerId container) const;
  /// True if the container stands for siblings.
  [[nodiscard]] bool is_of_siblings(ContainerId container) const { return joined_.contains(container); }

 private:
  void add_chains(const OutlivingSite& site);
  void add_siblings(const OutlivingSite& site);
  void join_siblings();
  void join_other_ways(const OutlivingSite& site);
  /// The container's path; of the containers of a chain the name of all.
  [[nodiscard]] std::string name_of(ContainerId container) const;
  [[nodiscard]] std::string common_name_of(const std::set<ContainerId>& siblings) const;
  /// For members_of(). @param container  that stands for siblings
  [[nodiscard]] std::set<ContainerId> find_members(ContainerId container) const;
  /// The container, or the one that stands for it and its siblings.
  [[nodiscard]] ContainerId joined(ContainerId container) const;
  void add_adding(const OutlivingSite& site);
  void add_returned(const OutlivingSite& site);
  /// True if readings did not find most of these through the container, and later ones did again: that a reading did
  /// not find them there does not say that they had gone.
  [[nodiscard]] bool misses_some(const Series& series, ContainerId container) const;
  /// The container that adds on the way to a storage that is in no container itself.
  [[nodiscard]] HeldBy on_the_way(HeldBy by, StorageId storage) const;
  /// The record after which a reading began. Between readings of one begin the program has changed nothing.
  [[nodiscard]] Sequence begin_of(ScanId scan) const;
  /// True if a reading with this begin, or a later one, found a path through the container to the storage, although it
  /// could not say by whom all references are.
  [[nodiscard]] bool leads_to(const Living& living, ContainerId container, Sequence begin) const;

  const TraceData& data_;
  /// Containers that add: one reading found storages of several rounds in them at once, and what earlier ones had found
  /// there was mostly there still. What `model` leads to in each trial is replaced in the next.
  std::set<ContainerId> adding_;
  std::map<ContainerId, ContainerId> joined_;             ///< of siblings: the one that stands for them
  CommonNames chains_;                                    ///< of containers
  std::vector<std::set<ContainerId>> siblings_;           ///< no container is in two of them
  std::map<ContainerId, std::string> names_;              ///< of those that stand for siblings
  std::map<ContainerId, std::set<ContainerId>> members_;  ///< likewise
  std::set<StorageId> earlier_;                           ///< earlier values of a variable or an attribute
  struct Returned {
    ContainerId container;
    bool seen = false;
  };
  std::map<StorageId, Returned> returned_;
};

/// Predicts the holder of storages made after the latest reading: the most frequent holder of earlier storages with the
/// same position in their round; if there are none, the most frequent holder of the place. A container in which the
/// readings found hardly any of the place's storages that were alive is nobody's usual holder.
class UsualHolders {
 public:
  UsualHolders(const TraceData& data, const Holding& holding, const OutlivingSite& site);
  [[nodiscard]] HeldBy of(Position position) const;

 private:
  using Counts = std::map<HeldBy, std::int64_t>;

  Counts counts_;
  std::map<Position, Counts> at_position_;
};

/// Variables that get a new value in some rounds: `v = loss(…)`. The latest storage is held by the variable and by its
/// keeper. Earlier storages are held by the keeper alone.
class LatestValues {
 public:
  LatestValues(const TraceData& data, const Holding& holding, const GrowingSites& growing);

  /// True if the reading found the storage as the variable's latest value, and the variable has had another value
  /// since.
  [[nodiscard]] bool was_latest_value(const Living& living) const {
    return read_as_latest_.contains(living.storage->id);
  }

 private:
  std::set<StorageId> read_as_latest_;
};

}  // namespace dcmt::analyzer

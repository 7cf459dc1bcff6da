// What else than its keeper had a storage, according to readings of the memory, and until when.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/rules/growing_sites.h"
#include "analyzer/rules/next_values.h"
#include "analyzer/rules/usual_holders.h"

namespace dcmt::analyzer {

/// What a reading finds of one storage holds for the others of its series: each variable or attribute on the path has
/// them as many of its values long, and a graph has them until a backward pass is done with the node.
class UseByReadings {
 public:
  /// `next` must outlive it.
  UseByReadings(const TraceData& data, const Holding& holding, NextValues& next)
      : data_(data), holding_(holding), next_(next) {}

  void add(const Series& series);
  /// nullopt: no reading says it.
  [[nodiscard]] std::optional<Sequence> until(StorageId storage) const;
  /// True if something else had it, too, of which they do not say until when.
  [[nodiscard]] bool is_open(StorageId storage) const;
  /// True if the readings say until when what this variable leads to is of use.
  [[nodiscard]] bool says(const Living& living, std::string_view variable) const;

 private:
  struct Found {
    const Living* living;
    const Scan* scan;
  };
  using ByPath = std::map<std::string_view, std::vector<Found>>;

  [[nodiscard]] ByPath found(const Series& series) const;
  /// How many of its values long it has a storage. nullopt: not the same for all.
  [[nodiscard]] static std::optional<std::size_t> values_long(const NextValues::Changes& changes, const Series& series,
                                                              const std::vector<Found>& found);
  void add(const Series& series, std::string_view path, const std::vector<Found>& found);
  void leave_open(const Series& series);
  /// True for a variable of a library's function, which ends with its call.
  [[nodiscard]] bool is_argument(std::string_view path) const;

  const TraceData& data_;
  const Holding& holding_;
  NextValues& next_;
  std::map<StorageId, Sequence> until_;
  std::map<StorageId, std::set<std::string>> variables_;
  std::set<StorageId> open_;
};

}  // namespace dcmt::analyzer

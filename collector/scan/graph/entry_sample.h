// Estimates the bytes of a collection's entries from a sample of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "collector/scan/graph/graph.h"
#include "collector/scan/memory/memory_source.h"
#include "collector/scan/objects/object_sizes.h"

namespace dcmt::scan {

/// Number of entries of a list, dictionary, set, deque, tuple or array of objects; 0 for any other object.
[[nodiscard]] std::uint64_t entries_of(Address object, Kind kind, Mirror& memory, ProcessTypes& types);

/// Not thread-safe.
class EntrySample {
 public:
  /// @param pages  for unshared_part(), which needs a larger sample; nullptr: not wanted
  EntrySample(Mirror& memory, ProcessTypes& types, MemorySource* pages = nullptr);

  /// Adds entries of collections until the mean of their bytes is certain enough.
  /// @param collections  with entries; those with more should come more often
  void add_from(const std::vector<std::pair<Address, Kind>>& collections);

  [[nodiscard]] bool is_empty() const { return seen_ == 0; }
  [[nodiscard]] double bytes_each() const { return seen_ == 0 ? 0 : sum_ / static_cast<double>(seen_); }
  /// Share of these bytes, 0 to 1, that lie in pages which no other process has.
  [[nodiscard]] double unshared_part() const { return sum_ == 0 ? 0 : unshared_ / sum_; }
  [[nodiscard]] std::string entry_type() const;
  [[nodiscard]] std::string parts() const;
  /// True if most entries are tensors.
  [[nodiscard]] bool has_tensors() const { return 2 * tensors_ > seen_; }
  /// True if all that was sampled could be read. Memory that was mapped after the reading had begun cannot: then the
  /// newest entries are missing.
  [[nodiscard]] bool is_whole() const { return is_whole_; }

 private:
  struct Entry {
    Address key = 0, value = 0;
  };
  Entry entry_at(Address object, Kind kind, double where);
  Entry entry_of_dict(Address object, double where);
  Entry entry_of_set(Address object, double where);
  Entry entry_of_deque(Address object, double where);
  /// Bytes of the object and of all that it leads to, as far as it is the one that holds it.
  double bytes_from(Address object);
  /// Of the object's own bytes, those that lie in such pages.
  double unshared_of(Address object, const PythonType& type, double own);
  [[nodiscard]] bool is_certain() const;

  Mirror& memory_;
  ProcessTypes& types_;
  PythonObjects objects_;
  ObjectSizes sizes_;
  std::vector<Reference> references_;
  std::uint64_t random_ = 0x9E3779B97F4A7C15;
  std::size_t seen_ = 0, tensors_ = 0;
  bool is_whole_ = true;
  double sum_ = 0, squares_ = 0, unshared_ = 0;
  MemorySource* const pages_;
  std::map<const PythonType*, std::size_t> entry_types_;
  std::map<const PythonType*, double> part_bytes_;
};

}  // namespace dcmt::scan

// What holds a storage, by the scans of the memory, in the words of a person.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// What holds a storage that no container does: "main: x" of a path to it, "main: total.grad_fn" of one that goes on
/// through a graph, a cycle. Empty for a cycle that Python's collector frees.
[[nodiscard]] std::string_view holder_of(std::string_view path);

/// Belongs to one TraceData, which must outlive it.
class HolderNames {
 public:
  explicit HolderNames(const TraceData& data);

  /// "main: losses", "main: losses + main: probe.seen" of several containers, "parameter main: model.layers[*].weight",
  /// "main: opt.state, as others made there" of one that no scan found where nine tenths of those that one found at its
  /// place are held alike: the latest may not be where it belongs yet; else "not read".
  [[nodiscard]] std::string of(StorageId storage) const;

 private:
  [[nodiscard]] std::optional<std::string> seen(StorageId storage) const;

  const TraceData& data_;
  struct Found {
    std::map<std::string, std::int64_t> storages;  ///< by what holds them
    std::int64_t all = 0;
  };
  std::map<StackId, Found> found_;  ///< by where they were made
};

}  // namespace dcmt::analyzer

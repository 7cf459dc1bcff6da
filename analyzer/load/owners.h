// Who owns storages, as the recorder read it in the process's memory (trace/sql/0007.sql).
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/status.h"
#include "trace/base/typed_id.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

using ContainerId = TypedNumber<struct ContainerTag>;
using ScanId = TypedNumber<struct ScanTag>;

/// A list, dictionary or another object whose entries hold storages.
struct Container {
  ContainerId id;
  StringId path;   ///< "main: probe.seen"
  StringId place;  ///< "train.py:37", where the frame stood that is its root; zero: another root
  StringId type;   ///< "list"
  Bytes small;     ///< in storages without rows that nothing else leads to
  ScanId small_scan;
};

/// One reading of the process's memory.
struct Scan {
  ScanId id;
  Sequence from;  ///< the last record before it began
  TimeNs ns;      ///< when it began
};

/// One path to a storage.
struct OwnerPath {
  StorageId storage;
  StringId path, place;
  ScanId scan, last_scan;  ///< the first and the last that found it; it was there in every one between
  bool confirmed = false;
};

/// What a storage can be to a module, an optimizer or a graph, as a scan says it.
inline constexpr std::string_view kParameter = "parameter", kGradient = "gradient",
                                  kSavedForBackward = "saved for backward";
inline constexpr std::array<std::string_view, 5> kRoles = {kParameter, kGradient, "optimizer state", "buffer",
                                                           kSavedForBackward};

/// What the latest scan that found a storage says of it.
struct Held {
  StorageId storage;
  ScanId scan;
  std::string role;                     ///< "parameter"; empty: none
  bool otherwise = true;                ///< something leads to it besides entries of these containers, or may
  std::vector<ContainerId> containers;  ///< ascending
};

/// The latest scan that found a storage in a container. A later one may have found it elsewhere only.
struct FoundIn {
  StorageId storage;
  ContainerId container;
  ScanId scan;
};

struct Owners {
  std::vector<Scan> scans;            ///< ascending by id
  std::vector<Container> containers;  ///< ascending by id
  std::vector<OwnerPath> paths;       ///< ascending by storage; of one those of the latest scan, the best first
  std::vector<Held> held;             ///< ascending by storage
  std::vector<FoundIn> found_in;      ///< ascending by storage

  /// Of a trace before schema 7: nothing.
  static Expected<Owners> load(Database& database);

  /// nullptr where no scan found it.
  [[nodiscard]] const Held* of(StorageId storage) const;
  [[nodiscard]] const Container* container(ContainerId id) const;
  [[nodiscard]] const Scan* scan(ScanId id) const;
  [[nodiscard]] std::span<const OwnerPath> paths_to(StorageId storage) const;
  [[nodiscard]] std::span<const FoundIn> where_found(StorageId storage) const;
  /// The latest confirmed one that reads best; nullptr where there is none, and where a later scan found others only,
  /// none of them confirmed.
  [[nodiscard]] const OwnerPath* path_to(StorageId storage) const;
};

}  // namespace dcmt::analyzer

// Who owns storages, as the recorder read it in the process's memory (trace/sql/0007.sql).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/base/status.h"
#include "trace/base/typed_id.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

using ScanId = TypedNumber<struct ScanTag>;
using ContainerId = TypedNumber<struct ContainerTag>;

/// One reading of the process's memory.
struct Scan {
  ScanId id;
  Sequence from_seq;
  TimeNs from_ns, to_ns;
  std::int64_t storages = 0, owned = 0;
};

/// A list, dictionary or another object whose entries hold storages.
struct Container {
  ContainerId id;
  StringId path;   ///< "main: probe.seen"
  StringId place;  ///< "train.py:37", where the frame stood that is its root; zero: another root
  StringId type;   ///< "list"
  std::int64_t entries = 0;
  ScanId last_scan;
};

/// One path to a storage.
struct OwnerPath {
  StorageId storage;
  std::int64_t position = 0;  ///< 0: the one that reads best
  StringId path, place;
  ScanId last_scan;
  bool confirmed = false;
};

/// What the latest scan that found a storage says of it.
struct Held {
  StorageId storage;
  ScanId scan;
  bool otherwise = true;                ///< something leads to it besides entries of these containers, or may
  std::vector<ContainerId> containers;  ///< ascending
};

struct Owners {
  std::vector<Scan> scans;            ///< in order
  std::vector<Container> containers;  ///< ascending by id
  std::vector<OwnerPath> paths;       ///< ascending by storage, then position
  std::vector<Held> held;             ///< ascending by storage

  /// Of a trace before schema 7: nothing.
  static Expected<Owners> load(Database& database);

  /// nullptr where no scan found it.
  [[nodiscard]] const Held* of(StorageId storage) const;
  [[nodiscard]] const Container* container(ContainerId id) const;
  /// The confirmed path that reads best; nullptr where there is none.
  [[nodiscard]] const OwnerPath* path_to(StorageId storage) const;
};

}  // namespace dcmt::analyzer

// Who owns storages, as the recorder found it in the process's memory (trace/sql/0007.sql).
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

/// A list, dictionary or other object whose entries hold storages.
struct Container {
  ContainerId id;
  StringId path;   ///< "main: probe.seen"
  StringId place;  ///< "train.py:37", the position of the frame that is its root; zero: another kind of root
  StringId type;   ///< "list"
  Bytes small;     ///< bytes in storages without rows that nothing else leads to
  ScanId small_scan;
};

/// One reading of the process's memory.
struct Scan {
  ScanId id;
  Sequence from;            ///< the last record before the reading began
  TimeNs ns;                ///< when it began
  TimeNs counted, to;       ///< collections were counted between these
  bool everything = false;  ///< all objects were read; false: those that variables lead to
  bool importing = false;   ///< nothing was read, because the program was importing modules
  bool ended = false;       ///< the program had ended: variables of its functions were gone
};

/// Lists, dictionaries or other collections with one path, at a reading of the memory.
struct Collection {
  ScanId scan;
  StringId path;   ///< "main: users[*].history"
  StringId place;  ///< as of a Container
  StringId type;   ///< "list"
  std::int64_t alike = 0, entries = 0;
  Bytes own, bytes;  ///< without and with what the entries refer to; the latter is an estimate
  StringId entry_type, parts;
};

/// One path from a root to a storage.
struct OwnerPath {
  StorageId storage;
  StringId path, place;
  ScanId scan, last_scan;  ///< first and last scan that found it; each scan between them found it, too
  bool confirmed = false;
};

/// What a storage can be to a module, an optimizer or a graph, in the words of a scan.
inline constexpr std::string_view kParameter = "parameter", kGradient = "gradient", kOptimizerState = "optimizer state",
                                  kSavedForBackward = "saved for backward";
inline constexpr std::array<std::string_view, 5> kRoles = {kParameter, kGradient, kOptimizerState, "buffer",
                                                           kSavedForBackward};

/// The result of the latest scan that found a storage.
struct Held {
  StorageId storage;
  ScanId scan;
  std::string role;                     ///< "parameter"; empty: none
  ModuleId module;                      ///< that has it, or its parameter
  bool otherwise = true;                ///< something other than entries of these containers leads to it, or may
  std::vector<ContainerId> containers;  ///< ascending
};

/// The latest scan that found a storage in a container. A later scan may have found it only elsewhere.
struct FoundIn {
  StorageId storage;
  ContainerId container;
  ScanId scan;
};

/// A torch.nn.Module.
struct Module {
  ModuleId id;
  StringId name;  ///< "model.layers.3.mlp"; zero: no reading found it
};

struct Owners {
  std::vector<Module> modules;        ///< ascending by id
  std::vector<Scan> scans;            ///< ascending by id
  std::vector<Container> containers;  ///< ascending by id
  std::vector<OwnerPath> paths;   ///< ascending by storage; per storage the latest scan first, per scan the best first
  std::vector<Held> held;         ///< ascending by storage
  std::vector<FoundIn> found_in;  ///< ascending by storage
  std::vector<Collection> collections;  ///< ascending by scan, most bytes first; none before schema 13

  /// Loads nothing from a trace before schema 7.
  static Expected<Owners> load(Database& database);

  /// nullptr if no scan found the storage.
  [[nodiscard]] const Held* of(StorageId storage) const;
  [[nodiscard]] const Container* container(ContainerId id) const;
  /// nullptr for the zero id.
  [[nodiscard]] const Module* module(ModuleId id) const;
  [[nodiscard]] const Scan* scan(ScanId id) const;
  [[nodiscard]] std::span<const OwnerPath> paths_to(StorageId storage) const;
  [[nodiscard]] std::span<const FoundIn> where_found(StorageId storage) const;
  /// The path of the latest confirmed scan that reads best. nullptr if there is none, or if a later scan found only
  /// other paths, none of them confirmed.
  [[nodiscard]] const OwnerPath* path_to(StorageId storage) const;
};

}  // namespace dcmt::analyzer

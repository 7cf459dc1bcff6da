// Finds the collections of a process with most entries: lists, dictionaries, sets, deques, tuples, arrays of objects.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collector/scan/graph/confirm.h"
#include "collector/scan/graph/graph.h"
#include "collector/scan/graph/paths.h"
#include "collector/scan/objects/object_sizes.h"

namespace dcmt::scan {

/// One collection, or several that are alike: their paths differ only in indexes and keys.
struct Collection {
  std::string path;             ///< "main: users[*].history"
  std::string place;            ///< position of the frame that is the path's root; empty: another root
  std::string type;             ///< "list"
  std::uint64_t alike = 0;      ///< number of collections
  std::uint64_t entries = 0;    ///< of all of them
  std::uint64_t own_bytes = 0;  ///< of all of them, without what the entries refer to
  /// With what the entries refer to, estimated from a sample. The bytes of an object with several references count only
  /// for the share of them that the collections have.
  std::uint64_t bytes = 0;
  /// Of a forked child: of `bytes`, those of entries in pages that no other process has, estimated likewise.
  std::uint64_t unshared_bytes = 0;
  /// Of a forked child: its parent has the same collection, with the same entries.
  bool is_inherited = false;
  std::string entry_type;  ///< of most entries: "dict"
  std::string parts;       ///< types of what the entries refer to, most bytes first: "str, float"
};

/// The estimates of an earlier census of the process.
struct KnownCollections {
  struct Estimate {
    std::uint64_t entries = 0;
    bool of_tensors = false;  ///< most entries are tensors
    double bytes_each = 0;
    std::string entry_type, parts;
  };
  /// By the collection with most entries, and the path: several groups can have one path.
  std::map<std::pair<Address, std::string>, Estimate> by_largest;
};

/// Arguments of find_collections().
struct CollectionSearch {
  const Graph& graph;
  Mirror& memory;  ///< from which the graph was decoded
  Mirror& fresh;   ///< newer: what is read from it was there at almost one time
  ProcessTypes& types;
  Paths& paths;
  PythonText& text;
  SecondReading& second;
  bool is_complete = true;         ///< false: the graph has reached its limit
  std::size_t most = 0;            ///< limit of collections
  MemorySource* pages = nullptr;   ///< of the process
  MemorySource* parent = nullptr;  ///< of its parent, if it is a forked child; else nullptr
};

/// The collections with most entries. Each has a path that a second reading confirmed. Collections of tensors are left
/// out: what holds storages is found by them. A collection that has not changed keeps its estimate.
[[nodiscard]] std::vector<Collection> find_collections(const CollectionSearch& search, KnownCollections& known);

}  // namespace dcmt::scan

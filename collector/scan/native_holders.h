// What C++ objects and variables hold, of the storages that no root of a graph leads to.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collector/scan/census_options.h"
#include "collector/scan/graph/graph.h"
#include "collector/scan/graph/paths.h"
#include "collector/scan/held_storage.h"
#include "collector/scan/memory/mirror.h"
#include "collector/scan/native/searched_memory.h"
#include "collector/scan/objects/process_types.h"
#include "trace/base/status.h"

namespace dcmt::scan {

using OpenSource = std::function<Expected<std::unique_ptr<MemorySource>>()>;

/// Reads the memory in a thread of its own, beside the exploration of the graph.
class MemoryAhead {
 public:
  /// Reads nothing unless the program has ended and the census asks for these holders: a running program would have to
  /// share its cores with two threads.
  MemoryAhead(const CensusOptions& options, OpenSource open);

  /// The memory; nothing if it has not been read.
  [[nodiscard]] std::optional<SearchedMemory> take();

 private:
  std::future<std::optional<SearchedMemory>> memory_;
};

struct NativeHeld {
  std::vector<HeldStorage> unseen;  ///< live storages that are not in the graph, without their holders
  std::unordered_map<Address, std::vector<Holder>> holders;  ///< by storage, for these and those of the graph
  std::size_t bytes_read = 0;
};

/// An explored graph, and what it was read from.
struct ExploredGraph {
  const Graph& graph;
  const std::vector<NodeIndex>& storages;  ///< of the graph
  Mirror& memory;
  ProcessTypes& types;
  Paths& paths;
  Address runtime = 0;  ///< of _PyRuntime
};

/// True if no root leads to so many bytes of the storages in question that a search is worth its cost.
[[nodiscard]] bool is_worth_search(const InQuestion& in_question, const ExploredGraph& explored);

/// Live storages of at least this size that are not in the graph, by one pass over the memory.
[[nodiscard]] std::vector<Address> unseen_storages(const CensusOptions& options, const ExploredGraph& explored,
                                                   std::uint64_t smallest);

/// Searches the memory for what holds the storages that no root leads to.
/// @param ahead  the memory, if it has been read
[[nodiscard]] Expected<NativeHeld> native_held(const CensusOptions& options, const ExploredGraph& explored,
                                               const OpenSource& open, std::optional<SearchedMemory> ahead);

}  // namespace dcmt::scan

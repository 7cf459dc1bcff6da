// Finds the holders of a process's storages: a census, taken from outside while the process runs, or from its core
// file.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collector/scan/census_options.h"
#include "collector/scan/graph/arrays.h"
#include "collector/scan/graph/collections.h"
#include "collector/scan/graph/modules.h"
#include "collector/scan/held_storage.h"
#include "collector/scan/layout/torch_layout.h"
#include "collector/scan/memory/memory_source.h"
#include "trace/base/status.h"

namespace dcmt::scan {

/// A list, dictionary or another object whose entries hold storages.
struct CommonContainer {
  std::string path;               ///< "main: probe.seen"
  std::string place;              ///< as in Holder
  std::string type;               ///< "list"; "graph": objects that a tensor holds by its autograd graph; "finished
                                  ///< frame": the variables of a call that an exception has ended
  std::size_t entries = 0;        ///< number of entries that hold storages
  std::uint64_t small_bytes = 0;  ///< bytes of storages below CensusOptions::smallest that only its entries lead to
};

/// The storages that would be freed together with one object.
struct Retained {
  std::string path;   ///< to the object: "main: opt.state"
  std::string place;  ///< as in Holder
  std::string type;   ///< of the object: "defaultdict"
  std::uint64_t bytes = 0;
  std::uint64_t storages = 0;
  std::uint32_t references = 0;  ///< references to it, except from objects freed with it; 1: only the path
  bool confirmed = false;        ///< as in Holder
};

/// A live storage, with or without a known holder.
struct LivingStorage {
  Address storage = 0;  ///< address of the StorageImpl
  Address data = 0;
  std::uint64_t bytes = 0;
  bool is_block = false;  ///< its data is a block of torch's CPU allocator, which the storage owns
};

struct Census {
  std::string python;  ///< "3.11"; empty: a program of C++ without Python
  std::string torch;   ///< "2.11.0"
  std::vector<HeldStorage> storages;
  std::vector<CommonContainer> containers;  ///< the containers that hold most
  std::vector<HeldArrays> arrays;           ///< numpy arrays by holder, most bytes first
  std::vector<Collection> collections;      ///< most bytes first, if CensusOptions requests it
  /// Files of the running functions' code, and of the modules that the census begins with; of a census of variables.
  std::vector<std::string> files;
  std::vector<Retained> retained;     ///< most bytes first, if CensusOptions requests it
  std::vector<LivingStorage> living;  ///< if CensusOptions requests it
  std::size_t objects = 0;            ///< decoded objects of Python and of C++
  std::size_t references = 0;         ///< references between these objects
  std::size_t bytes_read = 0;         ///< bytes read from the process
  std::size_t torn = 0;               ///< objects that changed while they were read
  bool importing = false;             ///< nothing was read, see CensusOptions
  bool collecting = false;            ///< Python's collector was running: an object may only seem to have no root
  std::vector<NamedModule> modules;   ///< those of CensusOptions that were found, and all modules inside them
  double seconds = 0;                 ///< duration of the census
  double until_second = 0;  ///< seconds from its begin to the begin of the second reading, which confirms holders
};

/// Takes censuses of one process. Later ones are cheaper: they begin by reading the memory of the first one, in large
/// calls. Not thread-safe.
class Censuses {
 public:
  /// `layouts`: the folders for the layout of its torch. Fails with kCannotRecord and the remedy if the process may not
  /// be read, if it does not run CPython and torch, or if this build has no layout for them.
  [[nodiscard]] static Expected<Censuses> open(pid_t pid, const LayoutFolders& layouts);
  /// Opens a core file; fails with kBadInput if it is none. The files that the process had mapped must be at their
  /// paths.
  [[nodiscard]] static Expected<Censuses> open_core(const std::string& core, const LayoutFolders& layouts);
  ~Censuses();
  Censuses(Censuses&&) noexcept;
  Censuses& operator=(Censuses&&) noexcept;

  /// Fails with kCannotRecord if the process has ended.
  [[nodiscard]] Expected<Census> take(const CensusOptions& options);

 private:
  struct State;
  static Expected<Censuses> open(std::function<Expected<std::unique_ptr<MemorySource>>()> source,
                                 const LayoutFolders& layouts);
  explicit Censuses(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace dcmt::scan

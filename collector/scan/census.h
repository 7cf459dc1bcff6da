// Finds the holders of a process's storages: a census, taken from outside while the process runs, or from its core
// file.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collector/scan/graph/arrays.h"
#include "collector/scan/graph/collections.h"
#include "collector/scan/graph/modules.h"
#include "collector/scan/layout/torch_layout.h"
#include "collector/scan/memory/memory_source.h"
#include "collector/scan/objects/cpp_variable.h"
#include "collector/scan/objects/reference.h"
#include "collector/scan/objects/storage_fields.h"
#include "trace/base/status.h"

namespace dcmt::scan {

struct Holder {
  std::string path;   ///< "main: probe.seen[3]", "sys.last_traceback.tb_frame train: loss"
  std::string place;  ///< position of the frame that is the path's root, "train.py:37"; empty for another root
  /// A second reading found every reference of the path again. If it did not, the program was changing the path.
  bool confirmed = false;
  /// False: no root was found that leads to the holder. A single reading of a running process does not prove that there
  /// is none.
  bool rooted = true;

  /// "main (train.py:37): probe.seen[3]"
  [[nodiscard]] std::string readable() const;
};

/// A list, dictionary or another object whose entries hold storages.
struct CommonContainer {
  std::string path;               ///< "main: probe.seen"
  std::string place;              ///< as in Holder
  std::string type;               ///< "list"; "graph": objects that a tensor holds by its autograd graph; "finished
                                  ///< frame": the variables of a call that an exception has ended
  std::size_t entries = 0;        ///< number of entries that hold storages
  std::uint64_t small_bytes = 0;  ///< bytes of storages below CensusOptions::smallest that only its entries lead to
};

struct HeldStorage : StorageFields {
  HeldStorage() = default;
  explicit HeldStorage(const StorageFields& fields) : StorageFields(fields) {}

  Role role = Role::kNone;
  std::vector<Holder> holders;            ///< different paths, the most readable one first; empty if none was found
  std::vector<std::uint32_t> containers;  ///< indexes into Census::containers whose entries lead to the storage
  bool otherwise = true;                  ///< it would, or might, still be held if all of these dropped their entries
  Address module = 0;                     ///< as in Modules::having()
  bool is_unexplained = false;  ///< `otherwise` only because not all references were found: a census of variables
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

enum class Scope : std::uint8_t {
  kAll,        ///< every object of the process
  kVariables,  ///< objects that variables of running functions and of the own modules lead to: takes milliseconds.
               ///< Other objects may be held, too, so the census has only objects that were found
};

/// Which C++ holders a census includes.
enum class Native {
  kNo,
  kAll,     ///< for a person to judge: a word of memory may be stale
  kProved,  ///< only those with NativeHolder::proved, of the storages in question
};

/// Storages whose holders are searched for in C++ memory if nothing else leads to this many bytes of them.
struct InQuestion {
  std::vector<Address> storages;  ///< ascending
  std::uint64_t least = 0;        ///< bytes
};

struct CensusOptions {
  Scope scope = Scope::kAll;
  std::uint64_t smallest = 64 * 1024;  ///< bytes; smaller storages are not included
  std::size_t paths = 3;               ///< limit of different holders for each storage
  /// Searches the words of all memory for holders of storages that no Python object leads to. It takes about half as
  /// long as the census without it, and keeps no copy of the memory.
  Native native = Native::kNo;
  InQuestion in_question = {};  ///< for Native::kProved
  /// The program has ended, and waits for a while: its C++ memory is read first.
  bool has_ended = false;
  std::vector<Range> data = {};  ///< known data of storages, which contains no objects
  /// Lists every storage of any size that has data and was alive in two readings, even if no Python object leads to it.
  /// Only with Scope::kAll; fails in a program without Python.
  bool living = false;
  /// Examines this many collections, those with most entries.
  std::size_t collections = 0;
  /// Of a forked child, its parent: computes what the child does not share of these collections, and which of
  /// them it has inherited. 0: not requested.
  pid_t parent = 0;
  /// Reads nothing while a thread imports modules: their functions and classes are no growth, and reading them takes
  /// long.
  bool unless_importing = false;
  /// Computes what would be freed with each object, and names this many. Only with Scope::kAll.
  std::size_t retained = 0;
  std::vector<CppVariable> variables = {};       ///< of the program's own C++ code
  std::shared_ptr<const CppShapes> shapes = {};  ///< of these
  std::vector<Address> modules = {};             ///< addresses of torch.nn.Modules to name
  /// Called once all holders are named: a program that waits for them can go on. May be empty.
  std::function<void()> on_holders = {};
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

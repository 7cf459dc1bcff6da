// Who holds the storages of a process: one census, taken from outside while the process goes on, or of its core file.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collector/scan/graph/arrays.h"
#include "collector/scan/layout/torch_layout.h"
#include "collector/scan/memory/memory_source.h"
#include "collector/scan/objects/reference.h"
#include "trace/base/status.h"

namespace dcmt::scan {

struct Holder {
  std::string path;   ///< "main: probe.seen[3]", "sys.last_traceback.tb_frame train: loss"
  std::string place;  ///< where the frame stood that is the path's root, "train.py:37"; empty for another root
  /// Every reference of the path was found again in a second reading. An unconfirmed path is what the program was
  /// changing.
  bool confirmed = false;
  /// False: no root was found to lead to what holds the storage. One reading of a process that runs proves no such
  /// thing.
  bool rooted = true;

  /// "main (train.py:37): probe.seen[3]"
  [[nodiscard]] std::string readable() const;
};

/// A list, dictionary or another object whose entries hold storages.
struct CommonContainer {
  std::string path;               ///< "main: probe.seen"
  std::string place;              ///< as of a Holder
  std::string type;               ///< "list"; "graph": what a tensor holds by its autograd graph; "finished frame": the
                                  ///< variables of a call that an exception has ended
  std::size_t entries = 0;        ///< that were found to hold storages
  std::uint64_t small_bytes = 0;  ///< of storages under CensusOptions::smallest to which its entries alone lead
};

struct HeldStorage {
  Address storage = 0;  ///< of the StorageImpl
  Address data = 0;
  std::uint64_t bytes = 0;
  std::uint32_t references = 0;  ///< strong count of the StorageImpl
  Role role = Role::kNone;
  std::vector<Holder> holders;  ///< different paths, the one that reads best first; empty where none was found
  std::vector<std::uint32_t> containers;  ///< into Census::containers: those whose entries lead to it
  bool otherwise = true;        ///< it would still be held, or may be, if all of these let go of their entries
  bool is_unexplained = false;  ///< `otherwise` only because not all references were found: a census of variables
};

/// What would go if one object did.
struct Retained {
  std::string path;   ///< to the object: "main: opt.state"
  std::string place;  ///< as of a Holder
  std::string type;   ///< of the object: "defaultdict"
  std::uint64_t bytes = 0;
  std::uint64_t storages = 0;
  std::uint32_t references = 0;  ///< to the object, but for those of what would go with it: 1 is the path itself
  bool confirmed = false;        ///< as of a Holder
};

/// A storage that is alive, whoever holds it.
struct LivingStorage {
  Address storage = 0;  ///< of the StorageImpl
  Address data = 0;
  std::uint64_t bytes = 0;
  bool is_block = false;  ///< its data is a block of torch's allocator for the CPU, which the storage owns
};

struct Census {
  std::string python;  ///< "3.11"
  std::string torch;   ///< "2.11.0"
  std::vector<HeldStorage> storages;
  std::vector<CommonContainer> containers;  ///< those that hold most
  std::vector<HeldArrays> arrays;           ///< of numpy: who holds them, most bytes first
  std::vector<Retained> retained;           ///< most bytes first, where CensusOptions asks for it
  std::vector<LivingStorage> living;        ///< where CensusOptions asks for it
  std::size_t objects = 0;                  ///< of Python and of C++ that were decoded
  std::size_t references = 0;               ///< between them
  std::size_t bytes_read = 0;               ///< from the process
  std::size_t torn = 0;                     ///< objects that were being changed while they were read
  bool collecting = false;  ///< Python's collector was running: what has no root may only have seemed so
  double seconds = 0;       ///< that all of it took
  double until_second = 0;  ///< seconds from its begin to that of the second reading, which confirms holders
};

enum class Scope : std::uint8_t {
  kAll,        ///< every object of the process
  kVariables,  ///< what variables of running functions and of the program's own modules lead to: takes milliseconds.
               ///< What is not found may be held all the same, so only what was found is in the census
};

/// Which holders in C++ a census names.
enum class Native {
  kNo,
  kAll,     ///< for a person to judge: a word of memory may be stale
  kProved,  ///< as NativeHolder::proved
};

struct CensusOptions {
  Scope scope = Scope::kAll;
  std::uint64_t smallest = 64 * 1024;  ///< bytes; smaller storages are left out
  std::size_t paths = 3;               ///< different holders to name a storage
  /// Search what no Python object leads to by the words of all memory: a second or more, and nothing of it is kept.
  Native native = Native::kNo;
  /// List every storage that has data and was alive in two readings, of any size, also where no Python object leads to
  /// it. Of Scope::kAll only.
  bool living = false;
  /// Compute what would go with each object, and name so many. Of Scope::kAll only.
  std::size_t retained = 0;
};

/// Takes censuses of one process. Later ones are cheaper: what the first has read is read first, in large calls.
/// Not thread-safe.
class Censuses {
 public:
  /// `layouts`: where the layout of its torch may be. Fails with kCannotRecord, and the remedy, where the process may
  /// not be read, runs no CPython or torch, or one that this build has no layout for.
  [[nodiscard]] static Expected<Censuses> open(pid_t pid, const LayoutFolders& layouts);
  /// The same of a core file; kBadInput where it is none. The files that the process had mapped must be where they
  /// were.
  [[nodiscard]] static Expected<Censuses> open_core(const std::string& core, const LayoutFolders& layouts);
  ~Censuses();
  Censuses(Censuses&&) noexcept;
  Censuses& operator=(Censuses&&) noexcept;

  /// Fails with kCannotRecord when the process has ended.
  [[nodiscard]] Expected<Census> take(const CensusOptions& options);

 private:
  struct State;
  static Expected<Censuses> open(std::function<Expected<std::unique_ptr<MemorySource>>()> source,
                                 const LayoutFolders& layouts);
  explicit Censuses(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace dcmt::scan

// Finds the holders of a storage that no Python object leads to: C++ objects, and static and thread-local variables. It
// searches the process's memory for words that point to the storage.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/scan/graph/confirm.h"
#include "collector/scan/graph/graph.h"
#include "collector/scan/graph/paths.h"
#include "collector/scan/native/library_data.h"
#include "collector/scan/native/proof.h"
#include "collector/scan/native/searched_memory.h"
#include "collector/scan/native/stack_variables.h"
#include "collector/scan/native/thread_locals.h"

namespace dcmt::scan {

struct NativeHolder {
  std::string path;        ///< "libfoo.so: cache → Session", "train: net → Net"
  std::string place;       ///< of a variable of a running function: where it is declared
  bool confirmed = false;  ///< a second reading found each word of the path again
  bool proved = false;     ///< in addition, no word of the path is stale: Proof
};

/// Needs glibc's malloc, to find the bounds of objects. Not thread-safe; for one explored graph.
class NativeSearch {
 public:
  /// `runtime` is the address of _PyRuntime. `found`: what was found in the process's memory.
  NativeSearch(Mirror& memory, ProcessTypes& types, const Graph& graph, Paths& paths, Address runtime,
               std::span<const CppVariable> variables, SearchedMemory found);

  /// Live storages of at least this size that are not in the graph.
  [[nodiscard]] std::vector<Address> unseen_storages(std::uint64_t smallest);

  /// Searches for the holders of storages.
  void search(const std::vector<Address>& storages);
  /// The proof by the objects that were found. `fresh` must not have been used before the search was over.
  [[nodiscard]] Proof proof_by(Mirror& fresh);
  /// At most `limit` holders of a storage, by words that the proof's memory still has. A path that ends in a Python
  /// object is confirmed only if `second`, a reading of the same memory, still finds that object at its place.
  [[nodiscard]] std::vector<NativeHolder> holders_of(Address storage, std::size_t limit, Proof& proof,
                                                     SecondReading& second);

 private:
  using ObjectIndex = Proof::Object;
  struct Way;

  bool is_alive(Address object);
  ObjectIndex object_at(Range range);
  NodeIndex python_object_at(Address place);
  const std::string& root_at(Address place);
  void add_pointer(ObjectIndex object, Address place);
  void find_pointers(std::size_t first);
  [[nodiscard]] bool is_proved(Address storage, Proof& proof) const;
  template <class Counts, class Visit>
  void each_way(Address storage, const Proof& proof, Counts counts, Visit visit) const;

  Mirror& memory_;
  ProcessTypes& types_;
  const Graph& graph_;
  Paths& paths_;
  ThreadLocals thread_locals_;
  LibraryData libraries_;
  StackVariables variables_;
  SearchedMemory found_;
  std::vector<std::pair<Address, NodeIndex>> python_objects_;  ///< objects that a root leads to, by address
  std::unordered_map<Address, std::vector<Address>> tensors_;  ///< tensors of a storage
  std::vector<NativeObject> objects_;
  std::unordered_map<Address, std::string> roots_;  ///< names by address
  std::unordered_map<Address, ObjectIndex> by_begin_;
  std::unordered_map<Address, std::vector<ObjectIndex>> of_storage_;  ///< the storage itself and its tensors
};

}  // namespace dcmt::scan

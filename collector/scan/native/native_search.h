// Who holds a storage that no Python object leads to: C++ objects, static and thread-local variables, found by the
// words of the process's memory that point to it.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "collector/scan/graph/confirm.h"
#include "collector/scan/graph/graph.h"
#include "collector/scan/graph/paths.h"
#include "collector/scan/native/heap_chunks.h"
#include "collector/scan/native/library_data.h"
#include "collector/scan/native/memory_words.h"
#include "collector/scan/native/proof.h"
#include "collector/scan/native/thread_locals.h"

namespace dcmt::scan {

struct NativeHolder {
  std::string path;        ///< "libfoo.so: cache → Session"
  bool confirmed = false;  ///< each word of the way was found again in a second reading
  bool proved = false;     ///< besides, no word of the way is a stale one: Proof
};

/// Needs glibc's malloc, to know where an object begins and ends. Not thread-safe; made for one explored graph.
class NativeSearch {
 public:
  /// `runtime` is the address of _PyRuntime. `data`: the data of storages that are known, which holds no objects.
  NativeSearch(Mirror& memory, ProcessTypes& types, const Graph& graph, Paths& paths, Address runtime,
               std::vector<Range> data);

  /// Storages of so many bytes that are alive and not in the graph. Reads the memory once; none where there is more of
  /// it than a reading may cost, or no torch library.
  [[nodiscard]] std::vector<Address> unseen_storages(std::uint64_t smallest);

  /// Looks for the holders of storages, after unseen_storages(): reads the memory again for each object between a
  /// storage and what holds it.
  void search(const std::vector<Address>& storages);
  /// What the objects that were found prove, by `fresh`, which was not read from before the search was over.
  [[nodiscard]] Proof proof_by(Mirror& fresh);
  /// At most `limit` holders of a storage, by words that the proof's memory still has. A way that ends in a Python
  /// object is confirmed only if `second`, a reading of the same memory, still finds that object where it was.
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
  template <class Visit>
  void each_way(Address storage, const Proof& proof, Visit visit) const;

  Mirror& memory_;
  ProcessTypes& types_;
  const Graph& graph_;
  Paths& paths_;
  ThreadLocals thread_locals_;
  LibraryData libraries_;
  MemoryWords words_;
  HeapChunks heap_;
  std::vector<std::pair<Address, NodeIndex>> python_objects_;  ///< that a root leads to, by address
  std::unordered_map<Address, std::vector<Address>> tensors_;  ///< of a storage
  std::vector<NativeObject> objects_;
  std::unordered_map<Address, std::string> roots_;  ///< by place
  std::unordered_map<Address, ObjectIndex> by_begin_;
  std::unordered_map<Address, std::vector<ObjectIndex>> of_storage_;  ///< the storage itself and its tensors
};

}  // namespace dcmt::scan

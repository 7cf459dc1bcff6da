// Decides which words of memory are references of C++ objects: a word with an object's address may also be a stale
// value that a container has left.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "collector/scan/native/heap_chunks.h"
#include "collector/scan/objects/cpp_types.h"

namespace dcmt::scan {

/// An object in a chunk of malloc, and the words with the address of its begin.
struct NativeObject {
  struct Pointer {
    Address place = 0;
    bool is_root = false;      ///< the address has a name
    std::uint32_t holder = 0;  ///< otherwise, index of the object that contains it
  };
  Range range;
  std::vector<Pointer> pointers;
};

/// Uses the layouts of libstdc++. Not thread-safe.
class References {
 public:
  /// `memory` is read on demand, and must not be older than the pointers in question. All arguments must outlive this
  /// object.
  References(Mirror& memory, CppTypes& types, const HeapChunks& heap) : memory_(memory), types_(types), heap_(heap) {}

  /// True if its memory was freed.
  [[nodiscard]] bool is_free(const NativeObject& object) { return heap_.is_listed_as_free(object.range, memory_); }
  /// True if the word still has the object's address, and an object at this address keeps what it points to. The first
  /// word of a std::shared_ptr keeps nothing; the second one, the address of the control block, does.
  [[nodiscard]] bool keeps(const NativeObject& object, const NativeObject::Pointer& pointer);

  /// True if the address is in a std::vector's memory after its last element, or in a std::deque's memory outside its
  /// elements. Words of removed elements stay there. A container that was itself freed says nothing: its memory may
  /// have another owner by now.
  /// @param objects  all, in which the holders of pointers are indices
  [[nodiscard]] bool is_spare(const NativeObject& object, Address place, std::span<const NativeObject> objects);

  /// True if the object at `holder` is a tensor, and `place` is its member that keeps its storage, `object`.
  [[nodiscard]] bool is_storage_of_tensor(const NativeObject& object, Address holder, Address place);

  /// A member of a class: the class's virtual table, and the offset.
  using Member = std::pair<Address, Address>;
  /// @return the member at a place in an object; nullopt: the object's class is not known
  [[nodiscard]] std::optional<Member> member_at(Address object, Address place);

  /// True if the object at `holder` is the control block of std::shared_ptrs, and `place` is its word for the object
  /// that it deletes with the last of them.
  [[nodiscard]] bool is_object_of_control_block(Address holder, Address place);

  /// True if the word is the first of a std::vector whose memory is the object's chunk to its end. Such memory has no
  /// other owner.
  [[nodiscard]] bool is_memory_of_vector(const NativeObject& object, Address place);

  /// The reference count in the object: a tensor, a storage, or the control block of a std::shared_ptr; nothing for
  /// other objects. Without the reference of a tensor's own Python object that only the tensor keeps, as of one that a
  /// Python program gave to a library.
  [[nodiscard]] std::optional<std::uint32_t> count_of(const NativeObject& object);

 private:
  bool is_control_block(Address object);
  /// Since torch 2.10, a Python object counts as a reference to its tensor also where the tensor keeps it.
  bool keeps_own_python_object(Address tensor);
  bool is_deque_iterator(Address at);

  Mirror& memory_;
  CppTypes& types_;
  const HeapChunks& heap_;
};

}  // namespace dcmt::scan

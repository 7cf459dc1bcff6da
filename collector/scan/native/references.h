// Which words of memory are references of C++ objects: a word that has an object's address may also be what a container
// has left behind.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collector/scan/native/heap_chunks.h"
#include "collector/scan/objects/cpp_types.h"

namespace dcmt::scan {

/// An object in a piece of malloc's memory, and the words with the address of its beginning.
struct NativeObject {
  struct Pointer {
    Address place = 0;
    bool is_root = false;      ///< a person has a name for the place
    std::uint32_t holder = 0;  ///< else the object in which it lies: its index
  };
  Range range;
  std::vector<Pointer> pointers;
};

/// By the layouts of libstdc++. Not thread-safe.
class References {
 public:
  /// `memory` is read as it is needed, and not older than the pointers that are asked for. All must outlive this
  /// object.
  References(Mirror& memory, CppTypes& types, const HeapChunks& heap) : memory_(memory), types_(types), heap_(heap) {}

  /// Whether its memory has been given back.
  [[nodiscard]] bool is_free(const NativeObject& object) { return heap_.is_listed_as_free(object.range, memory_); }
  /// Whether the word still has the object's address, and an object at this place keeps what it points to. The first
  /// word of a std::shared_ptr keeps nothing: the second one, the address of the control block, does.
  [[nodiscard]] bool keeps(const NativeObject& object, const NativeObject::Pointer& pointer);

  /// Whether the place lies in the memory of a std::vector behind its last element, or in that of a std::deque outside
  /// its elements. Words of elements that have gone stay there.
  [[nodiscard]] bool is_spare(const NativeObject& object, Address place);

  /// How many references the object counts: a tensor, a storage, or the control block of a std::shared_ptr; nothing
  /// where it is another one.
  [[nodiscard]] std::optional<std::uint32_t> count_of(const NativeObject& object);

 private:
  bool is_control_block(Address object);
  bool is_deque_iterator(Address at);

  Mirror& memory_;
  CppTypes& types_;
  const HeapChunks& heap_;
};

}  // namespace dcmt::scan

// Decodes Python objects: finds the references of each by the layout of its type.
#pragma once

#include <optional>

#include "collector/scan/objects/cpp_objects.h"
#include "collector/scan/objects/found_references.h"
#include "collector/scan/objects/torch_objects.h"

namespace dcmt::scan {

/// The entries of a dictionary's keys object.
struct DictKeys {
  bool ok = false;
  bool text_only = false;  ///< entries are (key, value); false: (hash, key, value)
  std::uint64_t count = 0;
  Address entries = 0;

  [[nodiscard]] Address entry_size() const { return text_only ? 16 : 24; }
  [[nodiscard]] Address key_offset() const { return text_only ? 0 : 8; }
};

/// The code object of a frame; another object, or none, in a frame of the interpreter itself.
[[nodiscard]] Address code_of_frame(Mirror& memory, const PythonLayout& layout, Address frame);

/// Reads the keys object at `keys`; not ok if its numbers are invalid, for example because it is changing.
[[nodiscard]] DictKeys read_dict_keys(Mirror& memory, const PythonLayout& layout, Address keys);

/// Limit of entries. The references of a larger container are not read; it counts as torn.
inline constexpr std::uint64_t kLongestContainer = 1 << 24;

/// Decodes one object at a time. Not thread-safe.
class PythonObjects {
 public:
  /// @param leaves  as of FoundReferences
  PythonObjects(Mirror& memory, ProcessTypes& types, std::uint64_t longest = kLongestContainer, bool leaves = false);

  /// Replaces the content of `references` by the references of `object`.
  void decode(Address object, Kind kind, std::vector<Reference>& references);

  /// As Mirror::prefetch().
  void prefetch(Address object) { memory_.prefetch(object); }

  [[nodiscard]] std::size_t torn_objects() const { return found_.torn_objects(); }

 private:
  void python_object(Address object);
  /// Slots of a frame that are in use, as far as the interpreter has written that down.
  std::int64_t stack_top(Address frame);
  void frame(Address frame);
  void dict(Address object);
  std::optional<DictKeys> table_of(Address dict);
  /// Begins to load the objects that the next `count` words refer to.
  void prefetch(const std::byte* words, std::size_t count, std::size_t stride);
  void values(Address first, Address keys, Label label);
  void items(Address first, std::uint64_t count, Label label, Address stride = 8);
  void array(Address object);
  void deque(Address object);
  /// A context, or a part of one; false for other objects.
  bool context(Address object, const PythonType& type);
  void pickler(Address object);
  void function(Address object);
  void lru_cache(Address object, const PythonType& type);
  void exception(Address object, const PythonType& type);
  void module(Address object);
  void type_object(Address object, const PythonType& type);
  /// Those that a class statement declares by __slots__, or that are known, of a class whose base has a decoder.
  void members(Address object, const PythonType& type);
  void attributes(Address object, const PythonType& type);
  /// True for a coroutine, or another generator.
  [[nodiscard]] bool is_suspended(Address object);
  void words(Address object, const PythonType& type, std::int64_t from);

  Mirror& memory_;
  ProcessTypes& types_;
  const PythonLayout& layout_;
  const std::uint64_t longest_;
  FoundReferences found_;
  TorchObjects torch_;
  CppObjects cpp_;
};

}  // namespace dcmt::scan

#include "collector/scan/native/references.h"

#include <algorithm>

namespace dcmt::scan {
namespace {

// After the virtual table: std::_Sp_counted_base has a count of 32 bits, c10::intrusive_ptr_target one of 64 bits,
// whose low half counts strong references.
constexpr Address kCount = 8;
/// In a control block that was not allocated with its object: the object's address.
constexpr Address kShared = 16;

// std::vector: first element, end of the elements, end of the capacity.
constexpr Address kVectorEnd = 8, kVectorCapacity = 16;

/// Malloc's chunks are larger than what was asked for by less than this: it rounds up to 16 bytes, and leaves a rest
/// that is smaller than the smallest chunk, of 32 bytes, where it is.
constexpr Address kMallocRounds = 48;

// An iterator of std::deque: element, begin of its block, end of the block, place of the block in the list of blocks.
// The deque has two of them: for its first element, and for its end.
constexpr Address kBlockBegin = 8, kBlockEnd = 16, kBlockPlace = 24, kIterator = 32, kDequeBlock = 512;

}  // namespace

bool References::is_control_block(Address object) {
  const CppType* type = object == 0 ? nullptr : types_.type_of(memory_, object);
  return type != nullptr && type->name.starts_with("std::_Sp_counted");
}

std::optional<std::uint32_t> References::count_of(const NativeObject& object) {
  const CppType* type = types_.type_of(memory_, object.range.begin);
  const bool counts = type != nullptr && (type->kind == Kind::kTensor || type->kind == Kind::kStorage);
  if (!counts && !is_control_block(object.range.begin)) return std::nullopt;
  const auto count = memory_.value<std::uint32_t>(object.range.begin + kCount);
  const bool is_own = counts && type->kind == Kind::kTensor && count > 0 && keeps_own_python_object(object.range.begin);
  return is_own ? count - 1 : count;
}

bool References::keeps_own_python_object(Address tensor) {
  constexpr int kHasPythonObject = 63;
  if ((memory_.word(tensor + kCount) >> kHasPythonObject) == 0) return false;
  const Address object = memory_.word(tensor + static_cast<Address>(types_.layout().tensor_python));
  return object != 0 && memory_.value<std::uint32_t>(object) == 1 &&
         memory_.word(object + static_cast<Address>(types_.layout().python_tensor_cdata)) == tensor;
}

std::optional<References::Member> References::member_at(Address object, Address place) {
  if (types_.type_of(memory_, object) == nullptr) return std::nullopt;
  return Member{memory_.word(object), place - object};
}

bool References::is_object_of_control_block(Address holder, Address place) {
  if (place - holder != kShared) return false;
  const CppType* type = types_.type_of(memory_, holder);
  if (type == nullptr) return false;
  // Another deleter than these may delete nothing.
  const bool deletes = type->name.starts_with("std::_Sp_counted_ptr<") ||
                       (type->name.starts_with("std::_Sp_counted_deleter<") &&
                        type->name.find(", std::default_delete<") != std::string::npos);
  // Weak pointers keep the block beyond the object.
  return deletes && memory_.value<std::uint32_t>(holder + kCount) > 0;
}

bool References::is_storage_of_tensor(const NativeObject& object, Address holder, Address place) {
  if (place - holder != static_cast<Address>(types_.layout().tensor_storage)) return false;
  const CppType* storage = types_.type_of(memory_, object.range.begin);
  const CppType* tensor = types_.type_of(memory_, holder);
  return storage != nullptr && storage->kind == Kind::kStorage && tensor != nullptr && tensor->kind == Kind::kTensor;
}

bool References::keeps(const NativeObject& object, const NativeObject::Pointer& pointer) {
  if (memory_.word(pointer.place) != object.range.begin) return false;
  const Address next = memory_.word(pointer.place + sizeof(Address));
  return !is_control_block(next) || memory_.word(next + kShared) != object.range.begin;
}

bool References::is_memory_of_vector(const NativeObject& object, Address place) {
  const Range& range = object.range;
  const Address end = memory_.word(place + kVectorEnd);
  const Address capacity = memory_.word(place + kVectorCapacity);
  return memory_.word(place) == range.begin && range.begin < end && end <= capacity && capacity <= range.end &&
         range.end - capacity < kMallocRounds;
}

bool References::is_deque_iterator(Address at) {
  const Address begin = memory_.word(at + kBlockBegin);
  const Address element = memory_.word(at);
  return begin != 0 && memory_.word(at + kBlockEnd) == begin + kDequeBlock && element >= begin &&
         element <= begin + kDequeBlock && memory_.word(memory_.word(at + kBlockPlace)) == begin;
}

bool References::is_spare(const NativeObject& object, Address place, std::span<const NativeObject> objects) {
  return std::ranges::any_of(object.pointers, [&](const NativeObject::Pointer& pointer) {
    const Range& range = object.range;
    if (memory_.word(pointer.place) != range.begin) return false;
    if (!pointer.is_root && is_free(objects[pointer.holder])) return false;
    const Address end = memory_.word(pointer.place + kVectorEnd);
    const Address capacity = memory_.word(pointer.place + kVectorCapacity);
    if (range.begin <= end && end <= capacity && range.begin < capacity && capacity <= range.end && place >= end)
      return true;
    const Address iterator = pointer.place - kBlockBegin;
    if (!is_deque_iterator(iterator)) return false;
    const Address element = memory_.word(iterator);
    if (is_deque_iterator(iterator + kIterator)) return place < element;
    return is_deque_iterator(iterator - kIterator) && place >= element;
  });
}

}  // namespace dcmt::scan

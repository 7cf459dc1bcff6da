#include "collector/scan/objects/object_sizes.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "collector/scan/objects/numpy_array.h"
#include "collector/scan/objects/python_objects.h"
#include "collector/scan/objects/python_offsets.h"

namespace dcmt::scan {
namespace {

constexpr std::uint64_t kWord = 8;
/// A class with attributes of its own, or with weak references (since 3.12), has two words before its objects.
constexpr std::uint64_t kWeakReferencesFlag = 1 << 3, kWordsBefore = 16;
/// A damaged number must not make a size.
constexpr std::uint64_t kMost = std::uint64_t{1} << 36;
/// Equal in 3.11 to 3.15 (Modules/_collectionsmodule.c, arraymodule.c, Include/cpython/bytearrayobject.h).
constexpr std::uint64_t kDequeBlockItems = 64, kDequeBlockBytes = 528;
constexpr Address kArrayAllocated = 32, kArrayType = 40, kArrayTypeItem = 4;
constexpr Address kBytearrayAllocated = 24;
/// Before the number of entries, a table of keys has how many more fit (PyDictKeysObject).
constexpr Address kUsableBefore = 8;
/// Before the first line of a code object lies the depth of its operand stack.
constexpr Address kStackSizeBefore = 4;
/// Since 3.13, the flag that values are valid comes after the one that they are embedded.
constexpr Address kEmbeddedBefore = 1;
/// Since this version, a bytearray refers to an object of type bytes.
constexpr std::int64_t kBytearrayOfBytes = 0x30F;
/// Objects of classes that a program defines have room for one item more.
constexpr std::uint64_t kHeapTypeFlag = 1 << 9;
/// A short int has room for two digits, since its structure is a multiple of a word.
constexpr std::int64_t kFewestDigits = 2;

std::uint64_t whole_words(std::uint64_t bytes) { return (bytes + kWord - 1) / kWord * kWord; }

}  // namespace

std::uint64_t ObjectSizes::values(Address keys, bool in_object) const {
  const DictKeys shared = read_dict_keys(memory_, layout_, keys);
  if (!shared.ok) return 0;
  const Address counts = keys + static_cast<Address>(layout_.keys_nentries);
  const std::uint64_t room = std::min<std::uint64_t>(shared.count + memory_.word(counts - kUsableBefore), 64);
  // Before the values lies the order in which they were set, a byte each.
  return in_object || layout_.is_313_or_later() ? whole_words(room) + (room + 1) * kWord
                                                : whole_words(room + 2) + room * kWord;
}

std::uint64_t ObjectSizes::dict_tables(Address object) {
  const Address keys = memory_.word(object + layout_.dict_keys);
  if (const Address split = memory_.word(object + layout_.dict_values); split != 0) {
    // The values of attributes can lie in the object that has them.
    const bool is_in_object =
        layout_.is_313_or_later() && memory_.value<std::uint8_t>(split + layout_.values_valid - kEmbeddedBefore) != 0;
    return is_in_object ? 0 : values(keys, false);
  }
  const DictKeys table = read_dict_keys(memory_, layout_, keys);
  const auto log2_size = memory_.value<std::uint8_t>(keys + layout_.keys_log2_size);
  // All empty dicts share one table.
  if (!table.ok || log2_size < 3) return 0;
  const std::uint64_t usable = (std::uint64_t{1} << log2_size) * 2 / 3;
  return table.entries - keys + usable * table.entry_size();
}

std::uint64_t ObjectSizes::attribute_values(Address object, const PythonType& type) {
  if ((type.flags & layout_.flag_managed_dict) == 0) return 0;
  const Address keys = memory_.word(type.address + layout_.heaptype_cached_keys);
  if (layout_.is_313_or_later()) return (type.flags & layout_.flag_inline_values) != 0 ? values(keys, true) : 0;
  if (layout_.is_312_or_later()) return (memory_.word(object - kManagedDict) & 1) != 0 ? values(keys, false) : 0;
  return memory_.word(object - kManagedValues) != 0 ? values(keys, false) : 0;
}

std::uint64_t ObjectSizes::text(Address object, const PythonType& type) {
  const auto state = memory_.value<std::uint32_t>(object + kTextState);
  const std::uint64_t letters = memory_.word(object + kTextLength) + 1;
  const std::uint64_t bytes = letters * (state >> layout_.text_kind_bit & 7);
  // A subclass's text lies outside of the object.
  if ((state >> layout_.text_compact_bit & 1) == 0) return static_cast<std::uint64_t>(type.basic_size) + bytes;
  if ((state >> layout_.text_ascii_bit & 1) != 0) return static_cast<std::uint64_t>(layout_.ascii_text) + letters;
  return static_cast<std::uint64_t>(layout_.compact_text) + bytes;
}

std::uint64_t ObjectSizes::frame_values(Address frame) {
  const Address code = code_of_frame(memory_, layout_, frame);
  const auto variables = memory_.value<std::uint32_t>(code + layout_.code_nlocalsplus);
  const auto operands = memory_.value<std::uint32_t>(code + layout_.code_firstlineno - kStackSizeBefore);
  return std::uint64_t{8} * (std::min(variables, 10'000U) + std::min(operands, 10'000U));
}

std::uint64_t ObjectSizes::items(Address object, const PythonType& type) {
  switch (type.kind) {
    case Kind::kDict:
      return dict_tables(object);
    case Kind::kList:
      return kWord * memory_.word(object + layout_.list_items + kWord);
    case Kind::kSet: {
      const Address table = memory_.word(object + layout_.set_table);
      const bool is_inside = table >= object && table < object + static_cast<Address>(type.basic_size);
      return is_inside ? 0 : 2 * kWord * (memory_.word(object + layout_.set_mask) + 1);
    }
    case Kind::kDeque: {
      const std::uint64_t end = memory_.word(object + kDequeFirstIndex) + memory_.word(object + layout_.var_size);
      return kDequeBlockBytes * std::max<std::uint64_t>(1, (end + kDequeBlockItems - 1) / kDequeBlockItems);
    }
    case Kind::kGenerator:
      return frame_values(object + layout_.generator_frame);
    case Kind::kFrameObject:
      return frame_values(memory_.word(object + layout_.frameobject_frame));
    case Kind::kArray: {
      const std::optional<OwnedData> data = owned_data(memory_, object);
      return data ? data->bytes : 0;
    }
    case Kind::kObject:
      if (type.name == "bytearray" && layout_.version < kBytearrayOfBytes)
        return memory_.word(object + kBytearrayAllocated);
      if (type.name == "array.array") {
        const auto item = memory_.value<std::uint32_t>(memory_.word(object + kArrayType) + kArrayTypeItem);
        return std::min(item, 16U) * memory_.word(object + kArrayAllocated);
      }
      break;
    default:
      break;
  }
  if (type.item_size <= 0) return 0;
  std::int64_t count = std::abs(memory_.value<std::int64_t>(object + layout_.var_size));
  if (type.has_flag(kLongBit)) {
    if (layout_.is_312_or_later()) count >>= 3;  // digits, after the bits of a tag
    count = std::max(count, kFewestDigits);
  }
  if ((type.flags & kHeapTypeFlag) != 0) ++count;
  return static_cast<std::uint64_t>(type.item_size) * static_cast<std::uint64_t>(count);
}

std::uint64_t ObjectSizes::of(Address object, const PythonType& type) {
  const bool has_words_before =
      (type.flags & (static_cast<std::uint64_t>(layout_.flag_managed_dict) | kWeakReferencesFlag)) != 0;
  const std::uint64_t fields = type.has_flag(kUnicodeBit)
                                   ? text(object, type)
                                   : static_cast<std::uint64_t>(type.basic_size) + items(object, type);
  return std::min(kMost, fields + (type.has_flag(kCollectedBit) ? kCollectorHead : 0) +
                             (has_words_before ? kWordsBefore : 0) + attribute_values(object, type));
}

}  // namespace dcmt::scan

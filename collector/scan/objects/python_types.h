// Types of Python objects in the inspected process. They are recognized by their own type, without symbols.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/scan/layout/python_layout.h"
#include "collector/scan/memory/mirror.h"
#include "collector/scan/objects/known_members.h"
#include "collector/scan/objects/reference.h"

namespace dcmt::scan {

struct PythonType {
  Address address = 0;
  std::string name;  ///< tp_name: "list", "collections.deque", "Adam"
  Kind kind = Kind::kObject;
  std::int64_t basic_size = 0;
  std::int64_t item_size = 0;
  std::int64_t dict_offset = 0;
  std::int64_t weak_offset = 0;
  std::uint64_t flags = 0;
  bool leaf = false;                 ///< its objects have no references
  std::vector<KnownMember> members;  ///< those that are objects: of __slots__, and of C types of its bases

  [[nodiscard]] bool has_flag(unsigned bit) const { return (flags >> bit & 1) != 0; }
};

// Bits of tp_flags, the same from CPython 3.11 to 3.15 (Include/object.h).
inline constexpr unsigned kHeapTypeBit = 9;
inline constexpr unsigned kCollectedBit = 14;
inline constexpr unsigned kLongBit = 24;
inline constexpr unsigned kListBit = 25;
inline constexpr unsigned kTupleBit = 26;
inline constexpr unsigned kBytesBit = 27;
inline constexpr unsigned kUnicodeBit = 28;
inline constexpr unsigned kDictBit = 29;
inline constexpr unsigned kExceptionBit = 30;
inline constexpr unsigned kTypeBit = 31;

/// Types by address. A type is read only once.
class PythonTypes {
 public:
  /// `layout` must outlive this object.
  explicit PythonTypes(const PythonLayout& layout) : layout_(layout) {}

  /// The type at `address`; nullptr if there is none.
  const PythonType* type_at(Mirror& memory, Address address) {
    Recent& recent = recent_[(address >> 4) % kRecent];
    if (recent.address == address && address != 0) return recent.type;
    const PythonType* type = type_at(memory, address, 0);
    if (type != nullptr) recent = {address, type};
    return type;
  }

  /// The type of the object at `object`; nullptr if no object can be there.
  const PythonType* type_of(Mirror& memory, Address object);

  /// Forgets addresses without a type: one may have been made there since.
  void forget_misses();

 private:
  const PythonType* type_at(Mirror& memory, Address address, int depth);
  void classify(Mirror& memory, PythonType& type);

  /// A type that was found before. Few types have most objects.
  struct Recent {
    Address address = 0;
    const PythonType* type = nullptr;
  };
  static constexpr std::size_t kRecent = 1024;

  const PythonLayout& layout_;
  std::unordered_map<Address, std::unique_ptr<PythonType>> types_;
  std::vector<Recent> recent_ = std::vector<Recent>(kRecent);
};

}  // namespace dcmt::scan

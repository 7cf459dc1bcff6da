// Types: what a variable or a member is made of.
#include <algorithm>

#include "collector/recorder/unwind/debug_info.h"
#include "collector/recorder/unwind/dwarf_numbers.h"

namespace dcmt::recorder {
namespace {

/// Limit of names for a type.
constexpr int kMostNames = 16;

}  // namespace

TypeEntry DebugInfo::type_at(std::uint64_t offset) const {
  TypeEntry type;
  for (int names = 0; offset != 0 && names < kMostNames; ++names) {
    const Unit* const unit = unit_with(offset);
    if (unit == nullptr) return type;
    ByteReader reader = reader_at(offset);
    const Entry entry = entry_at(*unit, reader);
    if (!entry.ok) return type;
    if (entry.tag == dwarf::kTypedefTag || entry.tag == dwarf::kConstTag || entry.tag == dwarf::kVolatileTag) {
      offset = entry.type;
      continue;
    }
    type.at = offset;
    type.name = entry.name;
    type.bytes = entry.bytes;
    type.type = entry.type;
    switch (entry.tag) {
      case dwarf::kPointerTag:
        type.is = TypeEntry::Is::kPointer;
        break;
      case dwarf::kReferenceTag:
      case dwarf::kMoveTag:
        type.is = TypeEntry::Is::kReference;
        break;
      case dwarf::kArrayTag:
        type.is = TypeEntry::Is::kArray;
        break;
      case dwarf::kEnumTag:
        type.is = TypeEntry::Is::kUnsigned;
        break;
      case dwarf::kNumberTag:
        type.is = entry.encoding == dwarf::kSigned || entry.encoding == dwarf::kSignedChar ? TypeEntry::Is::kSigned
                                                                                           : TypeEntry::Is::kUnsigned;
        break;
      case dwarf::kClassTag:
      case dwarf::kStructTag:
        type.is = TypeEntry::Is::kDeclared;
        if (!entry.is_declaration) add_members(*unit, entry, reader, type);
        break;
      default:
        break;
    }
    return type;
  }
  return type;
}

/// @param reader  behind the entry of the class
void DebugInfo::add_members(const Unit& unit, const Entry& of, ByteReader& reader, TypeEntry& type) const {
  type.is = TypeEntry::Is::kClass;
  for (int depth = of.has_children ? 1 : 0; depth > 0 && reader.ok() && reader.at() < unit.end;) {
    const Entry entry = entry_at(unit, reader);
    if (!entry.ok) return;
    if (entry.tag == 0) --depth;
    if (depth == 1 && (entry.tag == dwarf::kMemberTag || entry.tag == dwarf::kBaseTag) && entry.has_member_offset) {
      type.members.push_back({entry.name, entry.member_offset, entry.type, entry.tag == dwarf::kBaseTag});
    }
    if (depth == 1 && entry.tag == dwarf::kParameterTag) type.parameters.push_back(entry.type);
    if (entry.tag != 0 && entry.has_children) ++depth;
  }
}

const TypeEntry::Member* TypeEntry::member(std::string_view name_of_it) const {
  const auto found = std::ranges::find(members, name_of_it, &Member::name);
  return found != members.end() && !found->is_base ? &*found : nullptr;
}

const TypeEntry::Member* TypeEntry::base(const DebugInfo& info, std::string_view beginning) const {
  const auto found = std::ranges::find_if(
      members, [&](const Member& each) { return each.is_base && info.type_at(each.type).name.starts_with(beginning); });
  return found != members.end() ? &*found : nullptr;
}

}  // namespace dcmt::recorder

#include "collector/recorder/unwind/debug_info.h"

#include <algorithm>
#include <utility>

namespace dcmt::recorder {
namespace {

using scan::Address;

/// Numbers of DWARF: tags, attributes, forms of attributes, entries of lists of ranges.
constexpr std::uint64_t kFunctionTag = 0x2e, kInlinedTag = 0x1d, kBlockTag = 0x0b, kVariableTag = 0x34,
                        kArgumentTag = 0x05, kClassTag = 0x02, kStructTag = 0x13, kArrayTag = 0x01, kTypedefTag = 0x16,
                        kConstTag = 0x26, kVolatileTag = 0x35, kPointerTag = 0x0f, kReferenceTag = 0x10,
                        kMoveTag = 0x42, kMemberTag = 0x0d, kBaseTag = 0x1c, kParameterTag = 0x2f, kNumberTag = 0x24,
                        kEnumTag = 0x04;
constexpr std::uint64_t kName = 0x03, kLines = 0x10, kLow = 0x11, kHigh = 0x12, kOrigin = 0x31, kSpecification = 0x47,
                        kRanges = 0x55, kCallFile = 0x58, kCallLine = 0x59, kLinkageName = 0x6e, kTextsBase = 0x72,
                        kAddressesBase = 0x73, kRangesBase = 0x74, kPlace = 0x02, kBytes = 0x0b, kFrameBase = 0x40,
                        kType = 0x49, kFile = 0x3a, kLine = 0x3b, kMemberPlace = 0x38, kEncoding = 0x3e,
                        kDeclaration = 0x3c;
/// Operations of expressions: the frame's end, what lies at an offset from the base, and at an address.
constexpr std::uint8_t kFrameEnd = 0x9c, kFromBase = 0x91, kAtAddress = 0x03;
/// Encodings of numbers: signed, signed char.
constexpr std::uint64_t kSigned = 0x05, kSignedChar = 0x06;
constexpr std::uint64_t kAddressForm = 0x01, kImplicit = 0x21, kIndirect = 0x16, kNumberedAddress = 0x1b,
                        kNumberedRanges = 0x23;
constexpr std::uint8_t kWholeUnit = 0x01, kPartialUnit = 0x03;
constexpr std::uint64_t kLongUnit = 0xfffffff0;
/// Limit of the section's bytes.
constexpr std::size_t kMostInfo = std::size_t{1} << 30;
/// Limit for a search of all of it.
constexpr std::size_t kMostSearched = std::size_t{32} << 20;
/// Limit of names for a type.
constexpr int kMostNames = 16;

bool is_within(Address address, Address begin, Address end) { return address >= begin && address < end; }

std::string_view text_at(std::string_view section, std::uint64_t at) {
  return at < section.size() ? ByteReader(section.substr(at)).text() : std::string_view();
}

std::uint64_t number_of_bytes(ByteReader& reader, unsigned bytes) {
  std::uint64_t number = 0;
  for (unsigned i = 0; i < bytes; ++i) number |= std::uint64_t{reader.byte()} << (8 * i);
  return number;
}

/// The value of an attribute.
struct Value {
  std::uint64_t number = 0;
  std::string_view text;
  std::string_view block;
  bool is_reference_in_unit = false, is_text_number = false, is_address_number = false;
  bool ok = true;
};

struct Sections {
  std::string_view texts, line_texts;
};

Value value_in(ByteReader& reader, std::uint64_t form, std::int64_t constant, const Sections& sections) {
  Value value;
  switch (form) {
    case 0x01:  // address
    case 0x07:  // data of 8 bytes
    case 0x20:  // a type's signature
    case 0x24:
      value.number = reader.fixed<std::uint64_t>();
      break;
    case 0x03:
      reader.skip(reader.fixed<std::uint16_t>());
      break;
    case 0x04:
      reader.skip(reader.fixed<std::uint32_t>());
      break;
    case 0x09:    // block
    case 0x18: {  // expression
      const std::uint64_t bytes = reader.uleb();
      value.block = reader.rest().substr(0, bytes);
      reader.skip(bytes);
      break;
    }
    case 0x0a:
      reader.skip(reader.byte());
      break;
    case 0x05:
      value.number = reader.fixed<std::uint16_t>();
      break;
    case 0x06:
    case 0x10:  // reference in the section
    case 0x17:  // offset in another section
    case 0x1c:
    case 0x1d:
    case 0x1f20:
    case 0x1f21:
      value.number = reader.fixed<std::uint32_t>();
      break;
    case 0x08:
      value.text = reader.text();
      break;
    case 0x0b:
    case 0x0c:
      value.number = reader.byte();
      break;
    case 0x0d:
      value.number = static_cast<std::uint64_t>(reader.sleb());
      break;
    case 0x0e:
      value.text = text_at(sections.texts, reader.fixed<std::uint32_t>());
      break;
    case 0x1f:
      value.text = text_at(sections.line_texts, reader.fixed<std::uint32_t>());
      break;
    case 0x0f:
    case 0x22:
    case kNumberedRanges:
      value.number = reader.uleb();
      break;
    case 0x11:
    case 0x12:
    case 0x13:
    case 0x14:
      value.number = number_of_bytes(reader, 1u << (form - 0x11));
      value.is_reference_in_unit = true;
      break;
    case 0x15:
      value.number = reader.uleb();
      value.is_reference_in_unit = true;
      break;
    case 0x19:
      value.number = 1;
      break;
    case 0x1a:
      value.number = reader.uleb();
      value.is_text_number = true;
      break;
    case 0x25:
    case 0x26:
    case 0x27:
    case 0x28:
      value.number = number_of_bytes(reader, static_cast<unsigned>(form - 0x24));
      value.is_text_number = true;
      break;
    case kNumberedAddress:
      value.number = reader.uleb();
      value.is_address_number = true;
      break;
    case 0x29:
    case 0x2a:
    case 0x2b:
    case 0x2c:
      value.number = number_of_bytes(reader, static_cast<unsigned>(form - 0x28));
      value.is_address_number = true;
      break;
    case 0x1e:
      reader.skip(16);
      break;
    case kImplicit:
      value.number = static_cast<std::uint64_t>(constant);
      break;
    case kIndirect:
      return value_in(reader, reader.uleb(), 0, sections);
    default:
      value.ok = false;
  }
  value.ok = value.ok && reader.ok();
  return value;
}

}  // namespace

DebugInfo::DebugInfo(const scan::ElfFile& file)
    : info_(file.section(".debug_info")),
      shape_bytes_(file.section(".debug_abbrev")),
      texts_(file.section(".debug_str")),
      line_texts_(file.section(".debug_line_str")),
      text_offsets_(file.section(".debug_str_offsets")),
      addresses_(file.section(".debug_addr")),
      range_lists_(file.section(".debug_rnglists")),
      old_ranges_(file.section(".debug_ranges")) {
  if (info_.size() > kMostInfo) return;
  ByteReader reader(info_);
  while (reader.ok() && !reader.at_end()) {
    const std::uint64_t begin = reader.at();
    const auto length = reader.fixed<std::uint32_t>();
    if (!reader.ok() || length >= kLongUnit) break;
    if (std::optional<Unit> unit = unit_at(begin)) units_.push_back(std::move(*unit));
    reader.skip(length);
  }
}

ByteReader DebugInfo::reader_at(std::uint64_t offset) const {
  ByteReader reader(info_);
  reader.skip(offset);
  return reader;
}

const DebugInfo::Shapes& DebugInfo::shapes_at(std::uint64_t offset) {
  const auto [known, is_new] = shapes_.try_emplace(offset);
  if (!is_new) return known->second;
  ByteReader reader(shape_bytes_);
  reader.skip(offset);
  for (std::uint64_t number = reader.uleb(); reader.ok() && number != 0; number = reader.uleb()) {
    Shape shape;
    shape.tag = reader.uleb();
    shape.has_children = reader.byte() != 0;
    while (reader.ok()) {
      Attribute attribute{};
      attribute.name = reader.uleb();
      attribute.form = reader.uleb();
      if (attribute.form == kImplicit) attribute.constant = reader.sleb();
      if (attribute.name == 0 && attribute.form == 0) break;
      shape.attributes.push_back(attribute);
    }
    known->second.emplace(number, std::move(shape));
  }
  return known->second;
}

/// Nothing for a unit without code, or of another version.
std::optional<DebugInfo::Unit> DebugInfo::unit_at(std::uint64_t offset) {
  ByteReader reader = reader_at(offset);
  Unit unit;
  unit.begin = offset;
  unit.end = reader.fixed<std::uint32_t>() + reader.at();
  unit.version = reader.fixed<std::uint16_t>();
  std::uint64_t shapes = 0;
  if (unit.version == 5) {
    const std::uint8_t type = reader.byte();
    reader.byte();  // bytes of an address
    shapes = reader.fixed<std::uint32_t>();
    if (type != kWholeUnit && type != kPartialUnit) return {};
  } else if (unit.version == 4) {
    shapes = reader.fixed<std::uint32_t>();
    reader.byte();
  } else {
    return {};
  }
  if (!reader.ok() || unit.end > info_.size()) return {};
  unit.shapes = &shapes_at(shapes);
  unit.first = reader.at();
  // The bases come first: other attributes of the same entry need them.
  const std::uint64_t number = reader.uleb();
  const auto shape = unit.shapes->find(number);
  if (shape == unit.shapes->end()) return {};
  for (const Attribute& attribute : shape->second.attributes) {
    const Value value = value_in(reader, attribute.form, attribute.constant, {texts_, line_texts_});
    if (!value.ok) return {};
    if (attribute.name == kTextsBase) unit.texts_base = value.number;
    if (attribute.name == kAddressesBase) unit.addresses_base = value.number;
    if (attribute.name == kRangesBase) unit.ranges_base = value.number;
  }
  ByteReader again = reader_at(unit.first);
  const Entry entry = entry_at(unit, again);
  if (!entry.ok) return {};
  unit.lines = entry.lines;
  unit.low = entry.low.value_or(0);
  unit.covers = ranges_of(entry, unit);
  return unit;
}

Address DebugInfo::address_number(std::uint64_t number, const Unit& unit) const {
  ByteReader reader(addresses_);
  reader.skip(unit.addresses_base + number * sizeof(Address));
  return reader.fixed<Address>();
}

DebugInfo::Entry DebugInfo::entry_at(const Unit& unit, ByteReader& reader) const {
  Entry entry;
  const std::uint64_t number = reader.uleb();
  entry.ok = reader.ok();
  if (number == 0) return entry;
  const auto shape = unit.shapes->find(number);
  entry.ok = entry.ok && shape != unit.shapes->end();
  if (!entry.ok) return entry;
  entry.tag = shape->second.tag;
  entry.has_children = shape->second.has_children;
  for (const Attribute& attribute : shape->second.attributes) {
    Value value = value_in(reader, attribute.form, attribute.constant, {texts_, line_texts_});
    if (!value.ok) {
      entry.ok = false;
      return entry;
    }
    if (value.is_text_number && (attribute.name == kName || attribute.name == kLinkageName)) {
      ByteReader offset(text_offsets_);
      offset.skip(unit.texts_base + value.number * sizeof(std::uint32_t));
      value.text = text_at(texts_, offset.fixed<std::uint32_t>());
    }
    switch (attribute.name) {
      case kName:
        entry.name = value.text;
        break;
      case kLinkageName:
        entry.linkage_name = value.text;
        break;
      case kOrigin:
      case kSpecification:
        entry.origin = value.is_reference_in_unit ? unit.begin + value.number : value.number;
        break;
      case kLines:
        entry.lines = value.number;
        break;
      case kLow:
        entry.low = value.is_address_number ? address_number(value.number, unit) : value.number;
        break;
      case kHigh:
        entry.high = value.is_address_number ? address_number(value.number, unit) : value.number;
        entry.high_is_length = attribute.form != kAddressForm && !value.is_address_number;
        break;
      case kRanges:
        entry.ranges = value.number;
        entry.ranges_are_numbered = attribute.form == kNumberedRanges;
        break;
      case kPlace:
        entry.place = value.block;
        break;
      case kFrameBase:
        entry.frame_base = value.block;
        break;
      case kType:
        entry.type = value.is_reference_in_unit ? unit.begin + value.number : value.number;
        break;
      case kFile:
        entry.file = value.number;
        break;
      case kLine:
        entry.line = static_cast<std::int64_t>(value.number);
        break;
      case kBytes:
        entry.bytes = value.number;
        break;
      case kMemberPlace:
        entry.member_offset = value.number;
        entry.has_member_offset = value.block.empty();
        break;
      case kEncoding:
        entry.encoding = value.number;
        break;
      case kDeclaration:
        entry.is_declaration = true;
        break;
      case kCallFile:
        entry.call_file = value.number;
        break;
      case kCallLine:
        entry.call_line = static_cast<std::int64_t>(value.number);
        break;
      default:
        break;
    }
  }
  return entry;
}

std::vector<DebugInfo::Range> DebugInfo::ranges_of(const Entry& entry, const Unit& unit) const {
  if (entry.ranges && unit.version >= 5) {
    std::uint64_t at = *entry.ranges;
    if (entry.ranges_are_numbered) {
      ByteReader reader(range_lists_);
      reader.skip(unit.ranges_base + at * sizeof(std::uint32_t));
      at = unit.ranges_base + reader.fixed<std::uint32_t>();
    }
    return listed(at, unit);
  }
  if (entry.ranges) return listed_old(*entry.ranges, unit);
  if (!entry.low || !entry.high) return {};
  return {{*entry.low, entry.high_is_length ? *entry.low + *entry.high : *entry.high}};
}

std::vector<DebugInfo::Range> DebugInfo::listed(std::uint64_t at, const Unit& unit) const {
  std::vector<Range> ranges;
  ByteReader reader(range_lists_);
  reader.skip(at);
  Address base = unit.low;
  while (reader.ok()) {
    Range range;
    switch (reader.byte()) {
      case 1:
        base = address_number(reader.uleb(), unit);
        continue;
      case 2:
        range.begin = address_number(reader.uleb(), unit);
        range.end = address_number(reader.uleb(), unit);
        break;
      case 3:
        range.begin = address_number(reader.uleb(), unit);
        range.end = range.begin + reader.uleb();
        break;
      case 4:
        range.begin = base + reader.uleb();
        range.end = base + reader.uleb();
        break;
      case 5:
        base = reader.fixed<Address>();
        continue;
      case 6:
        range.begin = reader.fixed<Address>();
        range.end = reader.fixed<Address>();
        break;
      case 7:
        range.begin = reader.fixed<Address>();
        range.end = range.begin + reader.uleb();
        break;
      default:
        return ranges;
    }
    ranges.push_back(range);
  }
  return ranges;
}

std::vector<DebugInfo::Range> DebugInfo::listed_old(std::uint64_t at, const Unit& unit) const {
  std::vector<Range> ranges;
  ByteReader reader(old_ranges_);
  reader.skip(at);
  Address base = unit.low;
  while (reader.ok()) {
    const auto begin = reader.fixed<Address>(), end = reader.fixed<Address>();
    if (begin == 0 && end == 0) break;
    if (begin == ~Address{0}) {
      base = end;
    } else {
      ranges.push_back({base + begin, base + end});
    }
  }
  return ranges;
}

void DebugInfo::index(Unit& unit) {
  if (std::exchange(unit.is_indexed, true)) return;
  ByteReader reader = reader_at(unit.first);
  std::vector<std::uint64_t> handlers;             // classes around the entry that are one; 0: another one
  std::map<std::uint64_t, std::uint64_t> managed;  // functors by the declaration of the function
  while (reader.ok() && reader.at() < unit.end) {
    const std::uint64_t at = reader.at();
    const Entry entry = entry_at(unit, reader);
    if (!entry.ok) break;
    const bool is_class = entry.tag == kClassTag || entry.tag == kStructTag;
    const bool is_manager = entry.tag == kFunctionTag && entry.name == "_M_manager" && !handlers.empty();
    if (is_manager && handlers.back() != 0) {
      if (const TypeEntry handler = type_at(handlers.back()); handler.parameters.size() == 2)
        managed[at] = handler.parameters[1];
    }
    if (const auto declared = managed.find(entry.origin); entry.tag == kFunctionTag && declared != managed.end()) {
      for (const Range& range : ranges_of(entry, unit)) unit.functors.emplace_back(range.begin, declared->second);
    }
    if (entry.tag == 0 && !handlers.empty()) handlers.pop_back();
    if (entry.tag != 0 && entry.has_children)
      handlers.push_back(is_class && entry.name.starts_with("_Function_handler<") ? at : 0);
    if (entry.tag == kVariableTag && !entry.place.empty()) {
      ByteReader place(entry.place);
      const bool is_at_address = place.byte() == kAtAddress;
      const auto address = place.fixed<Address>();
      std::optional<FrameVariable> variable;
      if (is_at_address && place.ok() && place.at_end()) variable = declared(unit, entry);
      if (variable) {
        variable->offset = static_cast<std::int64_t>(address);
        unit.statics.push_back(*std::move(variable));
      }
    }
    if (entry.tag != kFunctionTag || !entry.has_children) continue;
    const bool has_frame = entry.frame_base.size() == 1 && static_cast<std::uint8_t>(entry.frame_base[0]) == kFrameEnd;
    for (const Range& range : ranges_of(entry, unit)) unit.functions.push_back({range, reader.at(), has_frame});
  }
}

const DebugInfo::Unit* DebugInfo::unit_with(std::uint64_t offset) const {
  const auto found =
      std::ranges::find_if(units_, [&](const Unit& unit) { return is_within(offset, unit.begin, unit.end); });
  return found != units_.end() ? &*found : nullptr;
}

std::string DebugInfo::name_of(const Entry& entry, int depth) const {
  constexpr int kDeepest = 8;
  if (!entry.linkage_name.empty()) return std::string(entry.linkage_name);
  const Unit* const unit = entry.origin != 0 && depth < kDeepest ? unit_with(entry.origin) : nullptr;
  if (unit == nullptr) return std::string(entry.name);
  ByteReader reader = reader_at(entry.origin);
  const Entry origin = entry_at(*unit, reader);
  std::string name = origin.ok ? name_of(origin, depth + 1) : std::string();
  return name.empty() ? std::string(entry.name) : name;
}

TypeEntry DebugInfo::type_at(std::uint64_t offset) const {
  TypeEntry type;
  for (int names = 0; offset != 0 && names < kMostNames; ++names) {
    const Unit* const unit = unit_with(offset);
    if (unit == nullptr) return type;
    ByteReader reader = reader_at(offset);
    const Entry entry = entry_at(*unit, reader);
    if (!entry.ok) return type;
    if (entry.tag == kTypedefTag || entry.tag == kConstTag || entry.tag == kVolatileTag) {
      offset = entry.type;
      continue;
    }
    type.at = offset;
    type.name = entry.name;
    type.bytes = entry.bytes;
    type.type = entry.type;
    switch (entry.tag) {
      case kPointerTag:
        type.is = TypeEntry::Is::kPointer;
        break;
      case kReferenceTag:
      case kMoveTag:
        type.is = TypeEntry::Is::kReference;
        break;
      case kArrayTag:
        type.is = TypeEntry::Is::kArray;
        break;
      case kEnumTag:
        type.is = TypeEntry::Is::kUnsigned;
        break;
      case kNumberTag:
        type.is = entry.encoding == kSigned || entry.encoding == kSignedChar ? TypeEntry::Is::kSigned
                                                                             : TypeEntry::Is::kUnsigned;
        break;
      case kClassTag:
      case kStructTag:
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
    if (depth == 1 && (entry.tag == kMemberTag || entry.tag == kBaseTag) && entry.has_member_offset) {
      type.members.push_back({entry.name, entry.member_offset, entry.type, entry.tag == kBaseTag});
    }
    if (depth == 1 && entry.tag == kParameterTag) type.parameters.push_back(entry.type);
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

/// A variable with what its declaration says, which may be another entry.
std::optional<FrameVariable> DebugInfo::declared(const Unit& unit, const Entry& entry) const {
  FrameVariable variable;
  Entry declaration = entry;
  const Unit* declaring = &unit;
  if (const Unit* other = entry.origin != 0 ? unit_with(entry.origin) : nullptr; other != nullptr) {
    ByteReader reader = reader_at(entry.origin);
    declaration = entry_at(*other, reader);
    declaring = other;
  }
  const TypeEntry type = type_at(entry.type != 0 ? entry.type : declaration.type);
  const bool refers = type.is == TypeEntry::Is::kPointer || type.is == TypeEntry::Is::kReference;
  const bool is_declared = type.is == TypeEntry::Is::kDeclared;  // defined elsewhere, with a size that is not known
  const bool is_object = type.is == TypeEntry::Is::kClass || type.is == TypeEntry::Is::kArray || is_declared;
  if ((!refers && !is_object) || (is_object && !is_declared && type.bytes == 0) || declaration.name.empty())
    return std::nullopt;
  variable.bytes = is_object ? type.bytes : 0;
  variable.type = type.at;
  variable.name = declaration.name;
  variable.unit = declaring->lines;
  variable.file = declaration.file;
  variable.line = declaration.line;
  variable.is_argument = entry.tag == kArgumentTag;
  return variable;
}

void DebugInfo::add_variable(const Unit& unit, const Entry& entry, Found& found) const {
  ByteReader place(entry.place);
  if (entry.place.empty() || place.byte() != kFromBase) return;
  const std::int64_t offset = place.sleb();
  if (!place.ok() || !place.at_end()) return;
  std::optional<FrameVariable> variable = declared(unit, entry);
  if (!variable) return;
  variable->offset = offset;
  variable->level = found.calls.size();
  variable->is_in_block = found.is_in_block;
  if (!found.calls.empty()) variable->function = found.calls.back().function;
  found.variables.push_back(*std::move(variable));
}

/// Follows the children from an offset on down to what is at the instruction.
void DebugInfo::descend(const Unit& unit, std::uint64_t from, Address instruction, Found& found) const {
  ByteReader reader = reader_at(from);
  for (int depth = 1; depth > 0 && reader.ok() && reader.at() < unit.end;) {
    const Entry entry = entry_at(unit, reader);
    if (!entry.ok) return;
    if (entry.tag == 0) --depth;
    if (depth == 1 && (entry.tag == kVariableTag || entry.tag == kArgumentTag)) add_variable(unit, entry, found);
    if (depth == 1 && (entry.tag == kInlinedTag || entry.tag == kBlockTag)) {
      const std::vector<Range> ranges = ranges_of(entry, unit);
      const bool is_here = std::ranges::any_of(
          ranges, [&](const Range& range) { return is_within(instruction, range.begin, range.end); });
      if (is_here && entry.tag == kInlinedTag) {
        found.calls.push_back({name_of(entry), unit.lines, entry.call_file, entry.call_line});
      }
      if (is_here && !entry.has_children) return;
      found.is_in_block |= is_here;
      if (is_here) continue;  // its children come next, and are what is looked at from here on
    }
    if (entry.tag != 0 && entry.has_children) ++depth;
  }
}

std::pair<const DebugInfo::Unit*, const DebugInfo::Function*> DebugInfo::function_at(Address instruction) {
  const auto covers = [&](const Range& range) { return is_within(instruction, range.begin, range.end); };
  for (Unit& unit : units_) {
    if (std::ranges::none_of(unit.covers, covers)) continue;
    index(unit);
    const auto function = std::ranges::find_if(unit.functions, covers, &Function::range);
    if (function != unit.functions.end()) return {&unit, &*function};
  }
  return {};
}

std::vector<InlinedCall> DebugInfo::inlined_at(Address instruction) {
  Found found;
  if (const auto [unit, function] = function_at(instruction); function != nullptr) {
    descend(*unit, function->children, instruction, found);
  }
  std::ranges::reverse(found.calls);
  return found.calls;
}

std::vector<FrameVariable> DebugInfo::variables_at(Address instruction) {
  Found found;
  if (const auto [unit, function] = function_at(instruction); function != nullptr && function->has_frame) {
    descend(*unit, function->children, instruction, found);
  }
  return found.variables;
}

std::vector<std::pair<Address, std::uint64_t>> DebugInfo::functors() {
  std::vector<std::pair<Address, std::uint64_t>> all;
  if (info_.size() > kMostSearched) return all;
  for (Unit& unit : units_) {
    index(unit);
    all.insert(all.end(), unit.functors.begin(), unit.functors.end());
  }
  return all;
}

std::vector<FrameVariable> DebugInfo::statics() {
  std::vector<FrameVariable> all;
  if (info_.size() > kMostSearched) return all;
  for (Unit& unit : units_) {
    index(unit);
    all.insert(all.end(), unit.statics.begin(), unit.statics.end());
  }
  return all;
}

}  // namespace dcmt::recorder

#include "collector/recorder/unwind/debug_info.h"

#include <algorithm>
#include <utility>

#include "collector/recorder/unwind/dwarf_numbers.h"

namespace dcmt::recorder {
namespace {

using scan::Address;

/// Limit of the section's bytes.
constexpr std::size_t kMostInfo = std::size_t{1} << 30;

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
    case dwarf::kNumberedRanges:
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
    case dwarf::kNumberedAddress:
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
    case dwarf::kImplicit:
      value.number = static_cast<std::uint64_t>(constant);
      break;
    case dwarf::kIndirect:
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
    if (!reader.ok() || length >= dwarf::kLongUnit) break;
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
      if (attribute.form == dwarf::kImplicit) attribute.constant = reader.sleb();
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
    if (type != dwarf::kWholeUnit && type != dwarf::kPartialUnit) return {};
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
    if (attribute.name == dwarf::kTextsBase) unit.texts_base = value.number;
    if (attribute.name == dwarf::kAddressesBase) unit.addresses_base = value.number;
    if (attribute.name == dwarf::kRangesBase) unit.ranges_base = value.number;
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
    if (value.is_text_number && (attribute.name == dwarf::kName || attribute.name == dwarf::kLinkageName)) {
      ByteReader offset(text_offsets_);
      offset.skip(unit.texts_base + value.number * sizeof(std::uint32_t));
      value.text = text_at(texts_, offset.fixed<std::uint32_t>());
    }
    switch (attribute.name) {
      case dwarf::kName:
        entry.name = value.text;
        break;
      case dwarf::kLinkageName:
        entry.linkage_name = value.text;
        break;
      case dwarf::kOrigin:
      case dwarf::kSpecification:
        entry.origin = value.is_reference_in_unit ? unit.begin + value.number : value.number;
        break;
      case dwarf::kLines:
        entry.lines = value.number;
        break;
      case dwarf::kLow:
        entry.low = value.is_address_number ? address_number(value.number, unit) : value.number;
        break;
      case dwarf::kHigh:
        entry.high = value.is_address_number ? address_number(value.number, unit) : value.number;
        entry.high_is_length = attribute.form != dwarf::kAddressForm && !value.is_address_number;
        break;
      case dwarf::kRanges:
        entry.ranges = value.number;
        entry.ranges_are_numbered = attribute.form == dwarf::kNumberedRanges;
        break;
      case dwarf::kPlace:
        entry.place = value.block;
        break;
      case dwarf::kFrameBase:
        entry.frame_base = value.block;
        break;
      case dwarf::kType:
        entry.type = value.is_reference_in_unit ? unit.begin + value.number : value.number;
        break;
      case dwarf::kFile:
        entry.file = value.number;
        break;
      case dwarf::kLine:
        entry.line = static_cast<std::int64_t>(value.number);
        break;
      case dwarf::kBytes:
        entry.bytes = value.number;
        break;
      case dwarf::kMemberPlace:
        entry.member_offset = value.number;
        entry.has_member_offset = value.block.empty();
        break;
      case dwarf::kEncoding:
        entry.encoding = value.number;
        break;
      case dwarf::kDeclaration:
        entry.is_declaration = true;
        break;
      case dwarf::kCallFile:
        entry.call_file = value.number;
        break;
      case dwarf::kCallLine:
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

const DebugInfo::Unit* DebugInfo::unit_with(std::uint64_t offset) const {
  const auto has_it = [&](const Unit& unit) { return offset >= unit.begin && offset < unit.end; };
  const auto found = std::ranges::find_if(units_, has_it);
  return found != units_.end() ? &*found : nullptr;
}

}  // namespace dcmt::recorder

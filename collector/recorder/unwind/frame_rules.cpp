#include "collector/recorder/unwind/frame_rules.h"

#include <string_view>
#include <vector>

#include "collector/recorder/unwind/byte_reader.h"

namespace dcmt::recorder {
namespace {

using scan::Address;
using scan::ElfFile;
using Kind = RegisterRule::Kind;

constexpr std::uint8_t kAbsolute = 0x00, kUnsigned2 = 0x02, kUnsigned4 = 0x03, kUnsigned8 = 0x04, kSigned2 = 0x0a,
                       kSigned4 = 0x0b, kSigned8 = 0x0c, kFormat = 0x0f, kRelative = 0x10, kRelativeMask = 0x70,
                       kOmitted = 0xff;
/// Of the index: signed numbers of four bytes, relative to the index.
constexpr std::uint8_t kIndexEncoding = 0x3b;

/// A pointer in the encoding that the file states. Nothing for other encodings.
std::optional<Address> pointer_in(ByteReader& reader, std::uint8_t encoding, Address at) {
  const Address here = at + reader.at();
  std::uint64_t value = 0;
  switch (encoding & kFormat) {
    case kAbsolute:
    case kUnsigned8:
    case kSigned8:
      value = reader.fixed<std::uint64_t>();
      break;
    case kUnsigned2:
      value = reader.fixed<std::uint16_t>();
      break;
    case kUnsigned4:
      value = reader.fixed<std::uint32_t>();
      break;
    case kSigned2:
      value = static_cast<std::uint64_t>(std::int64_t{reader.fixed<std::int16_t>()});
      break;
    case kSigned4:
      value = static_cast<std::uint64_t>(std::int64_t{reader.fixed<std::int32_t>()});
      break;
    default:
      return {};
  }
  if ((encoding & kRelativeMask) == kRelative) return here + value;
  return (encoding & kRelativeMask) == 0 ? std::optional(value) : std::nullopt;
}

/// The address of the entry of the function at `instruction`; 0: none.
Address find_entry(const ElfFile& file, Address instruction) {
  const Address index = file.unwind_index();
  ByteReader header(file.content_at(index));
  if (index == 0 || header.byte() != 1) return 0;
  const std::uint8_t start = header.byte(), count = header.byte(), table = header.byte();
  if (table != kIndexEncoding || count == kOmitted || !pointer_in(header, start, index)) return 0;
  const std::optional<Address> entries = pointer_in(header, count & kFormat, index);
  if (!header.ok() || !entries) return 0;
  struct Entry {
    std::int32_t function, description;
  };
  const std::string_view all = header.rest();
  const auto entry_at = [&](std::uint64_t number) {
    return ByteReader(all.substr(number * sizeof(Entry), sizeof(Entry))).fixed<Entry>();
  };
  std::uint64_t low = 0, high = std::min<std::uint64_t>(*entries, all.size() / sizeof(Entry));
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const Address function = index + static_cast<std::uint64_t>(std::int64_t{entry_at(middle).function});
    if (function <= instruction) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? 0 : index + static_cast<std::uint64_t>(std::int64_t{entry_at(low - 1).description});
}

/// What the entries of several functions have in common.
struct Common {
  std::uint64_t code_unit = 1;
  std::int64_t data_unit = 1;
  std::uint8_t encoding = kAbsolute;
  bool has_more = false;  ///< functions have data of their own before the instructions
  std::string_view instructions;
};

/// The entry at an address, without its length.
std::optional<std::string_view> entry_content(const ElfFile& file, Address at) {
  ByteReader reader(file.content_at(at));
  const auto length = reader.fixed<std::uint32_t>();
  constexpr std::uint32_t kLong = 0xfffffff0;
  if (!reader.ok() || length == 0 || length >= kLong || length > reader.rest().size()) return {};
  return reader.rest().substr(0, length);
}

std::optional<Common> read_common(const ElfFile& file, Address at) {
  const auto content = entry_content(file, at);
  if (!content) return {};
  ByteReader reader(*content);
  Common common;
  const auto id = reader.fixed<std::uint32_t>();
  const std::uint8_t version = reader.byte();
  const std::string_view letters = reader.text();
  if (id != 0 || (version != 1 && version != 3)) return {};
  common.code_unit = reader.uleb();
  common.data_unit = reader.sleb();
  const std::uint64_t return_register = version == 1 ? reader.byte() : reader.uleb();
  if (!reader.ok() || return_register != kReturn || (!letters.empty() && letters.front() != 'z')) return {};
  if (!letters.empty()) {
    common.has_more = true;
    const std::uint64_t bytes = reader.uleb();
    const std::size_t begin = reader.at();
    for (const char letter : letters.substr(1)) {
      if (letter == 'R') common.encoding = reader.byte();
      if (letter == 'L') reader.byte();
      if (letter == 'P') {
        const std::uint8_t encoding = reader.byte();
        if (!pointer_in(reader, encoding & kFormat, 0)) return {};
      }
    }
    if (reader.at() > begin + bytes) return {};
    reader.skip(begin + bytes - reader.at());
  }
  if (!reader.ok()) return {};
  common.instructions = reader.rest();
  return common;
}

/// Executes instructions of the unwinding information.
class RulesMachine {
 public:
  RulesMachine(const Common& common, Address function, Address instruction)
      : common_(common), location_(function), until_(instruction) {}

  /// False if an instruction is not supported.
  bool run(std::string_view instructions) {
    ByteReader reader(instructions);
    while (ok_ && reader.ok() && !reader.at_end() && location_ <= until_) step(reader);
    return ok_ && reader.ok();
  }
  void keep_initial() { initial_ = rules_; }
  [[nodiscard]] const FrameRules& rules() const { return rules_; }

 private:
  void advance(std::uint64_t units) { location_ += units * common_.code_unit; }
  void set(std::uint64_t number, RegisterRule rule) {
    if (number < kRegisters) rules_.registers[number] = rule;
  }
  void restore(std::uint64_t number) {
    if (number < kRegisters) rules_.registers[number] = initial_.registers[number];
  }
  RegisterRule saved(std::int64_t units) const { return {Kind::kSaved, units * common_.data_unit}; }
  void base(std::uint64_t number) {
    ok_ = number < kReturn;
    rules_.base = number;
  }

  void step(ByteReader& reader) {
    const std::uint8_t code = reader.byte();
    const std::uint8_t low = code & 0x3f;
    switch (code >> 6) {
      case 1:
        return advance(low);
      case 2:
        return set(low, saved(static_cast<std::int64_t>(reader.uleb())));
      case 3:
        return restore(low);
      default:
        return extended(low, reader);
    }
  }

  void extended(std::uint8_t code, ByteReader& reader) {
    switch (code) {
      case 0x00:  // nop
        return;
      case 0x02:
        return advance(reader.byte());
      case 0x03:
        return advance(reader.fixed<std::uint16_t>());
      case 0x04:
        return advance(reader.fixed<std::uint32_t>());
      case 0x05: {  // offset_extended
        const std::uint64_t number = reader.uleb();
        return set(number, saved(static_cast<std::int64_t>(reader.uleb())));
      }
      case 0x06:  // restore_extended
        return restore(reader.uleb());
      case 0x07:  // undefined
        return set(reader.uleb(), {Kind::kUnknown, 0});
      case 0x08:  // same_value
        return set(reader.uleb(), {Kind::kSame, 0});
      case 0x09: {  // register
        const std::uint64_t number = reader.uleb();
        reader.uleb();
        return set(number, {Kind::kUnknown, 0});
      }
      case 0x0a:  // remember_state
        return states_.push_back(rules_);
      case 0x0b:  // restore_state
        ok_ = !states_.empty();
        if (!ok_) return;
        rules_ = states_.back();
        return states_.pop_back();
      case 0x0c: {  // def_cfa
        base(reader.uleb());
        rules_.offset = static_cast<std::int64_t>(reader.uleb());
        return;
      }
      case 0x0d:  // def_cfa_register
        return base(reader.uleb());
      case 0x0e:  // def_cfa_offset
        rules_.offset = static_cast<std::int64_t>(reader.uleb());
        return;
      case 0x0f:  // def_cfa_expression
        reader.skip(reader.uleb());
        ok_ = false;
        return;
      case 0x10:    // expression
      case 0x16: {  // val_expression
        const std::uint64_t number = reader.uleb();
        reader.skip(reader.uleb());
        return set(number, {Kind::kUnknown, 0});
      }
      case 0x11: {  // offset_extended_sf
        const std::uint64_t number = reader.uleb();
        return set(number, saved(reader.sleb()));
      }
      case 0x12:  // def_cfa_sf
        base(reader.uleb());
        rules_.offset = reader.sleb() * common_.data_unit;
        return;
      case 0x13:  // def_cfa_offset_sf
        rules_.offset = reader.sleb() * common_.data_unit;
        return;
      case 0x2e:  // GNU_args_size
        reader.uleb();
        return;
      default:
        ok_ = false;
    }
  }

  const Common& common_;
  Address location_;
  const Address until_;
  FrameRules rules_, initial_;
  std::vector<FrameRules> states_;
  bool ok_ = true;
};

}  // namespace

std::optional<FrameRules> frame_rules(const ElfFile& file, Address instruction) {
  const Address at = find_entry(file, instruction);
  const auto content = at == 0 ? std::nullopt : entry_content(file, at);
  if (!content) return {};
  constexpr Address kLengthBytes = 4;
  ByteReader reader(*content);
  const auto back = reader.fixed<std::uint32_t>();
  const std::optional<Common> common = back == 0 ? std::nullopt : read_common(file, at + kLengthBytes - back);
  if (!common) return {};
  const std::optional<Address> function = pointer_in(reader, common->encoding, at + kLengthBytes);
  const std::optional<Address> bytes = pointer_in(reader, common->encoding & kFormat, 0);
  if (!function || !bytes || instruction < *function || instruction - *function >= *bytes) return {};
  if (common->has_more) reader.skip(reader.uleb());
  RulesMachine machine(*common, *function, instruction);
  if (!machine.run(common->instructions)) return {};
  machine.keep_initial();
  if (!reader.ok() || !machine.run(reader.rest())) return {};
  return machine.rules();
}

}  // namespace dcmt::recorder

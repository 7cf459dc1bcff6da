#include "collector/agent/frame_step.h"

#include <cstddef>
#include <string_view>

#include "trace/arch/arch.h"
#include "trace/base/byte_reader.h"

namespace dcmt::agent {
namespace {

using arch::kFramePointer, arch::kStackPointer, arch::kReturnAddress;
constexpr std::uint8_t kRead = 0x06;  ///< an operation of DWARF's expressions

constexpr std::uint8_t kAbsolute = 0x00, kUnsigned2 = 0x02, kUnsigned4 = 0x03, kUnsigned8 = 0x04, kSigned2 = 0x0a,
                       kSigned4 = 0x0b, kSigned8 = 0x0c, kFormat = 0x0f, kRelative = 0x10, kRelativeMask = 0x70,
                       kOmitted = 0xff;
/// Of the index: signed numbers of four bytes, relative to the index.
constexpr std::uint8_t kIndexEncoding = 0x3b;

struct Encoded {
  std::uint64_t value = 0;
  bool ok = false;  ///< false: the encoding is not supported
};

Encoded pointer_in(ByteReader& reader, std::uint8_t encoding, std::uint64_t at) noexcept {
  const std::uint64_t here = at + reader.at();
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
  if ((encoding & kRelativeMask) == kRelative) return {here + value, reader.ok()};
  return {value, reader.ok() && (encoding & kRelativeMask) == 0};
}

/// The address of the entry of the function at `instruction`; 0: none.
std::uint64_t find_entry(const CodeObject& object, std::uint64_t instruction) noexcept {
  ByteReader header(object.tables_at(object.index));
  if (object.index == 0 || header.byte() != 1) return 0;
  const std::uint8_t start = header.byte(), count = header.byte(), table = header.byte();
  if (table != kIndexEncoding || count == kOmitted || !pointer_in(header, start, object.index).ok) return 0;
  const Encoded entries = pointer_in(header, count & kFormat, object.index);
  if (!header.ok() || !entries.ok) return 0;
  struct Entry {
    std::int32_t function, description;
  };
  const std::string_view all = header.rest();
  const auto entry_at = [&](std::uint64_t number) {
    Entry entry;
    __builtin_memcpy(&entry, all.data() + number * sizeof entry, sizeof entry);
    return entry;
  };
  const auto address = [&](std::int32_t offset) {
    return object.index + static_cast<std::uint64_t>(std::int64_t{offset});
  };
  std::uint64_t low = 0, high = std::min<std::uint64_t>(entries.value, all.size() / sizeof(Entry));
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (address(entry_at(middle).function) <= instruction) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? 0 : address(entry_at(low - 1).description);
}

/// The entry at an address, without its length; empty: there is none.
std::string_view entry_content(const CodeObject& object, std::uint64_t at) noexcept {
  ByteReader reader(object.tables_at(at));
  const auto length = reader.fixed<std::uint32_t>();
  constexpr std::uint32_t kLong = 0xfffffff0;
  if (!reader.ok() || length >= kLong || length > reader.rest().size()) return {};
  return {reader.rest().data(), length};
}

/// What the entries of several functions have in common.
struct Common {
  std::uint64_t code_unit = 1;
  std::int64_t data_unit = 1;
  std::uint8_t encoding = kAbsolute;
  bool has_more = false;  ///< functions have data of their own before the instructions
  std::string_view instructions;
  bool ok = false;
};

Common read_common(const CodeObject& object, std::uint64_t at) noexcept {
  Common common;
  ByteReader reader(entry_content(object, at));
  const auto id = reader.fixed<std::uint32_t>();
  const std::uint8_t version = reader.byte();
  std::string_view letters = reader.text();
  if (!reader.ok() || id != 0 || (version != 1 && version != 3)) return common;
  common.code_unit = reader.uleb();
  common.data_unit = reader.sleb();
  const std::uint64_t return_register = version == 1 ? reader.byte() : reader.uleb();
  if (!reader.ok() || return_register != kReturnAddress || (!letters.empty() && letters.front() != 'z')) return common;
  if (!letters.empty()) {
    common.has_more = true;
    const std::uint64_t bytes = reader.uleb();
    const std::size_t begin = reader.at();
    letters.remove_prefix(1);
    for (const char letter : letters) {
      if (letter == 'R') common.encoding = reader.byte();
      if (letter == 'L') reader.byte();
      if (letter == 'S') return common;  // a frame of a signal: it has no return address
      if (letter == 'P') {
        const std::uint8_t encoding = reader.byte();
        if (!pointer_in(reader, encoding & kFormat, 0).ok) return common;
      }
    }
    if (reader.at() > begin + bytes) return common;
    reader.skip(begin + bytes - reader.at());
  }
  common.ok = reader.ok();
  common.instructions = reader.rest();
  return common;
}

/// Where the caller's value of a register is.
struct Saved {
  FrameStep::Pointer kind = FrameStep::Pointer::kSame;
  std::int64_t offset = 0;
};

struct Rules {
  std::uint64_t base = kStackPointer;
  std::int64_t offset = 0;
  bool reads_base = false;  ///< the frame's end is the word at the base plus the offset
  Saved pointer, call;
};

/// Executes instructions of the unwinding information.
class RulesMachine {
 public:
  RulesMachine(const Common& common, std::uint64_t function, std::uint64_t instruction) noexcept
      : common_(common), location_(function), until_(instruction) {}

  /// False if an instruction is not supported.
  bool run(std::string_view instructions) noexcept {
    ByteReader reader(instructions);
    while (ok_ && reader.ok() && !reader.at_end() && location_ <= until_) step(reader);
    return ok_ && reader.ok();
  }
  void keep_initial() noexcept { initial_ = rules_; }
  [[nodiscard]] const Rules& rules() const noexcept { return rules_; }

 private:
  using Kind = FrameStep::Pointer;

  void advance(std::uint64_t units) noexcept { location_ += units * common_.code_unit; }
  [[nodiscard]] static Saved* rule_of(Rules& rules, std::uint64_t number) noexcept {
    return number == kFramePointer ? &rules.pointer : number == kReturnAddress ? &rules.call : nullptr;
  }
  void set(std::uint64_t number, Saved rule) noexcept {
    if (Saved* const of = rule_of(rules_, number)) *of = rule;
  }
  void restore(std::uint64_t number) noexcept {
    if (const Saved* const of = rule_of(initial_, number)) set(number, *of);
  }
  void saved(std::uint64_t number, std::int64_t units) noexcept {
    set(number, {Kind::kBeforeEnd, units * common_.data_unit});
  }
  void base(std::uint64_t number) noexcept {
    rules_.base = number;
    rules_.reads_base = false;
  }

  /// An expression of the form "the frame pointer plus a number", with more after it.
  struct PointerPlus {
    std::int64_t offset;
    std::uint8_t next;  ///< operation; 0: none
    bool ok;
  };
  static PointerPlus pointer_plus(ByteReader& reader) noexcept {
    const std::uint64_t bytes = reader.uleb();
    const std::string_view rest = reader.rest();
    ByteReader expression({rest.data(), std::min<std::size_t>(bytes, rest.size())});
    reader.skip(bytes);
    const bool begins = expression.byte() == arch::kFramePointerPlus;
    const std::int64_t offset = expression.sleb();
    const std::uint8_t next = expression.at_end() ? std::uint8_t{0} : expression.byte();
    return {offset, next, begins && expression.ok() && expression.at_end()};
  }

  void step(ByteReader& reader) noexcept {
    const std::uint8_t code = reader.byte();
    const std::uint8_t low = code & 0x3f;
    switch (code >> 6) {
      case 1:
        return advance(low);
      case 2:
        return saved(low, static_cast<std::int64_t>(reader.uleb()));
      case 3:
        return restore(low);
      default:
        return extended(low, reader);
    }
  }

  void extended(std::uint8_t code, ByteReader& reader) noexcept {
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
        return saved(number, static_cast<std::int64_t>(reader.uleb()));
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
        ok_ = depth_ < kMostStates;
        if (ok_) states_[depth_++] = rules_;
        return;
      case 0x0b:  // restore_state
        ok_ = depth_ > 0;
        if (ok_) rules_ = states_[--depth_];
        return;
      case 0x0c:  // def_cfa
        base(reader.uleb());
        rules_.offset = static_cast<std::int64_t>(reader.uleb());
        return;
      case 0x0d:  // def_cfa_register
        return base(reader.uleb());
      case 0x0e:  // def_cfa_offset
        rules_.offset = static_cast<std::int64_t>(reader.uleb());
        return;
      case 0x0f: {  // def_cfa_expression
        const PointerPlus place = pointer_plus(reader);
        base(place.ok && place.next == kRead ? kFramePointer : kReturnAddress);
        rules_.offset = place.offset;
        rules_.reads_base = true;
        return;
      }
      case 0x10: {  // expression
        const std::uint64_t number = reader.uleb();
        const PointerPlus place = pointer_plus(reader);
        const bool is_known = place.ok && place.next == 0;
        return set(number, {is_known ? Kind::kAtFramePointer : Kind::kUnknown, place.offset});
      }
      case 0x16: {  // val_expression
        const std::uint64_t number = reader.uleb();
        reader.skip(reader.uleb());
        return set(number, {Kind::kUnknown, 0});
      }
      case 0x11: {  // offset_extended_sf
        const std::uint64_t number = reader.uleb();
        return saved(number, reader.sleb());
      }
      case 0x12:  // def_cfa_sf
        base(reader.uleb());
        rules_.offset = reader.sleb() * common_.data_unit;
        return;
      case 0x13:  // def_cfa_offset_sf
        rules_.offset = reader.sleb() * common_.data_unit;
        return;
      case 0x2d:  // AARCH64_negate_ra_state: see arch::return_address()
        ok_ = !arch::kCallSavesReturn;
        return;
      case 0x2e:  // GNU_args_size
        reader.uleb();
        return;
      default:
        ok_ = false;
    }
  }

  static constexpr int kMostStates = 8;

  const Common& common_;
  std::uint64_t location_;
  const std::uint64_t until_;
  Rules rules_, initial_;
  Rules states_[kMostStates];
  int depth_ = 0;
  bool ok_ = true;
};

FrameStep step_of(const Rules& rules) noexcept {
  using Kind = FrameStep::Pointer;
  constexpr std::int64_t kMost = 1 << 26, kWord = 8;
  const auto is_near = [](std::int64_t offset) { return offset > -kMost && offset < kMost; };
  Saved pointer = rules.pointer;
  const Saved call = rules.call;
  if (!is_near(rules.offset) || !is_near(pointer.offset) || !is_near(call.offset) || call.kind != Kind::kBeforeEnd)
    return {};
  if constexpr (arch::kCallSavesReturn) {
    if (call.offset != -kWord) return {};
  } else {
    if (pointer.kind == Kind::kAtFramePointer) return {};
    if (pointer.kind == Kind::kBeforeEnd && pointer.offset != call.offset - kWord) return {};
    pointer.offset = call.offset - kWord;
  }
  FrameStep step;
  if (rules.base == kFramePointer)
    step.end = rules.reads_base ? FrameStep::End::kAtFramePointer : FrameStep::End::kFramePointer;
  if (rules.base == kStackPointer) step.end = FrameStep::End::kStackPointer;
  step.end_offset = static_cast<std::int32_t>(rules.offset);
  step.pointer = pointer.kind;
  step.pointer_offset = static_cast<std::int32_t>(pointer.offset);
  return step;
}

}  // namespace

FrameStep frame_step(const CodeObject& object, std::uint64_t instruction) noexcept {
  const std::uint64_t at = find_entry(object, instruction);
  if (at == 0) return {};
  constexpr std::uint64_t kLengthBytes = 4;
  ByteReader reader(entry_content(object, at));
  const auto back = reader.fixed<std::uint32_t>();
  if (!reader.ok() || back == 0) return {};
  const Common common = read_common(object, at + kLengthBytes - back);
  if (!common.ok) return {};
  const Encoded function = pointer_in(reader, common.encoding, at + kLengthBytes);
  const Encoded bytes = pointer_in(reader, common.encoding & kFormat, 0);
  if (!function.ok || !bytes.ok || instruction < function.value || instruction - function.value >= bytes.value)
    return {};
  if (common.has_more) reader.skip(reader.uleb());
  RulesMachine machine(common, function.value, instruction);
  FrameStep step;
  if (machine.run(common.instructions)) {
    machine.keep_initial();
    if (reader.ok() && machine.run(reader.rest())) step = step_of(machine.rules());
  }
  step.function = function.value;
  return step;
}

}  // namespace dcmt::agent

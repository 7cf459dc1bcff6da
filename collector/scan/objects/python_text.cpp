#include "collector/scan/objects/python_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "collector/scan/objects/python_objects.h"
#include "collector/scan/objects/python_offsets.h"

namespace dcmt::scan {
namespace {

constexpr std::size_t kLongestText = 200;
constexpr std::int64_t kLongestLineTable = 1 << 20;
constexpr std::string_view kContextVariable = "_contextvars.ContextVar";
constexpr Address kContextVariableName = 16;

/// Reads the numbers of a location table (Objects/locations.md of CPython).
class LineTable {
 public:
  LineTable(const std::uint8_t* bytes, std::int64_t size) : bytes_(bytes), size_(size) {}

  [[nodiscard]] bool at_end() const { return next_ >= size_; }
  std::uint8_t byte() { return at_end() ? std::uint8_t{0} : bytes_[next_++]; }
  void skip(std::int64_t count) { next_ += count; }

  unsigned number() {
    unsigned value = 0;
    unsigned shift = 0;
    while (!at_end()) {
      const std::uint8_t part = byte();
      if (shift < 30) value |= (part & 63U) << shift;
      shift += 6;
      if ((part & 64) == 0) break;
    }
    return value;
  }
  int signed_number() {
    const unsigned value = number();
    return (value & 1) != 0 ? -static_cast<int>(value >> 1) : static_cast<int>(value >> 1);
  }

 private:
  const std::uint8_t* bytes_;
  std::int64_t size_;
  std::int64_t next_ = 0;
};

}  // namespace

std::string PythonText::text(Address object) {
  const PythonType* type = types_.python_types.type_of(memory_, object);
  if (type == nullptr || !type->has_flag(kUnicodeBit)) return {};
  const auto state = memory_.value<std::uint32_t>(object + kTextState);
  const bool one_byte_a_letter = (state >> layout_.text_kind_bit & 7) == 1;
  if ((state >> layout_.text_compact_bit & 1) == 0 || !one_byte_a_letter) return {};
  const std::size_t length = std::min<std::size_t>(memory_.word(object + kTextLength), kLongestText);
  const bool ascii = (state >> layout_.text_ascii_bit & 1) != 0;
  if (!ascii) return {};
  const std::byte* letters = memory_.at(object + layout_.ascii_text, length);
  return letters == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(letters), length);
}

std::string PythonText::key(Address object, int depth) {
  const PythonType* type = types_.python_types.type_of(memory_, object);
  if (type == nullptr) return "?";
  if (type->has_flag(kUnicodeBit)) return "'" + text(object) + "'";
  if (type->has_flag(kLongBit)) {
    // A small int: one digit of 30 bits. The sign is in the size (3.11) or in a tag's low bits (since 3.12).
    std::int64_t digits = memory_.value<std::int64_t>(object + layout_.var_size);
    bool negative = digits < 0;
    if (layout_.is_312_or_later()) {
      const std::int64_t sign = digits & 3;  // 0 positive, 1 zero, 2 negative
      digits = sign == 1 ? 0 : digits >> 3;
      negative = sign == 2;
    }
    if (std::abs(digits) > 1) return "<big int>";
    const std::int64_t value = digits == 0 ? 0 : memory_.value<std::uint32_t>(object + layout_.var_size + 8);
    return std::to_string(negative ? -value : value);
  }
  if (type->kind == Kind::kTuple && depth < 3) {
    const std::uint64_t count = memory_.word(object + layout_.var_size);
    std::string result = "(";
    for (std::uint64_t i = 0; i < count && i < 4; ++i) {
      result += (i == 0 ? "" : ", ") + key(memory_.word(object + layout_.tuple_items + 8 * i), depth + 1);
    }
    return result + (count > 4 ? ", …)" : ")");
  }
  if (type->name == kContextVariable) return "<" + text(memory_.word(object + kContextVariableName)) + ">";
  return "<" + type_name(object, type->kind) + ">";
}

Address PythonText::key_at(Address keys, std::uint64_t index) {
  const DictKeys table = read_dict_keys(memory_, layout_, keys);
  if (!table.ok || index >= table.count) return 0;
  return memory_.word(table.entries + index * table.entry_size() + table.key_offset());
}

std::string PythonText::frame_function(Address frame) {
  return text(memory_.word(code_of_frame(memory_, layout_, frame) + layout_.code_qualname));
}

std::string PythonText::frame_line(Address frame) {
  const Address code = code_of_frame(memory_, layout_, frame);
  std::string file = text(memory_.word(code + layout_.code_filename));
  if (const std::size_t slash = file.rfind('/'); slash != std::string::npos) file.erase(0, slash + 1);
  const auto offset =
      static_cast<std::int64_t>(memory_.word(frame + layout_.frame_instruction) - code) - layout_.code_bytecode;
  return fmt::format("{}:{}", file, line_of(code, offset / 2));
}

std::string PythonText::frame_place(Address frame) {
  return fmt::format("{} ({})", frame_function(frame), frame_line(frame));
}

std::string PythonText::local_name(Address frame, std::uint64_t index) {
  const Address code = code_of_frame(memory_, layout_, frame);
  const Address names = memory_.word(code + layout_.code_localsplusnames);
  return text(memory_.word(names + layout_.tuple_items + Address{8} * index));
}

std::string PythonText::closure_name(Address function, std::uint64_t index) {
  // The closure's variables are the last ones among the code's names.
  const Address names = memory_.word(memory_.word(function + layout_.function_code) + layout_.code_localsplusnames);
  const std::uint64_t all = memory_.word(names + layout_.var_size);
  const std::uint64_t own = memory_.word(memory_.word(function + layout_.function_closure) + layout_.var_size);
  if (own > all) return {};
  return text(memory_.word(names + layout_.tuple_items + 8 * (all - own + index)));
}

int PythonText::line_of(Address code, std::int64_t instruction) {
  const Address table = memory_.word(code + layout_.code_linetable);
  const auto size = memory_.value<std::int64_t>(table + layout_.var_size);
  if (size <= 0 || size > kLongestLineTable) return 0;
  const std::byte* bytes = memory_.at(table + layout_.bytes_content, static_cast<std::size_t>(size));
  if (bytes == nullptr) return 0;
  int line = memory_.value<int>(code + layout_.code_firstlineno);
  LineTable entries(reinterpret_cast<const std::uint8_t*>(bytes), size);
  std::int64_t covered = 0;
  while (!entries.at_end()) {
    const std::uint8_t head = entries.byte();
    const int form = head >> 3 & 15;
    if (form == 14) {  // line, end line and both columns
      line += entries.signed_number();
      for (int i = 0; i < 3; ++i) entries.number();
    } else if (form == 13) {  // a line without columns
      line += entries.signed_number();
    } else if (form >= 10 && form <= 12) {  // 0 to 2 lines further, two columns
      line += form - 10;
      entries.skip(2);
    } else if (form < 10) {  // the same line, columns in one byte
      entries.skip(1);
    }  // 15: no location
    covered += (head & 7) + 1;
    if (instruction < covered) return line;
  }
  return line;
}

std::string PythonText::type_name(Address object, Kind kind) {
  if (kind == Kind::kFrame) return "frame";
  if (kind == Kind::kCppClass || kind == Kind::kCppContainer) return types_.typed.shape_of(object, kind).name;
  if (kind > Kind::kFrame) {
    const CppType* type = types_.cpp_types.type_of(memory_, object);
    return type == nullptr ? "?" : type->short_name;
  }
  const PythonType* type = types_.python_types.type_of(memory_, object);
  if (type == nullptr) return "?";
  const std::size_t dot = type->name.rfind('.');
  return dot == std::string::npos ? type->name : type->name.substr(dot + 1);
}

}  // namespace dcmt::scan

#include "convert/pickle/writer.h"

#include <limits>
#include <ostream>

#include "convert/pickle/opcodes.h"

namespace dcmt::convert {

PickleWriter::PickleWriter(std::ostream& out) : out_(out) {
  byte(opcode::kProto);
  byte(4);
}

void PickleWriter::byte(std::uint8_t value) { out_.put(static_cast<char>(value)); }

void PickleWriter::number(std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) byte(static_cast<std::uint8_t>(value >> (8 * i)));
}

void PickleWriter::integer(std::int64_t value) {
  if (value >= 0 && value <= std::numeric_limits<std::uint8_t>::max()) {
    byte(opcode::kBinInt1);
    number(static_cast<std::uint64_t>(value), 1);
  } else if (value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max()) {
    byte(opcode::kBinInt);
    number(static_cast<std::uint64_t>(value), 4);
  } else {
    byte(opcode::kLong1);
    byte(8);
    number(static_cast<std::uint64_t>(value), 8);
  }
}

void PickleWriter::text_once(std::string_view text) {
  // The shortest form, like Python: memory_viz can read only these two.
  if (text.size() <= std::numeric_limits<std::uint8_t>::max()) {
    byte(opcode::kShortBinUnicode);
    number(text.size(), 1);
  } else {
    byte(opcode::kBinUnicode);
    number(text.size(), 4);
  }
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
}

void PickleWriter::text(std::string_view text) {
  const auto [known, fresh] = texts_.try_emplace(std::string(text), 0);
  if (!fresh) return refer(known->second);
  text_once(text);
  known->second = remember();
}

void PickleWriter::boolean(bool value) { byte(value ? opcode::kNewTrue : opcode::kNewFalse); }

void PickleWriter::begin_list() { byte(opcode::kEmptyList); }
void PickleWriter::append() { byte(opcode::kAppend); }
void PickleWriter::begin_dict() {
  byte(opcode::kEmptyDict);
  byte(opcode::kMark);
}
void PickleWriter::end_dict() { byte(opcode::kSetItems); }

void PickleWriter::pair(std::int64_t first, std::int64_t second) {
  integer(first);
  integer(second);
  byte(opcode::kTuple2);
}

std::uint32_t PickleWriter::remember() {
  byte(opcode::kMemoize);
  return remembered_++;
}

void PickleWriter::refer(std::uint32_t number_of_value) {
  if (number_of_value <= std::numeric_limits<std::uint8_t>::max()) {
    byte(opcode::kBinGet);
    number(number_of_value, 1);
  } else {
    byte(opcode::kLongBinGet);
    number(number_of_value, 4);
  }
}

void PickleWriter::end() { byte(opcode::kStop); }

}  // namespace dcmt::convert

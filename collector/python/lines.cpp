#include "collector/python/lines.h"

#include "collector/python/hash.h"

namespace dcmt::python_provider {
namespace {

constexpr std::uint64_t kLineSeed = 0x6C696E65;

/// Blocks of one code object have consecutive keys, so that they never use the same place.
std::uint64_t key_of(std::uint64_t code, std::uint32_t block) noexcept { return mix(code, kLineSeed) + block; }

/// Only the first byte of an entry has its top bit set.
bool begins_entry(unsigned char byte) noexcept { return (byte & 0x80u) != 0; }

/// The difference to the line of the entry before. The number has six bits in each byte, lowest first, and its sign in
/// bit 0.
std::int64_t step_of(const LineTable& table, std::size_t at, unsigned kind) noexcept {
  if (kind >= 10 && kind <= 12) return kind - 10;
  if (kind != 13 && kind != 14) return 0;
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 36 && ++at < table.bytes; shift += 6) {
    value |= static_cast<std::uint64_t>(table.entries[at] & 63u) << shift;
    if ((table.entries[at] & 64u) == 0) break;
  }
  const auto magnitude = static_cast<std::int64_t>(value >> 1);
  return (value & 1u) != 0 ? -magnitude : magnitude;
}

}  // namespace

LineMarks::Place LineMarks::nearest(const LineTable& table, std::int32_t offset) const noexcept {
  for (auto block = static_cast<std::uint32_t>(offset / kBlock); block > 0; --block) {
    const std::uint64_t key = key_of(table.code, block);
    const Mark& mark = marks_[key % kMarks];
    const std::uint64_t place = mark.place.load(std::memory_order_relaxed);
    const std::uint64_t line = mark.line.load(std::memory_order_relaxed);
    if (mark.check.load(std::memory_order_relaxed) != (key ^ mix(place, line))) continue;
    return {static_cast<std::uint32_t>(place >> 32), static_cast<std::uint32_t>(place),
            static_cast<std::int64_t>(line)};
  }
  return {0, 0, table.first_line};
}

void LineMarks::remember(std::uint64_t code, std::uint32_t block, const Place& at) noexcept {
  const std::uint64_t key = key_of(code, block);
  const std::uint64_t place = (static_cast<std::uint64_t>(at.offset) << 32) | at.at;
  const auto line = static_cast<std::uint64_t>(at.line);
  Mark& mark = marks_[key % kMarks];
  mark.place.store(place, std::memory_order_relaxed);
  mark.line.store(line, std::memory_order_relaxed);
  mark.check.store(key ^ mix(place, line), std::memory_order_relaxed);
}

LineMarks::Answer LineMarks::line_of(const LineTable& table, std::int32_t offset) noexcept {
  if (offset < 0) return {table.first_line, 0};
  Place place = nearest(table, offset);
  const auto wanted = static_cast<std::uint32_t>(offset);
  std::uint32_t walked = 0;
  while (place.at < table.bytes) {
    const Place before = place;
    const unsigned char head = table.entries[place.at];
    const unsigned kind = (head >> 3) & 15u;
    place.line += step_of(table, place.at, kind);
    place.offset += ((head & 7u) + 1) * 2;
    do ++place.at;
    while (place.at < table.bytes && !begins_entry(table.entries[place.at]));
    ++walked;
    // An entry has at most eight code units: begin the block with the first entry that reaches into it.
    const std::uint32_t block = place.offset / kBlock;
    if (block != before.offset / kBlock) remember(table.code, block, before);
    if (place.offset > wanted) {
      const bool known = kind != 15 && place.line > 0 && place.line <= INT32_MAX;
      return {known ? static_cast<int>(place.line) : 0, walked};
    }
  }
  return {0, walked};
}

}  // namespace dcmt::python_provider

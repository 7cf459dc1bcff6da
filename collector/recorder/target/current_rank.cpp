#include "collector/recorder/target/current_rank.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <span>
#include <string_view>

#include "collector/scan/memory/process_memory.h"
#include "collector/scan/process/elf_symbols.h"

namespace dcmt::recorder {
namespace {

constexpr std::size_t kMostVariables = 4096;
/// "WORLD_SIZE=" with a number of any length. A longer variable is none of the two.
constexpr std::size_t kLongest = 32;

template <class T>
bool read_at(scan::ProcessMemory& memory, scan::Address address, T& into) {
  const scan::Piece piece{address, std::as_writable_bytes(std::span(&into, 1))};
  return memory.read(std::span(&piece, 1)) == sizeof into;
}

/// Reads a variable up to kLongest bytes, or to the end of its page if the next one cannot be read.
std::string_view text_at(scan::ProcessMemory& memory, scan::Address address, std::array<char, kLongest>& into) {
  const scan::Piece piece{address, std::as_writable_bytes(std::span(into))};
  const std::string_view text(into.data(), memory.read(std::span(&piece, 1)));
  const std::size_t end = text.find('\0');
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

std::optional<std::int32_t> number_behind(std::string_view text, std::string_view name) {
  if (!text.starts_with(name)) return std::nullopt;
  text.remove_prefix(name.size());
  std::int32_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<CurrentRank> current_rank(pid_t pid) {
  Expected<scan::ProcessMemory> memory = scan::ProcessMemory::open(pid);
  if (!memory.ok()) return std::nullopt;
  const std::optional<scan::Address> environment = scan::symbol_address(*memory, "/libc.so.6", "environ");
  scan::Address next = 0;
  if (!environment || !read_at(*memory, *environment, next)) return std::nullopt;
  CurrentRank found;
  std::int32_t local = -1, node = 0;
  std::array<char, kLongest> bytes{};
  scan::Address variable = 0;
  for (std::size_t i = 0; i < kMostVariables && read_at(*memory, next, variable) && variable != 0; ++i) {
    next += sizeof variable;
    const std::string_view text = text_at(*memory, variable, bytes);
    if (const auto rank = number_behind(text, "RANK=")) found.rank = *rank;
    if (const auto size = number_behind(text, "WORLD_SIZE=")) found.world_size = *size;
    if (const auto number = number_behind(text, "LOCAL_RANK=")) local = *number;
    if (const auto number = number_behind(text, "NODE_RANK=")) node = *number;
  }
  // Lightning's own launcher gives no rank. On the first node the number in the node is the rank.
  if (found.rank < 0 && found.world_size >= 0 && node == 0) found.rank = local;
  return found.rank >= 0 ? std::optional(found) : std::nullopt;
}

}  // namespace dcmt::recorder

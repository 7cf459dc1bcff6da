#include "collector/recorder/target/current_rank.h"

#include <charconv>
#include <cstddef>
#include <string_view>

#include "collector/recorder/target/current_environment.h"

namespace dcmt::recorder {
namespace {

/// "WORLD_SIZE=" with a number of any length. A longer variable is none of these.
constexpr std::size_t kLongest = 31;

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
  CurrentRank found;
  std::int32_t local = -1, node = 0;
  const bool is_read = for_each_variable(pid, kLongest, [&](std::string_view text) {
    if (const auto rank = number_behind(text, "RANK=")) found.rank = *rank;
    if (const auto size = number_behind(text, "WORLD_SIZE=")) found.world_size = *size;
    if (const auto number = number_behind(text, "LOCAL_RANK=")) local = *number;
    if (const auto number = number_behind(text, "NODE_RANK=")) node = *number;
  });
  if (!is_read) return std::nullopt;
  // Lightning's own launcher gives no rank. On the first node the number in the node is the rank.
  if (found.rank < 0 && found.world_size >= 0 && node == 0) found.rank = local;
  return found.rank >= 0 ? std::optional(found) : std::nullopt;
}

}  // namespace dcmt::recorder

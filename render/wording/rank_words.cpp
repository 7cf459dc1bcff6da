#include "render/wording/rank_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "render/wording/words.h"

namespace dcmt::wording {

using analyzer::Fate;
using analyzer::Key;
using analyzer::OrderDifference;
using analyzer::RankComparison;
using analyzer::Ranks;

std::string ranks_name(const Ranks& ranks) { return (ranks.size() == 1 ? "rank " : "ranks ") + ranges(ranks); }

std::string keys_text(const RankComparison& comparison, std::int64_t graph, const std::vector<std::int64_t>& keys) {
  constexpr std::size_t kMostNames = 3;
  const std::string of = comparison.graph_name(graph);
  std::vector<std::string> names = comparison.key_names(graph, keys);
  if (names.empty()) return fmt::format("{} {} {}", of, keys.size() == 1 ? "id" : "ids", ranges(keys));
  const std::string more = names.size() > kMostNames ? fmt::format(" and {} more", names.size() - kMostNames) : "";
  names.resize(std::min(names.size(), kMostNames));
  return joined(names, ", ") + more + " (" + of + ")";
}

std::string key_text(const RankComparison& comparison, const Key& key) {
  return keys_text(comparison, key.graph, {key.key});
}

std::string where_of(const RankComparison& comparison, std::int64_t step, std::size_t position) {
  const std::string gather = fmt::format("gather {}", grouped(static_cast<std::int64_t>(position) + 1));
  return comparison.has_steps ? fmt::format("step {}, {}", step, gather) : gather;
}

std::string_view fate_text(Fate fate) {
  switch (fate) {
    case Fate::kResidual:
      return "residual";
    case Fate::kFreed:
      return "freed by its releases";
    case Fate::kPersistent:
      return "persistent";
    case Fate::kNotReleased:
      return "gathered, not released";
    case Fate::kNotGathered:
      return "not gathered";
  }
  return "";
}

std::string order_sentence(const OrderDifference& order) {
  if (order.before == 0 && order.after == 0) return "no operator was recorded";
  if (order.first) {
    const auto name = [](const std::string& text) { return text.empty() ? "the end of the step" : text; };
    return fmt::format("the operators differ, first at number {}: {} before, {} after ({} and {} in the last step)",
                       *order.first, name(order.first_before), name(order.first_after), order.before, order.after);
  }
  if (!order.lifetimes)
    return fmt::format("{} in one order, the same bytes after each", counted(order.after, "operator"));
  return fmt::format("order identical ({}), lifetimes differ: first after number {}, {}: {}",
                     counted(order.after, "operator"), *order.lifetimes, order.lifetimes_at,
                     signed_bytes(order.lifetimes_change));
}

}  // namespace dcmt::wording

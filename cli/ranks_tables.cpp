#include "cli/ranks_tables.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "analyzer/ranks/rank_rows.h"

namespace dcmt::cli {
namespace {

using analyzer::GatherDivergence;
using analyzer::Key;
using analyzer::ParameterDifference;
using analyzer::RankComparison;
using analyzer::RankRow;
using analyzer::Ranks;
using analyzer::ResidualDifference;

constexpr std::string_view kIndent = "  ";

/// The keys in order. The graph is named when it changes.
std::string sequence_text(const RankComparison& comparison, std::int64_t graph, const std::vector<Key>& keys) {
  std::string text;
  for (const Key& key : keys) {
    if (!text.empty()) text += ", ";
    const std::string name = comparison.key_name(key);
    const std::string own = name.empty() ? std::to_string(key.key) : name;
    text += key.graph == graph ? own : key_text(comparison, key);
    graph = key.graph;
  }
  return text;
}

std::string sequences_text(const RankRow& row) {
  if (!row.at) return "";
  const auto [first, last] = *row.at;
  return first == last ? grouped(first.value) : grouped(first.value) + " to " + grouped(last.value);
}

std::string device_text(const RankRow& row) {
  if (!row.device) return "-";
  return row.device_kind + (row.device_numbers.empty() ? "" : ":" + ranges(row.device_numbers));
}

/// Of many sides only the first and the last.
template <class Side, class Text>
std::string sides_text(const std::vector<Side>& sides, const Text& text_of) {
  constexpr std::size_t kMostSides = 3;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const bool shown = sides.size() <= kMostSides || i == 0 || i + 1 == sides.size();
    if (shown) parts.push_back(fmt::format("{} on {}", text_of(sides[i]), ranks_name(sides[i].ranks)));
    if (!shown && i == 1) parts.emplace_back("...");
  }
  return joined(parts, "; ");
}

}  // namespace

std::string peaks_text(const analyzer::MemoryDifference& memory) {
  return sides_text(peaks_apart(memory), [](const auto& side) { return rounded_bytes(side.bytes.value); });
}

std::string more_text(std::size_t rows, std::string_view what) {
  if (rows <= kMostRankRows) return {};
  return fmt::format("{}and {}; all of them: --json\n", kIndent,
                     counted(static_cast<std::int64_t>(rows - kMostRankRows), fmt::format("more {}", what)));
}

std::string rank_table(const RankComparison& comparison, const Style& style) {
  const std::vector<RankRow> rows = analyzer::rank_rows(comparison);
  Table table({"rank", "device", "peak allocated", "step", "seq", "residual ids", "their bytes", "peak without them",
               "final releases", "gathers", "steps"},
              {false, false, true, true, true, true, true, true, true, true, true});
  for (std::size_t i = 0; i < rows.size() && i < kMostRankRows; ++i) {
    const RankRow& row = rows[i];
    const auto& [device, rank] = std::tie(row.device, row.rank);
    table.add({ranges(row.ranks), device_text(row), device ? exact_bytes(device->peak.value) : "",
               !device        ? ""
               : device->step ? std::to_string(*device->step)
                              : "-",
               sequences_text(row), rank ? grouped(rank->residual_keys) : "",
               rank ? exact_bytes(rank->residual_bytes.value) : "", device ? exact_bytes(device->predicted.value) : "",
               rank ? grouped(rank->final_releases) : "", rank ? grouped(rank->gathers) : "",
               rank ? grouped(rank->steps) : ""});
  }
  return table.text(style, kIndent) + more_text(rows.size(), "row");
}

std::string order_table(const RankComparison& comparison, const Style& style) {
  const GatherDivergence& order = *comparison.order;
  std::string text = fmt::format(
      "{}{}, {}:\n", kIndent, where_of(comparison, order.step, order.position),
      order.before ? fmt::format("after {} on all of them", key_text(comparison, *order.before)) : "the first of all");
  Table table({"", "gather", "then", "operator", "at", "seq"}, {false, false, false, false, false, true});
  for (std::size_t i = 0; i < order.branches.size() && i < kMostRankRows; ++i) {
    const GatherDivergence::Branch& branch = order.branches[i];
    if (!branch.key) {
      table.add({ranks_name(branch.ranks), "none to the end of the step", "", "", "", ""});
      continue;
    }
    table.add({ranks_name(branch.ranks), key_text(comparison, *branch.key),
               sequence_text(comparison, branch.key->graph, branch.next), branch.place.operator_name, branch.place.site,
               grouped(branch.at.value)});
  }
  text += table.text(style, "    ") + more_text(order.branches.size(), "group");
  if (comparison.has_steps) {
    text += fmt::format("{}differs in {} of the {} compared: {}\n", kIndent, order.steps.size(),
                        counted(static_cast<std::int64_t>(comparison.steps.size()), "step"), ranges(order.steps));
  }
  return text;
}

std::string parameter_table(const RankComparison& comparison, const Style& style) {
  const auto groups = analyzer::alike_parameters(comparison);
  Table table({"parameters that differ", "first in", "", "gathered bytes", "uses", "persistent"},
              {false, false, false, true, true, false});
  for (std::size_t i = 0; i < groups.size() && i < kMostRankRows; ++i) {
    const ParameterDifference& difference = *groups[i].first;
    for (const ParameterDifference::Side& side : difference.sides) {
      const bool head = &side == &difference.sides.front();
      table.add({head ? keys_text(comparison, difference.key.graph, groups[i].keys) : "",
                 !head                  ? ""
                 : comparison.has_steps ? fmt::format("step {}", difference.step)
                                        : "the trace",
                 ranks_name(side.ranks), side.bytes ? exact_bytes(side.bytes->value) : "-",
                 side.declared ? grouped(*side.declared) : "-",
                 side.persistent ? (*side.persistent ? "yes" : "no") : "-"});
    }
  }
  return "\n" + table.text(style, kIndent) + more_text(groups.size(), "group");
}

std::string residual_table(const RankComparison& comparison, const Style& style) {
  const auto groups = analyzer::alike_residual(comparison);
  Table table({"residual on some ranks only", "", "there", "bytes at most"}, {false, false, false, true});
  for (std::size_t i = 0; i < groups.size() && i < kMostRankRows; ++i) {
    const ResidualDifference& difference = *groups[i].first;
    for (const ResidualDifference::Side& side : difference.sides) {
      const bool head = &side == &difference.sides.front();
      table.add({head ? keys_text(comparison, difference.key.graph, groups[i].keys) : "", ranks_name(side.ranks),
                 std::string(fate_text(side.fate)),
                 side.fate == analyzer::Fate::kResidual ? exact_bytes(side.bytes.value) : ""});
    }
  }
  return "\n" + table.text(style, kIndent) + more_text(groups.size(), "group");
}

std::string finding_table(const RankComparison& comparison, const Style& style) {
  Table table({"findings of some ranks only", "at", "", "bytes"}, {false, false, false, true});
  for (std::size_t i = 0; i < comparison.findings.size() && i < kMostRankRows; ++i) {
    const analyzer::FindingDifference& difference = comparison.findings[i];
    for (const analyzer::BytesOfRanks& side : difference.with) {
      const bool head = &side == &difference.with.front();
      table.add({head ? difference.title : "", head ? difference.place : "", ranks_name(side.ranks),
                 exact_bytes(side.bytes.value)});
    }
    table.add({"", "", ranks_name(difference.without), "none"});
  }
  return "\n" + table.text(style, kIndent) + more_text(comparison.findings.size(), "finding");
}

std::string memory_table(const RankComparison& comparison, const Style& style) {
  const analyzer::MemoryDifference& memory = *comparison.memory;
  std::string text;
  if (memory.growth.size() > 1) {
    text +=
        fmt::format("\n{}growth over steps {} to {}: {}\n", kIndent, memory.first, memory.last,
                    sides_text(memory.growth, [](const auto& side) {
                      return (side.bytes_a_step < 0 ? "-" : "") + exact_bytes(std::abs(side.bytes_a_step)) + " a step";
                    }));
  }
  if (memory.places.empty()) return text;
  Table table({"allocated at", "differs", "", "bytes at the peak"}, {false, false, false, true});
  for (const analyzer::MemoryDifference::Place& place : memory.places) {
    for (const analyzer::BytesOfRanks& side : place.sides) {
      const bool head = &side == &place.sides.front();
      if (!head && place.sides.size() > kMostRankRows && &side != &place.sides.back()) continue;
      table.add({head ? place.site : "",
                 !head             ? ""
                 : place.from_step ? fmt::format("from the end of step {} on", *place.from_step)
                                   : "within steps",
                 ranks_name(side.ranks), exact_bytes(side.bytes.value)});
    }
  }
  return text + "\n" + table.text(style, kIndent);
}

}  // namespace dcmt::cli

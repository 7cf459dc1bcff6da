#include "cli/ranks_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace dcmt::cli {
namespace {

using analyzer::Fate;
using analyzer::GatherDivergence;
using analyzer::Key;
using analyzer::LastGather;
using analyzer::ParameterDifference;
using analyzer::RankComparison;
using analyzer::RankFacts;
using analyzer::RankPeak;
using analyzer::Ranks;
using analyzer::ResidualDifference;

constexpr std::size_t kMostRows = 20;
constexpr std::string_view kIndent = "  ";

std::string ranks_name(const Ranks& ranks) { return (ranks.size() == 1 ? "rank " : "ranks ") + ranges(ranks); }

std::string steps_name(const std::vector<std::int64_t>& steps) {
  return (steps.size() == 1 ? "step " : "steps ") + ranges(steps);
}

/// "graph 0"; "#1" where the ranks' own graph numbers have nothing in common; "FSDP2".
std::string graph_text(const RankComparison& comparison, std::int64_t graph) {
  const auto mechanism = comparison.mechanisms.find(graph);
  if (mechanism != comparison.mechanisms.end()) return mechanism->second;
  const std::vector<std::int64_t>& by_order = comparison.graphs_by_order;
  const auto at = std::find(by_order.begin(), by_order.end(), graph);
  return at != by_order.end() ? fmt::format("graph #{}", at - by_order.begin() + 1) : fmt::format("graph {}", graph);
}

/// "layers.0.weight, layers.1.weight and 6 more"; empty unless all of them have names.
std::string names_text(const RankComparison& comparison, std::int64_t graph, const std::set<std::int64_t>& keys) {
  constexpr std::size_t kMostNames = 3;
  std::vector<std::string> names;
  for (const std::int64_t key : keys) {
    const auto name = comparison.names.find({graph, key});
    if (name == comparison.names.end()) return {};
    if (names.size() < kMostNames) names.push_back(name->second);
  }
  const std::size_t more = keys.size() - names.size();
  return fmt::format("{}", fmt::join(names, ", ")) + (more > 0 ? fmt::format(" and {} more", more) : "");
}

/// "graph 0 ids 0 to 11", "layers.0.weight (FSDP2)".
std::string keys_text(const RankComparison& comparison, std::int64_t graph, const std::vector<std::int64_t>& keys) {
  const std::set<std::int64_t> distinct(keys.begin(), keys.end());
  const std::string of = graph_text(comparison, graph);
  if (const std::string names = names_text(comparison, graph, distinct); !names.empty()) return names + " (" + of + ")";
  return fmt::format("{} {} {}", of, distinct.size() == 1 ? "id" : "ids", ranges(keys));
}

std::string key_text(const RankComparison& comparison, const Key& key) {
  return keys_text(comparison, key.graph, {key.key});
}

/// Keys in their order; the graph is named where it changes.
std::string sequence_text(const RankComparison& comparison, std::int64_t graph, const std::vector<Key>& keys) {
  std::string text;
  for (const Key& key : keys) {
    if (!text.empty()) text += ", ";
    const auto name = comparison.names.find(key);
    const std::string own = name != comparison.names.end() ? name->second : std::to_string(key.key);
    text += key.graph == graph ? own : key_text(comparison, key);
    graph = key.graph;
  }
  return text;
}

std::string more_text(std::size_t rows, std::string_view what) {
  if (rows <= kMostRows) return {};
  return fmt::format("{}and {}; all of them: --json\n", kIndent,
                     counted(static_cast<std::int64_t>(rows - kMostRows), fmt::format("more {}", what)));
}

/// A row of the table of ranks: what ranks have in common, and what each has of its own.
struct TableRow {
  std::string kind;  ///< of the device: "cpu", "cuda"
  std::vector<std::string> cells;
  Ranks ranks;
  std::vector<std::int64_t> device_numbers, sequences;
};

/// "cuda:3" → "cuda" and 3.
std::pair<std::string, std::optional<std::int64_t>> parts_of(const std::string& device) {
  const std::size_t colon = device.find(':');
  if (colon == std::string::npos || colon + 1 == device.size()) return {device, std::nullopt};
  std::int64_t number = 0;
  for (const char digit : device.substr(colon + 1)) {
    if (digit < '0' || digit > '9' || number > 1'000'000) return {device, std::nullopt};
    number = 10 * number + (digit - '0');
  }
  return {device.substr(0, colon), number};
}

void add_row(const RankFacts& facts, const RankPeak* peak, bool first, std::vector<TableRow>& rows) {
  const auto [kind, number] = peak != nullptr ? parts_of(peak->device) : std::pair(std::string("-"), std::nullopt);
  std::vector<std::string> cells(8, "");
  if (peak != nullptr) {
    cells[0] = exact_bytes(peak->bytes.value);
    cells[1] = peak->step ? std::to_string(*peak->step) : "-";
    cells[4] = exact_bytes(peak->predicted.value);
  }
  if (first) {  // what belongs to the rank, not to its device
    cells[2] = grouped(facts.residual_keys());
    cells[3] = exact_bytes(facts.residual_bytes().value);
    cells[5] = grouped(facts.final_releases());
    cells[6] = grouped(facts.gathers());
    cells[7] = grouped(facts.steps_ended);
  }
  const auto alike = std::find_if(rows.begin(), rows.end(), [&, &own = kind](const TableRow& row) {
    return row.kind == own && row.cells == cells;
  });
  TableRow& row = alike != rows.end() ? *alike : rows.emplace_back(TableRow{kind, cells, {}, {}, {}});
  row.ranks.push_back(facts.rank);
  if (number) row.device_numbers.push_back(*number);
  if (peak != nullptr) row.sequences.push_back(peak->at.value);
}

std::string sequences_text(const std::vector<std::int64_t>& sequences) {
  if (sequences.empty()) return "";
  const auto [least, most] = std::minmax_element(sequences.begin(), sequences.end());
  return *least == *most ? grouped(*least) : grouped(*least) + " to " + grouped(*most);
}

/// Ranks that agree share a row, whatever the number of their device.
std::string table_text(const RankComparison& comparison, const Style& style) {
  std::vector<TableRow> rows;
  for (const RankFacts& facts : comparison.ranks) {
    if (facts.devices.empty()) add_row(facts, nullptr, true, rows);
    for (const RankPeak& peak : facts.devices) add_row(facts, &peak, &peak == &facts.devices.front(), rows);
  }
  Table table({"rank", "device", "peak allocated", "step", "seq", "residual ids", "their bytes", "peak without them",
               "final releases", "gathers", "steps"},
              {false, false, true, true, true, true, true, true, true, true, true});
  for (std::size_t i = 0; i < rows.size() && i < kMostRows; ++i) {
    const TableRow& row = rows[i];
    const std::vector<std::string>& cells = row.cells;
    table.add({ranges(row.ranks), row.kind + (row.device_numbers.empty() ? "" : ":" + ranges(row.device_numbers)),
               cells[0], cells[1], sequences_text(row.sequences), cells[2], cells[3], cells[4], cells[5], cells[6],
               cells[7]});
  }
  return table.text(style, kIndent) + more_text(rows.size(), "row");
}

std::string where_of(const RankComparison& comparison, std::int64_t step, std::size_t position) {
  const std::string gather = fmt::format("gather {}", grouped(static_cast<std::int64_t>(position) + 1));
  return comparison.has_steps ? fmt::format("step {}, {}", step, gather) : gather;
}

std::string order_text(const RankComparison& comparison, const Style& style) {
  const GatherDivergence& order = *comparison.order;
  std::string text = fmt::format(
      "{}{}, {}:\n", kIndent, where_of(comparison, order.step, order.position),
      order.before ? fmt::format("after {} on all of them", key_text(comparison, *order.before)) : "the first of all");
  Table table({"", "gather", "then", "operator", "at", "seq"}, {false, false, false, false, false, true});
  for (std::size_t i = 0; i < order.branches.size() && i < kMostRows; ++i) {
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

bool same_sides(const ParameterDifference& a, const ParameterDifference& b) {
  return std::equal(a.sides.begin(), a.sides.end(), b.sides.begin(), b.sides.end(), [](const auto& x, const auto& y) {
    return std::tie(x.ranks, x.bytes, x.declared, x.persistent) == std::tie(y.ranks, y.bytes, y.declared, y.persistent);
  });
}

bool same_sides(const ResidualDifference& a, const ResidualDifference& b) {
  return std::equal(a.sides.begin(), a.sides.end(), b.sides.begin(), b.sides.end(), [](const auto& x, const auto& y) {
    return std::tie(x.ranks, x.fate, x.bytes) == std::tie(y.ranks, y.fate, y.bytes);
  });
}

/// Parameters of one graph that differ in the same way.
template <class Difference>
struct Alike {
  const Difference* first;
  std::vector<std::int64_t> keys;
};

template <class Difference, class Same>
std::vector<Alike<Difference>> alike(const std::vector<Difference>& differences, const Same& same) {
  std::vector<Alike<Difference>> groups;
  for (const Difference& difference : differences) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const Alike<Difference>& group) {
      return group.first->key.graph == difference.key.graph && same(*group.first, difference);
    });
    auto& group = found != groups.end() ? *found : groups.emplace_back(Alike<Difference>{&difference, {}});
    group.keys.push_back(difference.key.key);
  }
  return groups;
}

std::string parameters_text(const RankComparison& comparison, const Style& style) {
  const auto groups = alike(comparison.parameters, [](const ParameterDifference& a, const ParameterDifference& b) {
    return a.step == b.step && same_sides(a, b);
  });
  Table table({"parameters that differ", "first in", "", "gathered bytes", "uses", "persistent"},
              {false, false, false, true, true, false});
  for (std::size_t i = 0; i < groups.size() && i < kMostRows; ++i) {
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

std::string residual_text(const RankComparison& comparison, const Style& style) {
  const auto groups = alike(comparison.residual, [](const auto& a, const auto& b) { return same_sides(a, b); });
  Table table({"residual on some ranks only", "", "there", "bytes at most"}, {false, false, false, true});
  for (std::size_t i = 0; i < groups.size() && i < kMostRows; ++i) {
    const ResidualDifference& difference = *groups[i].first;
    for (const ResidualDifference::Side& side : difference.sides) {
      const bool head = &side == &difference.sides.front();
      table.add({head ? keys_text(comparison, difference.key.graph, groups[i].keys) : "", ranks_name(side.ranks),
                 std::string(fate_text(side.fate)), side.fate == Fate::kResidual ? exact_bytes(side.bytes.value) : ""});
    }
  }
  return "\n" + table.text(style, kIndent) + more_text(groups.size(), "group");
}

/// "14.0 MiB on rank 1; 4.5 MiB on ranks 0, 2": ranks of one text together; of many texts the first and the last.
template <class Side, class Text>
std::string sides_text(const std::vector<Side>& sides, const Text& text_of) {
  constexpr std::size_t kMostSides = 3;
  std::vector<std::pair<std::string, Ranks>> alike;
  for (const Side& side : sides) {
    const std::string text = text_of(side);
    if (alike.empty() || alike.back().first != text) alike.emplace_back(text, Ranks());
    alike.back().second.insert(alike.back().second.end(), side.ranks.begin(), side.ranks.end());
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < alike.size(); ++i) {
    const bool shown = alike.size() <= kMostSides || i == 0 || i + 1 == alike.size();
    if (shown) parts.push_back(fmt::format("{} on {}", alike[i].first, ranks_name(alike[i].second)));
    if (!shown && i == 1) parts.emplace_back("...");
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string peaks_text(const analyzer::MemoryDifference& memory) {
  return sides_text(memory.peaks, [](const auto& side) { return rounded_bytes(side.bytes.value); });
}

/// Where the memory differs, and from which step on.
std::string memory_text(const RankComparison& comparison, const Style& style) {
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
      if (!head && place.sides.size() > kMostRows && &side != &place.sides.back()) continue;
      table.add({head ? place.site : "",
                 !head             ? ""
                 : place.from_step ? fmt::format("from the end of step {} on", *place.from_step)
                                   : "within steps",
                 ranks_name(side.ranks), exact_bytes(side.bytes.value)});
    }
  }
  return text + "\n" + table.text(style, kIndent);
}

std::string findings_text(const RankComparison& comparison, const Style& style) {
  Table table({"findings of some ranks only", "at", "", "bytes"}, {false, false, false, true});
  for (std::size_t i = 0; i < comparison.findings.size() && i < kMostRows; ++i) {
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

bool gathered(const RankComparison& comparison) {
  return std::any_of(comparison.ranks.begin(), comparison.ranks.end(),
                     [](const RankFacts& facts) { return facts.gathers() > 0; });
}

/// What was compared and agrees.
std::string same_text(const RankComparison& comparison) {
  std::vector<std::string> same;
  if (gathered(comparison)) {
    if (!comparison.order) same.emplace_back("order of gathers");
    if (comparison.parameters.empty()) same.emplace_back("gathered bytes, uses and persistence");
    if (comparison.residual.empty()) same.emplace_back("residual sets");
  }
  if (comparison.findings.empty()) same.emplace_back("findings");
  if (!comparison.memory) same.emplace_back("peaks and growth, to a twentieth");
  if (same.empty()) return {};
  return fmt::format("the same on all ranks: {}\n", fmt::join(same, " · "));
}

/// Ranks whose last gather is not where that of the others is.
std::string ends_text(const RankComparison& comparison) {
  if (comparison.ends.size() < 2) return {};
  std::string text = "the traces end at different gathers: ";
  for (std::size_t i = 0; i < comparison.ends.size() && i < kMostRows; ++i) {
    const LastGather& end = comparison.ends[i];
    if (i > 0) text += "; ";
    text += ranks_name(end.ranks) + (end.step ? " at " + where_of(comparison, *end.step, end.position) +
                                                    fmt::format(" ({})", key_text(comparison, end.key))
                                              : " without any");
  }
  return text + "\n" + more_text(comparison.ends.size(), "group");
}

/// What was compared, and what not.
std::string notes_text(const RankComparison& comparison) {
  std::string text;
  if (!gathered(comparison)) {
    text += "compared: memory and findings; no rank gathered a parameter\n";
  } else if (!comparison.has_steps) {
    text += "compared: the gathers of the whole traces, which have no step\n";
  } else {
    std::int64_t ended = 0;
    for (const RankFacts& facts : comparison.ranks) ended = std::max(ended, facts.steps_ended);
    text += fmt::format("compared: {}; residual sets over the whole run\n",
                        comparison.steps.empty() ? "no step" : steps_name(comparison.steps));
    if (const std::int64_t left = ended - comparison.ended; left > 0) {
      text += fmt::format("note: not compared: {} of {}, because fewer than two ranks have all their rows\n",
                          grouped(left), counted(ended, "step"));
    }
  }
  if (!comparison.lacking.empty()) {
    text += fmt::format(
        "note: {} {} not all rows of these steps, because the trace ended before or only sums were kept: each step is "
        "compared among the ranks that have them\n",
        ranks_name(comparison.lacking), comparison.lacking.size() == 1 ? "has" : "have");
  }
  if (!comparison.graphs_by_order.empty()) {
    text +=
        "note: graph numbers that the ranks have not in common: #1 is the graph that a rank gathered from first, and "
        "so on "
        "(numbers of each rank: --json)\n";
  }
  if (comparison.keys_without_graph > 0) {
    text += fmt::format(
        "note: {} left out, because no gather of their graph has its row\n",
        counted(static_cast<std::int64_t>(comparison.keys_without_graph), "parameter is", "parameters are"));
  }
  Ranks lossy;
  for (const RankFacts& facts : comparison.ranks) {
    if (facts.lost > 0) lossy.push_back(facts.rank);
  }
  if (!lossy.empty()) {
    text += fmt::format("note: {} lost records: a gather or a release may be missing there\n", ranks_name(lossy));
  }
  if (!comparison.left_out.empty()) {
    text +=
        fmt::format("note: left out, because the process has no rank or took no part in the training: {}{}\n",
                    comparison.left_out.front(),
                    comparison.left_out.size() > 1 ? fmt::format(" and {} more", comparison.left_out.size() - 1) : "");
  }
  return text;
}

std::string first_difference(const RankComparison& comparison) {
  return fmt::format("first at {}", where_of(comparison, comparison.order->step, comparison.order->position));
}

/// In what else than the order of gathers.
std::vector<std::string> other_differences(const RankComparison& comparison) {
  std::vector<std::string> parts;
  if (!comparison.parameters.empty()) {
    parts.push_back(fmt::format("in bytes, uses or persistence of {}",
                                counted(static_cast<std::int64_t>(comparison.parameters.size()), "parameter")));
  }
  if (!comparison.residual.empty()) {
    parts.push_back(fmt::format("in whether {} residual", counted(static_cast<std::int64_t>(comparison.residual.size()),
                                                                  "parameter is", "parameters are")));
  }
  if (!comparison.findings.empty()) {
    parts.push_back("in " + counted(static_cast<std::int64_t>(comparison.findings.size()), "finding"));
  }
  if (comparison.memory) parts.push_back(fmt::format("in their peaks ({})", peaks_text(*comparison.memory)));
  return parts;
}

/// "a, b and c".
std::string enumerated(std::vector<std::string> parts) {
  if (parts.size() < 2) return parts.empty() ? "" : parts.front();
  const std::string last = std::move(parts.back());
  parts.pop_back();
  return fmt::format("{} and {}", fmt::join(parts, ", "), last);
}

/// The place that makes the largest difference, and since when.
std::string first_memory_line(const RankComparison& comparison) {
  if (!comparison.memory || comparison.memory->places.empty()) return {};
  const analyzer::MemoryDifference::Place& place = comparison.memory->places.front();
  return fmt::format("Most of the memory that differs is allocated at {}{}.\n", place.site,
                     place.from_step ? fmt::format(", from the end of step {} on", *place.from_step) : "");
}

std::string headline(const RankComparison& comparison, const Style& style) {
  if (comparison.ranks.size() == 1) {
    return style.bold(fmt::format("Nothing to compare: only rank {} has a trace.", comparison.ranks.front().rank));
  }
  const std::vector<std::string> others = other_differences(comparison);
  std::string text;
  if (comparison.order) {
    text = style.bad(fmt::format(
        "The ranks gather in different orders, {}: their collectives do not match, and such a run may hang.",
        first_difference(comparison)));
  }
  if (!others.empty()) {
    text += text.empty() ? style.bad(fmt::format("The ranks differ {}.", enumerated(others)))
                         : "\n" + style.bad(fmt::format("They also differ {}.", enumerated(others)));
  }
  if (!text.empty()) return text;
  const auto ranks = static_cast<std::int64_t>(comparison.ranks.size());
  if (!gathered(comparison)) {
    return style.good(fmt::format("{} alike in peaks, growth and findings; no gather on any of them.",
                                  counted(ranks, "rank is", "ranks are")));
  }
  return style.good(fmt::format("{} gather alike: no difference.", counted(ranks, "rank")));
}

}  // namespace

std::string ranks_text(const RankComparison& comparison, const Style& style) {
  std::string text = headline(comparison, style) + "\n" + first_memory_line(comparison);
  if (!comparison.missing.empty()) {
    text += style.bad(fmt::format("{} of {} {} no trace.", ranks_name(comparison.missing), comparison.world_size,
                                  comparison.missing.size() == 1 ? "has" : "have")) +
            "\n";
  }
  if (comparison.order) text += "\n" + order_text(comparison, style);
  text += "\n" + table_text(comparison, style);
  if (comparison.ranks.size() > 1) {
    if (!comparison.parameters.empty()) text += parameters_text(comparison, style);
    if (!comparison.residual.empty()) text += residual_text(comparison, style);
    if (!comparison.findings.empty()) text += findings_text(comparison, style);
    if (comparison.memory) text += memory_text(comparison, style);
    text += "\n" + same_text(comparison) + ends_text(comparison) + notes_text(comparison);
  }
  return text;
}

std::string run_text(const analyzer::RanksOfRun& ranks, const Style& style) {
  std::string text;
  if (const auto clocks = ranks.clocks()) {
    text = style.dim(clocks->aligned ? fmt::format("clocks of the ranks: aligned within {} by {} and {}",
                                                   duration(clocks->error.value), counted(clocks->steps, "step"),
                                                   counted(clocks->collectives, "collective"))
                                     : "clocks of the ranks: not aligned, no step or collective in common") +
           "\n";
  }
  const auto difference = ranks.difference();
  if (!difference) return text;
  std::vector<std::string> parts = other_differences(*difference);
  if (difference->order) parts.insert(parts.begin(), "in the order of gathers, " + first_difference(*difference));
  return text + style.bad(fmt::format("The ranks differ {}.", joined(parts, "; "))) +
         fmt::format("   next: dc-memtrace show ranks {}\n", ranks.folders());
}

}  // namespace dcmt::cli

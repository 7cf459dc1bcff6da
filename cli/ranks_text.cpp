#include "cli/ranks_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/ranks_tables.h"

namespace dcmt::cli {
namespace {

using analyzer::LastGather;
using analyzer::RankComparison;
using analyzer::Ranks;

std::string steps_name(const std::vector<std::int64_t>& steps) {
  return (steps.size() == 1 ? "step " : "steps ") + ranges(steps);
}

/// What was compared and is equal.
std::string same_text(const RankComparison& comparison) {
  std::vector<std::string> same;
  if (comparison.gathered()) {
    if (!comparison.order) same.emplace_back("order of gathers");
    if (comparison.parameters.empty()) same.emplace_back("gathered bytes, uses and persistence");
    if (comparison.residual.empty()) same.emplace_back("residual sets");
  }
  if (comparison.findings.empty()) same.emplace_back("findings");
  if (!comparison.memory) same.emplace_back("peaks and growth, to a twentieth");
  if (same.empty()) return {};
  return fmt::format("the same on all ranks: {}\n", fmt::join(same, " · "));
}

/// The ranks whose last gather is at another position than that of the others.
std::string ends_text(const RankComparison& comparison) {
  if (comparison.ends.size() < 2) return {};
  std::string text = "the traces end at different gathers: ";
  for (std::size_t i = 0; i < comparison.ends.size() && i < kMostRankRows; ++i) {
    const LastGather& end = comparison.ends[i];
    if (i > 0) text += "; ";
    text += ranks_name(end.ranks) + (end.step ? " at " + where_of(comparison, *end.step, end.position) +
                                                    fmt::format(" ({})", key_text(comparison, end.key))
                                              : " without any");
  }
  return text + "\n" + more_text(comparison.ends.size(), "group");
}

/// What was compared, and what was not.
std::string notes_text(const RankComparison& comparison) {
  std::string text;
  if (!comparison.gathered()) {
    text += "compared: memory and findings; no rank gathered a parameter\n";
  } else if (!comparison.has_steps) {
    text += "compared: the gathers of the whole traces, which have no step\n";
  } else {
    const std::int64_t ended = comparison.steps_ended();
    text += fmt::format("compared: {}; residual sets over the whole run\n",
                        comparison.steps.empty() ? "no step" : steps_name(comparison.steps));
    const bool left_out = std::ranges::any_of(
        comparison.ranks, [](const analyzer::RankFacts& facts) { return facts.steps_left_out > 0; });
    if (const std::int64_t left = ended - comparison.ended; left > 0) {
      text += fmt::format("note: not compared: {} of {}, because {}\n", grouped(left), counted(ended, "step"),
                          left_out ? "of many ranks only the last gathers are; name up to four traces to compare all"
                                   : "fewer than two ranks have all their rows");
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
  const Ranks lossy = comparison.lossy();
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

/// Differences other than the order of gathers.
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

/// The place with the largest difference, and the step from which on it differs.
std::string first_memory_line(const RankComparison& comparison) {
  if (!comparison.memory || comparison.memory->places.empty()) return {};
  const analyzer::MemoryDifference::Place& place = comparison.memory->places.front();
  const std::string since = place.from_step ? fmt::format(", from the end of step {} on", *place.from_step) : "";
  const std::string holder =
      !place.holder ? "" : fmt::format(" {} holds it on {}.", *place.holder, ranks_name(place.sides.front().ranks));
  return fmt::format("Most of the memory that differs is allocated at {}{}.{}\n", place.site, since, holder);
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
  if (!comparison.gathered()) {
    return style.good(fmt::format("{} alike in peaks, growth and findings; no gather on any of them.",
                                  counted(ranks, "rank is", "ranks are")));
  }
  return style.good(fmt::format("{} gather alike: no difference.", counted(ranks, "rank")));
}

/// The differences of the ranks, or that there are none, and the missing ranks.
std::string first_lines(const RankComparison& comparison, const Style& style) {
  const std::string text = headline(comparison, style) + "\n" + first_memory_line(comparison);
  if (comparison.missing.empty()) return text;
  return text +
         style.bad(fmt::format("{} of {} {} no trace.", ranks_name(comparison.missing), comparison.world_size,
                               comparison.missing.size() == 1 ? "has" : "have")) +
         "\n";
}

}  // namespace

std::string ranks_text(const RankComparison& comparison, const Style& style) {
  std::string text = first_lines(comparison, style);
  if (comparison.order) text += "\n" + order_table(comparison, style);
  text += "\n" + rank_table(comparison, style);
  if (comparison.ranks.size() > 1) {
    if (!comparison.parameters.empty()) text += parameter_table(comparison, style);
    if (!comparison.residual.empty()) text += residual_table(comparison, style);
    if (!comparison.findings.empty()) text += finding_table(comparison, style);
    if (comparison.memory) text += memory_table(comparison, style);
    text += "\n" + same_text(comparison) + ends_text(comparison) + notes_text(comparison);
  }
  return text;
}

std::string many_ranks_text(const RankComparison& comparison, const std::vector<analyzer::AlikeRanks>& groups,
                            const Style& style) {
  std::string text = first_lines(comparison, style);
  if (!comparison.findings.empty()) text += finding_table(comparison, style);
  if (groups.size() > 1) {
    text += fmt::format("\n{} groups of ranks that are alike:\n", groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const bool last = i + 1 == groups.size();
      if (i < kMostRankRows || last) text += fmt::format("  {}\n", ranks_name(groups[i].ranks));
      if (i >= kMostRankRows && last) text += more_text(groups.size() - 1, "group");
    }
  }
  return text + "\n" + notes_text(comparison);
}

std::string alike_text(const analyzer::AlikeRanks& group) {
  if (group.ranks.size() < 2) return {};
  return ", like " + ranks_name({group.ranks.begin() + 1, group.ranks.end()});
}

std::string processes_text(const analyzer::RanksOfRun& ranks, const Style& style) {
  std::string text;
  if (ranks.processes() > 1 && ranks.most_on_cpu().value > 0) {
    text = fmt::format("\n{} processes: at most {} on cpu together, the sum of their peaks\n", ranks.processes(),
                       style.bytes(ranks.most_on_cpu()));
  }
  if (const auto clocks = ranks.clocks()) {
    text += style.dim(clocks->aligned ? fmt::format("clocks of the ranks: aligned within {} by {} and {}",
                                                    duration(clocks->error.value), counted(clocks->steps, "step"),
                                                    counted(clocks->collectives, "collective"))
                                      : "clocks of the ranks: not aligned, no step or collective in common") +
            "\n";
  }
  return text;
}

std::string run_text(const analyzer::RanksOfRun& ranks, const Style& style) {
  const std::string text = processes_text(ranks, style);
  const auto difference = ranks.difference();
  if (!difference) return text;
  std::vector<std::string> parts = other_differences(*difference);
  if (difference->order) parts.insert(parts.begin(), "in the order of gathers, " + first_difference(*difference));
  return text + style.bad(fmt::format("The ranks differ {}.", joined(parts, "; "))) +
         fmt::format("   next: dc-memtrace show ranks {}\n", ranks.folders());
}

}  // namespace dcmt::cli

#include "cli/diff_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>

#include "cli/check_text.h"
#include "cli/ranks_tables.h"

namespace dcmt::cli {
namespace {

using analyzer::Difference;
using analyzer::FindingChange;
using analyzer::GraphDifference;
using analyzer::LifetimeDifference;
using analyzer::LifetimeHistograms;
using analyzer::LineDifference;
using analyzer::LoneRanks;
using analyzer::ModuleDifference;
using analyzer::NumberDifference;
using analyzer::RunRow;
using analyzer::SavedDifference;
using analyzer::StepDifference;

/// The part of the run with the peak: "backward of step 3".
std::string part_of(const RunRow& row) {
  if (row.peak_part.empty()) return "-";
  const std::string part = row.peak_part == "first_step" ? "the first step" : row.peak_part;
  return part == row.peak_part && row.peak_step ? fmt::format("{} of step {}", part, *row.peak_step) : part;
}

std::string runs_table(const std::vector<RunRow>& runs, const Style& style) {
  Table table({"run", "device", "steps", "a step", "max allocated", "in", "max reserved", "to the first"},
              {false, false, true, true, true, false, true, true});
  for (const RunRow& row : runs) {
    const std::string device = row.device + (row.rank >= 0 ? fmt::format(", rank {}", row.rank) : "");
    table.add({row.label, device, grouped(row.steps), row.step_time ? duration(row.step_time->value) : "-",
               exact_bytes(row.peak.value), part_of(row), row.reserved ? exact_bytes(row.reserved->value) : "-",
               row.change != 0 ? wording::signed_bytes(row.change) : "-"});
  }
  return table.text(style, "");
}

std::string place(const LineDifference& line) {
  if (line.file.empty()) return line.function;
  std::string text = fmt::format("{}:{}", path_from_here(line.file), line.line);
  if (const std::size_t space = line.function.rfind(' '); space != std::string::npos)
    text += line.function.substr(space);
  return text;
}

/// The part of a number's change that one line explains.
std::string line_text(const LineDifference& line) {
  return fmt::format("    {}  {}  {}{}", right(percent(line.share, 0), 5),
                     right(wording::signed_bytes(line.change), 16), place(line),
                     line.caller.empty() ? "" : ", called at " + line.caller);
}

/// Which modules a change is for. Small ones are left out.
std::string modules_text(const NumberDifference& number) {
  constexpr std::size_t kMost = 5;
  constexpr std::int64_t kLeast = 50;  // the part of the largest change
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, number.modules.size()); ++i) {
    const ModuleDifference& each = number.modules[i];
    if (std::abs(each.change()) * kLeast < std::abs(number.modules.front().change())) break;
    text +=
        fmt::format("    {}  {}  {}\n", left(i == 0 ? "for" : "", 5), right(wording::signed_bytes(each.change()), 16),
                    each.module.empty() ? "(outside of modules)" : each.module);
  }
  return text;
}

/// Only peaks and growth have lines. Lines that an earlier number already shows are not repeated; a line may have
/// another holder at another peak.
std::string numbers_text(const std::vector<NumberDifference>& numbers) {
  std::size_t names = 0;
  std::size_t widest = 0;
  const auto value = [](const std::optional<std::int64_t>& number) { return number ? grouped(*number) : "-"; };
  for (const NumberDifference& number : numbers) {
    names = std::max(names, number.name.size());
    widest = std::max({widest, value(number.before).size(), value(number.after).size()});
  }
  std::string text;
  std::set<std::string> said;
  for (const NumberDifference& number : numbers) {
    const bool growth = number.name == "growth.step";
    const bool share = number.before.value_or(0) > 0;
    text += fmt::format("  {}  {} → {}{}  {}{}\n", left(number.name, names), right(value(number.before), widest),
                        right(value(number.after), widest), number.unit == NumberDifference::kBytes ? " B" : "",
                        (number.change() > 0 ? "+" : "") + grouped(number.change()),
                        share ? fmt::format(" ({:+.1f} %)", 100.0 * static_cast<double>(number.change()) /
                                                                static_cast<double>(*number.before))
                              : "");
    std::string lines, with_holders;
    for (const LineDifference& line : number.lines) {
      constexpr double kLeast = 0.02;
      if (line.share < kLeast) continue;
      lines += line_text(line);
      with_holders += line_text(line) + (growth ? ", by all steps" : "") +
                      (line.holder.empty() ? "" : ", held by " + line.holder) + "\n";
    }
    if (said.insert(lines).second) text += with_holders + modules_text(number);
  }
  return text;
}

std::string steps_text(const Difference& difference) {
  const std::int64_t common = std::min(difference.steps_before, difference.steps_after);
  std::string text;
  if (difference.steps_before != difference.steps_after) {
    text +=
        fmt::format("  steps       {} and {}: each step of the first {} is compared, other numbers are of all steps\n",
                    difference.steps_before, difference.steps_after, common);
  }
  if (difference.steps.empty()) return text;
  const StepDifference& first = difference.steps.front();
  return text + fmt::format("  steps       peaks differ in {} of {}, first in step {}: {} → {} B\n",
                            difference.steps.size(), common, first.step, grouped(first.before.value),
                            grouped(first.after.value));
}

std::string finding_line(const FindingChange& finding) {
  std::string text = fmt::format("  finding {}: {}", name_of(finding.became), finding.title);
  if (!finding.holder.empty()) text += fmt::format(", held by {}", finding.holder);
  if (!finding.file.empty()) text += fmt::format(", made at {}:{}", path_from_here(finding.file), finding.line);
  return text + fmt::format(": {} → {} B\n", grouped(finding.before.value), grouped(finding.after.value));
}

/// The lifetimes that a bar stands for.
std::string lived_text(const LifetimeDifference& bar, bool phases) {
  if (bar.unit == LifetimeDifference::kAlive) return "to the end";
  const bool of_phases = bar.unit == LifetimeDifference::kPhases;
  const std::string_view unit = of_phases ? "phase" : "step";
  if (bar.least == 0) return phases ? "within a phase" : "within a step";
  if (!bar.most) return fmt::format("{} {}s later or more", bar.least, unit);
  if (bar.least == *bar.most) return fmt::format("{} later", counted(bar.least, unit));
  return fmt::format("{} to {} {}s later", bar.least, *bar.most, unit);
}

std::string bar_text(Bytes bytes, Bytes longest) {
  constexpr std::int64_t kWidest = 12;
  if (bytes.value <= 0) return "";
  std::string bar;
  const std::int64_t whole =
      static_cast<std::int64_t>(static_cast<double>(bytes.value) * kWidest / static_cast<double>(longest.value));
  for (std::int64_t i = 0; i < whole; ++i) bar += "█";
  return bar.empty() ? "▏" : bar;
}

/// Two histograms of lifetimes side by side.
std::string lives_text(const LifetimeHistograms& lives, const Style& style) {
  if (!lives.differ()) return "";
  Bytes longest;
  bool phases = false;
  for (const LifetimeDifference& bar : lives.bars) {
    longest = std::max({longest, bar.before, bar.after});
    phases |= bar.unit == LifetimeDifference::kPhases && bar.least > 0;
  }
  Table table({"ended", "blocks before", "bytes", "", "blocks after", "bytes", "", "mean time before, after"},
              {false, true, true, false, true, true, false, false});
  const auto time = [](const std::optional<TimeNs>& ns) { return ns ? duration(ns->value) : "-"; };
  for (const LifetimeDifference& bar : lives.bars) {
    table.add({lived_text(bar, phases), grouped(bar.before_blocks), grouped(bar.before.value),
               bar_text(bar.before, longest), grouped(bar.after_blocks), grouped(bar.after.value),
               bar_text(bar.after, longest), time(bar.before_lived) + ", " + time(bar.after_lived)});
  }
  const std::string what = lives.from_step > 0 ? fmt::format("{} after the first one", counted(lives.steps, "step"))
                                               : counted(lives.steps, "step");
  return fmt::format("  lifetimes   of the blocks that began in {}:\n", what) + table.text(style, "    ");
}

std::string saved_line(const SavedDifference& saved) {
  const std::string name = saved.node.empty() ? "a field that no reading found" : saved.node + "." + saved.field;
  return fmt::format("    {}  {}: {} → {} B in {} → {}{}\n", left(name_of(saved.became), 6), name,
                     grouped(saved.before.value), grouped(saved.after.value), grouped(saved.before_storages),
                     counted(saved.after_storages, "storage"),
                     saved.certain ? "" : ", not certain: as many bytes of the other run are not known");
}

/// Differences in what autograd's graph had saved.
std::string graph_text(const GraphDifference& graph) {
  if (graph.peak.empty()) return "";
  if (!graph.compared) return "  graph       not compared: the memory of a run was not read\n";
  if (graph.fields.empty()) return "";
  std::string text = fmt::format("  graph       at {}, saved for backward: {} → {} B", graph.peak,
                                 grouped(graph.before.value), grouped(graph.after.value));
  if (graph.kept_fields > 0) {
    text += fmt::format("; {} B in {} kept", grouped(graph.kept.value), counted(graph.kept_fields, "field"));
  }
  text += "\n";
  for (const SavedDifference& saved : graph.fields) text += saved_line(saved);
  return text;
}

std::string runs_of(const Difference& difference) {
  return fmt::format("{} → {}{}", difference.before, difference.after,
                     difference.rank >= 0 ? fmt::format(", rank {}", difference.rank) : "");
}

/// The largest difference.
std::string headline(const Difference& difference) {
  if (difference.equal_runs()) return "no difference";
  if (difference.numbers.empty()) return "the same peaks and counts";
  const NumberDifference& most = difference.numbers.front();
  std::string text = fmt::format("{} {}{}{}", most.name, most.change() > 0 ? "+" : "", grouped(most.change()),
                                 most.unit == NumberDifference::kBytes ? " B" : "");
  if (most.lines.empty()) return text;
  return text + fmt::format(", {} of it from {}", percent(most.lines.front().share, 0), place(most.lines.front()));
}

std::string details(const Difference& difference, const Style& style) {
  std::string text = "  operators   " + wording::order_sentence(difference.order) + "\n";
  if (difference.equal_runs()) return text;
  text += steps_text(difference) + numbers_text(difference.numbers);
  for (const FindingChange& finding : difference.findings) text += finding_line(finding);
  text += lives_text(difference.lives, style) + graph_text(difference.graph);
  if (difference.equal > 0) text += fmt::format("  {} equal\n", counted(difference.equal, "other number"));
  return text;
}

/// Ranks and traces that are not compared.
std::string not_compared_text(const analyzer::RunsDifference& runs) {
  std::string text;
  for (const LoneRanks& each : runs.lone_ranks) {
    text += fmt::format("not compared: {}: {} does not have {}\n", lone_ranks_name(each), each.lacking,
                        each.ranks.size() > 1 ? "them" : "it");
  }
  if (runs.left_out.empty()) return text;
  const std::size_t others = runs.left_out.size() - 1;
  return text + fmt::format("not compared, because another process of the rank did more: {}{}\n", runs.left_out.front(),
                            others > 0 ? fmt::format(" and {} more", others) : "");
}

}  // namespace

std::string lone_ranks_name(const LoneRanks& ranks) {
  const bool none = ranks.ranks == std::vector<std::int64_t>{-1};
  return fmt::format("{} of {}", none ? "the process without a rank" : ranks_name(ranks.ranks), ranks.run);
}

std::string diff_text(const analyzer::RunsDifference& runs, const Style& style) {
  std::string text = runs_table(runs.runs, style);
  const Difference* shown = nullptr;
  for (const Difference& difference : runs.differences) {
    const bool of_one_run = shown != nullptr && shown->after == difference.after;
    const bool alike =
        of_one_run && headline(*shown) == headline(difference) && details(*shown, style) == details(difference, style);
    const std::string what = alike ? fmt::format("the same as rank {}", shown->rank) : headline(difference);
    text += "\n" + style.bold(runs_of(difference) + ": " + what) + "\n";
    if (alike) continue;
    text += details(difference, style);
    shown = &difference;
  }
  const std::string not_compared = not_compared_text(runs);
  return text + (not_compared.empty() ? "" : "\n" + not_compared);
}

}  // namespace dcmt::cli

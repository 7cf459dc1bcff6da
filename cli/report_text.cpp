#include "cli/report_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/footer_text.h"
#include "cli/groups_text.h"
#include "cli/peak_text.h"
#include "render/wording/finding_words.h"
#include "render/wording/fragmented_words.h"
#include "render/wording/growth_parts.h"
#include "render/wording/growth_words.h"
#include "render/wording/job_words.h"
#include "render/wording/reference_words.h"
#include "trace/base/detail.h"
#include "trace/base/shell_words.h"

namespace dcmt::cli {
namespace {

using model::DevicePeak;
using model::Report;
using model::ReportedFinding;
using model::Summary;

constexpr std::size_t kMostSites = 10;

/// How often memory ran out, and how often that was avoidable.
std::string out_of_memory_sentence(const Summary& summary) {
  if (summary.errors == 0) return {};
  std::string text =
      summary.errors == 1 ? "Out of memory" : fmt::format("Out of memory {} times", grouped(summary.errors));
  if (summary.errors_in_vain == 0) return text + ". ";
  return text +
         (summary.errors == summary.errors_in_vain
              ? ", which was avoidable"
              : fmt::format(", {} of them avoidable", grouped(summary.errors_in_vain))) +
         ": released storages were still held. ";
}

std::string device_sentence(const ReportedFinding& finding, const Style& style) {
  if (finding.duplicate) return fmt::format("{} exist twice at the peak. ", style.bytes(finding.bytes));
  if (finding.waits) {
    return fmt::format("When most was active on {}, {} had been freed and waited for streams. ", finding.waits->device,
                       style.bytes(finding.bytes));
  }
  return finding.fragmentation ? wording::fragmented_sentence(*finding.fragmentation, style.form()) : std::string();
}

std::string in_flight_sentence(const Report& report) {
  const auto places =
      std::ranges::count_if(report.findings, [](const auto& each) { return each.in_flight.has_value(); });
  if (places == 0) return {};
  return fmt::format("Memory of a GPU is handed out again while a stream may still use it, in {}. ",
                     counted(places, "place"));
}

/// Findings that are not about the training.
std::string trial_sentence(const Summary& summary) {
  if (summary.trials == 0) return {};
  return fmt::format("{}{} of {}, which tries the program out. ", summary.only_trials ? "No finding in training; " : "",
                     counted(summary.trials, summary.only_trials ? "finding" : "more finding"),
                     joined(summary.trial_origins, ", "));
}

/// The dead part of a device's peak. The first device of the report is not named.
std::string dead_sentence(const DevicePeak& peak, bool first, const Style& style) {
  if (peak.dead_bytes.value == 0) return {};
  const std::string measured = style.bytes(peak.bytes);
  const std::string predicted = style.bytes(peak.predicted_bytes);
  const std::string name = first ? "the peak" : fmt::format("the peak on {}", peak.device.value_or(""));
  return fmt::format("{} of {} is dead; ", percent(peak.dead_share, 0), name) +
         (predicted == measured ? fmt::format("without it another peak is as high, {}. ", measured)
                                : fmt::format("without it the peak is {}{}, not {}. ",
                                              wording::bound_text(peak.predicted_as), predicted, measured));
}

std::string finding_text(const std::string& path, const ReportedFinding& finding, const Style& style) {
  const wording::FindingWords words = wording::finding_words(path, finding, style.form());
  return fmt::format("{}  {}{}\n", finding.number, style.bad(words.title), words.about) + lines_of(words.facts, style);
}

std::string headline(const Report& report, const Style& style) {
  const Summary& summary = report.summary;
  std::string text = out_of_memory_sentence(summary);
  text += wording::growth_sentence(report, style.form());
  if (summary.residual > 0) text += counted(summary.residual, "release") + " freed nothing. ";
  if (summary.late > 0) text += counted(summary.late, "release") + " freed late. ";
  std::string dead;
  for (const DevicePeak& device : report.devices)
    dead += dead_sentence(device, &device == &report.devices.front(), style);
  text += dead.empty() && summary.residual > 0 ? "None of it is alive at the peak. " : dead;
  if (summary.read_early > 0) {
    text += counted(summary.read_early, "parameter is", "parameters are") + " read after the release. ";
  }
  if (summary.never_released > 0) {
    text += counted(summary.never_released, "gathered parameter is", "gathered parameters are") + " never released. ";
  }
  for (const ReportedFinding& finding : report.findings) text += device_sentence(finding, style);
  text += in_flight_sentence(report);
  text += trial_sentence(summary);
  text.pop_back();
  return text;
}

/// The remark of growth whose holder is not known; nullptr: there is none.
const analyzer::Remark* remark_of_growth(const Report& report) {
  const auto grows = [](const analyzer::Remark& each) { return each.per_step.value > 0; };
  const auto found = std::ranges::find_if(report.remarks, grows);
  return found != report.remarks.end() ? &*found : nullptr;
}

std::string growth_without_finding(const Report& report, const Style& style) {
  const analyzer::Remark* const remark = remark_of_growth(report);
  return remark != nullptr
             ? fmt::format(", but memory grows by {} a {} (remark)", style.bytes(remark->per_step), remark->round)
             : "";
}

std::string clean_line(const Report& report, const Style& style) {
  const model::FinalReleases& releases = report.final_releases;
  const std::int64_t persistent = report.releases.persistent;
  const DevicePeak& peak = report.peak;
  if (detail_of(report.facts.detail) == Detail::kOutOfMemory) {
    return peak.at ? fmt::format("Memory was not refused. Alive at the end: {} on {}", style.bytes(peak.bytes),
                                 peak.device.value_or("")) +
                         "."
                   : "Memory was not refused, and nothing else was recorded (run --oom-only).";
  }
  std::string text =
      fmt::format("No finding{}. Peak {}", growth_without_finding(report, style), style.bytes(peak.bytes));
  if (peak.at) text += " on " + where_of_peak(peak);
  if (releases.total > 0) {
    text += fmt::format("; {} of {} freed at once", grouped(releases.freed), counted(releases.total, "release"));
  } else if (persistent > 0) {
    text += fmt::format("; all {} of persistent parameters", counted(persistent, "release"));
  }
  if (releases.recycled > 0) text += fmt::format(", {} into a pool", grouped(releases.recycled));
  if (releases.not_known > 0) text += fmt::format(", {} not known", grouped(releases.not_known));
  return text + ".";
}

/// A memory snapshot of torch can have no findings except for errors.
std::string snapshot_line(const Report& report, const Style& style) {
  const DevicePeak& peak = report.peak;
  if (!peak.at) return "The snapshot has no blocks.";
  if (report.facts.history == "none") {
    return fmt::format("{} were allocated on {} when the snapshot was made. It has no history: the peak is not known.",
                       style.bytes(peak.bytes), peak.device.value_or(""));
  }
  if (report.facts.history == "late") {
    return fmt::format("Most allocated since its history began: {} on {}. The peak before it is not known.",
                       style.bytes(peak.bytes), where_of_peak(peak));
  }
  return fmt::format("Peak {} on {}", style.bytes(peak.bytes), where_of_peak(peak)) +
         ", as far as the snapshot goes back.";
}

/// The allocation sites of the blocks at its peak, for a snapshot.
std::string sites_of_snapshot(const Report& report, const Style& style) {
  if (!report.peak.at) return {};
  const char* const then = report.facts.history == "none"   ? "\nallocated when the snapshot was made\n"
                           : report.facts.history == "late" ? "\nalive when most was allocated\n"
                                                            : "\nalive at the peak\n";
  return then + group_table(report.peak.live.by(analyzer::GroupBy::kSite), analyzer::GroupBy::kSite, kMostSites, style);
}

std::string survivor_line(const model::Outliving& outliving, const Style& style) {
  return fmt::format("Of what step {} made, {} in {} are alive after step {}, most of it from {}.\n", outliving.born_in,
                     style.bytes(outliving.bytes), counted(outliving.storages, "storage"), outliving.outlive,
                     outliving.site);
}

/// That the kernel killed the program because of its memory is reported first.
std::string killed_text(const Report& report, const Style& style) {
  const auto& kill = report.facts.group_kill;
  if (!kill) return {};
  const char* const how = kill->seen ? "Killed by the kernel: its control group had reached its limit of"
                                     : "Killed, and its recorder too, when its control group had reached its limit of";
  std::string text = style.bad(fmt::format("{} {} (memory.max).", how, style.bytes(kill->limit))) + "\n";
  if (!kill->process) return text;
  text += fmt::format("  at the last sample the process had {}, of it torch {}", style.bytes(*kill->process),
                      style.bytes(*kill->torch));
  if (kill->used) text += fmt::format("; the group used {}", style.bytes(*kill->used));
  return text +
         fmt::format("\n  what was alive          dc-memtrace show live {} --at exit\n", shell_word(report.path)) +
         fmt::format("  what was not torch's    dc-memtrace show memory {}\n\n", shell_word(report.path));
}

/// A MemoryError that ended the program is reported first, too.
std::string memory_error_text(const Report& report, const Style& style) {
  const auto& notes = report.facts.diagnostics;
  const auto error = std::ranges::find_if(notes, [](const auto& each) { return each.ends_program(); });
  return error != notes.end() ? style.bad("Ended with " + error->text) + ".\n" : "";
}

std::string body(const Report& report, const Style& style) {
  const bool clean = report.findings.empty();
  const bool snapshot = report.facts.of_snapshot();
  std::string text = killed_text(report, style) + memory_error_text(report, style);
  text += !clean     ? style.bold(headline(report, style)) + "\n\n"
          : snapshot ? style.bold(snapshot_line(report, style)) + "\n"
                     : style.good(clean_line(report, style)) + "\n";
  for (const DevicePeak& device : report.devices) {
    const bool said = clean && !snapshot && &device == &report.devices.front();
    if (!said) text += peak_lines(device, report.facts.history, style);
    if (!snapshot && &device == &report.devices.front()) text += composition_line(report.peak, style);
  }
  if (report.job) text += left("whole job", 16) + wording::job_line(*report.job, style.form()) + "\n";
  if (snapshot) text += sites_of_snapshot(report, style);
  text += "\n";
  for (const ReportedFinding& finding : report.findings) {
    text += finding_text(report.path, finding, style);
    if (report.findings.size() > 1 || report.watched)
      text += labelled("next", wording::next_command(report.path, finding), style);
    text += "\n";
  }
  if (report.watched) text += wording::watched_text(*report.watched) + "\n\n";
  if (report.outliving) text += survivor_line(*report.outliving, style) + "\n";
  return text + footer_text(report, style);
}

std::string next_command(const Report& report) {
  if (report.watched) {
    return fmt::format("dc-memtrace show storage {} {}", shell_word(report.path), report.watched->storage.value);
  }
  if (!report.findings.empty()) return wording::next_command(report.path, report.findings.front());
  const analyzer::Remark* const grows = remark_of_growth(report);
  if (grows != nullptr && grows->kind == analyzer::RemarkKind::kGrowsUnfollowed) {
    return "dc-memtrace run --detail full " + report.facts.command;
  }
  return fmt::format("dc-memtrace show peak {} --by {}", shell_word(report.path),
                     report.facts.of_snapshot() ? "site" : "category");
}

std::string trace_title(const Report& report) {
  return report.rank >= 0 ? fmt::format("rank {}", report.rank) : report.path;
}

}  // namespace

std::string ReportText::next_line() const { return next_.empty() ? "" : "next: " + next_ + "\n"; }

void ReportText::add(const Report& report, const std::string& alike) {
  model::ComparableReport said = report.comparable();
  if (!shown_.empty() && said == comparable_) {
    text_ += fmt::format("{}: equal to {} (peak, releases, findings)\n", trace_title(report), shown_);
    return;
  }
  // What starts the ranks, or serves them, is of little interest beside them.
  if (report.rank >= 0) has_ranks_ = true;
  if (has_ranks_ && report.rank < 0 && report.findings.empty()) {
    text_ += fmt::format("\n{}: no rank, no finding; peak {}\n", report.path, style_.bytes(report.peak.bytes));
    return;
  }
  if (titles_) text_ += (shown_.empty() ? "" : "\n") + style_.bold("== " + trace_title(report) + alike) + "\n";
  text_ += body(report, style_);
  const bool asked = report.watched || !report.findings.empty();
  if (next_.empty() || (asked && !next_is_asked_)) {
    next_ = next_command(report);
    next_is_asked_ = asked;
  }
  shown_ = trace_title(report);
  comparable_ = std::move(said);
}

}  // namespace dcmt::cli

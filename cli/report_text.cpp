#include "cli/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "analyzer/ranks/rank_alignment.h"
#include "analyzer/ranks/rank_comparison.h"
#include "analyzer/storages/parameters.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/time/timeline.h"
#include "cli/oom_text.h"
#include "cli/ranks_text.h"
#include "cli/remarks_text.h"
#include "cli/report_json.h"
#include "cli/streams_text.h"
#include "trace/base/code_path.h"

namespace dcmt::cli {
namespace {

using analyzer::Analysis;
using analyzer::Count;
using analyzer::describe_frame;
using analyzer::describe_site;
using analyzer::DeviceAnalysis;
using analyzer::DiagnosticFact;
using analyzer::Finding;
using analyzer::FindingItem;
using analyzer::Frame;
using analyzer::frames_of;
using analyzer::FrameText;
using analyzer::Gone;
using analyzer::GoneBy;
using analyzer::HolderKind;
using analyzer::HolderName;
using analyzer::HolderPath;
using analyzer::Holders;
using analyzer::LaunchCounts;
using analyzer::LossFact;
using analyzer::Mark;
using analyzer::name_of;
using analyzer::named_operator;
using analyzer::Operator;
using analyzer::OperatorCount;
using analyzer::OperatorScope;
using analyzer::Peak;
using analyzer::ReleaseRow;
using analyzer::RunFacts;
using analyzer::site_of;
using analyzer::StepSurvivors;
using analyzer::Subject;
using analyzer::TraceData;
using analyzer::Verdict;
using analyzer::WhatIf;

constexpr std::size_t kNumbers = 16;   // columns of the peak's byte counts
constexpr std::size_t kMostPaths = 3;  // holder paths shown of one census
constexpr std::size_t kMostFrames = 3;
constexpr std::size_t kMostAlone = 4;  // findings whose own prediction is shown
constexpr std::int64_t kMostNotes = 5;
constexpr std::size_t kAssignment = 56;  // characters of a source line

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string peak_row(std::string_view label, std::int64_t bytes, std::string_view rest) {
  return left(label, 16) + right(exact_bytes(bytes), kNumbers) + "   " + std::string(rest) + "\n";
}

bool is_rule(const Finding& finding, std::string_view rule) { return finding.rule == rule; }

/// The names of parameters that all have one, else empty.
std::string names_text(const TraceData& data, std::int64_t graph, const std::vector<std::int64_t>& keys) {
  constexpr std::size_t kMostNames = 4;
  std::vector<std::string> names;
  const std::set<std::int64_t> distinct(keys.begin(), keys.end());
  for (const std::int64_t key : distinct) {
    const analyzer::Parameter* parameter = analyzer::find_parameter(data, {graph, key});
    if (parameter == nullptr || !parameter->name.valid()) return {};
    if (names.size() < kMostNames) names.emplace_back(data.text(parameter->name));
  }
  if (distinct.size() > kMostNames) names.push_back(fmt::format("{} more", distinct.size() - kMostNames));
  return joined(names, ", ");
}

std::string key_text(const TraceData& data, const std::vector<FindingItem>& items) {
  std::map<std::int64_t, std::vector<std::int64_t>> by_graph;
  for (const FindingItem& item : items) by_graph[item.key.graph].push_back(item.key.key);
  std::vector<std::string> parts;
  for (auto& [graph, keys] : by_graph) {
    std::string text = names_text(data, graph, keys);
    if (text.empty()) {
      const std::size_t distinct = std::set<std::int64_t>(keys.begin(), keys.end()).size();
      text = (distinct == 1 ? "id " : "ids ") + ranges(keys);
    }
    if (by_graph.size() > 1 || graph != 0) text += " of " + analyzer::describe_graph(data, graph);
    parts.push_back(std::move(text));
  }
  return joined(parts, "; ");
}

std::string step_text(const Finding& finding) {
  std::vector<std::int64_t> steps;
  for (const FindingItem& item : finding.items) {
    if (item.step != nullptr) steps.push_back(item.step->number);
  }
  if (steps.empty()) return {};
  const bool one = std::set<std::int64_t>(steps.begin(), steps.end()).size() == 1;
  return (one ? "step " : "steps ") + ranges(steps);
}

std::string bytes_text(const Finding& finding) {
  const std::int64_t keys = finding.keys();
  if (const auto each = finding.bytes_each()) {
    return keys == 1 ? exact_bytes(each->value) : fmt::format("{} × {}", keys, exact_bytes(each->value));
  }
  return fmt::format("{}, {}", counted(keys, "storage"), exact_bytes(finding.bytes.value));
}

std::string operators_text(const OperatorCount& count) {
  if (count.exact()) return counted(count.at_least, "operator");
  if (count.at_most) return fmt::format("{} to {} operators", grouped(count.at_least), grouped(*count.at_most));
  return fmt::format("at least {}", counted(count.at_least, "operator"));
}

/// Launches that do not say what memory they work on.
std::string opaque_text(const LaunchCounts& counts) {
  if (counts.opaque() == 0) return "none opaque";
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t count, std::string_view one, std::string_view many) {
    if (count > 0) parts.push_back(counted(count, one, many));
  };
  add(counts.graphs, "graph", "graphs");
  add(counts.nccl, "NCCL kernel", "NCCL kernels");
  add(counts.unknown, "with unknown parameters", "with unknown parameters");
  add(counts.copies, "copy of several parts", "copies of several parts");
  return fmt::format("{} opaque ({})", grouped(counts.opaque()), joined(parts, ", "));
}

std::string none_seen_text(const Finding& finding) {
  const std::string operators = operators_text(finding.coverage);
  if (!finding.launches) {
    return fmt::format("after the release: none seen in {}; calls past the dispatcher are not observed", operators);
  }
  return fmt::format("after the release: none seen in {} and {}, {}{}", operators,
                     counted(finding.launches->counts.calls, "launch", "launches"),
                     opaque_text(finding.launches->counts),
                     finding.launches->whole ? "" : "; launches were not looked at all the time");
}

/// Who reads: operators and kernels apart, since an operator that reads launches kernels that do.
std::string readers_text(const Finding& finding) {
  std::vector<std::string> parts;
  if (finding.reads > 0) parts.push_back(counted(finding.reads, "operator"));
  if (finding.kernel_reads > 0) parts.push_back(counted(finding.kernel_reads, "kernel"));
  return joined(parts, " and ");
}

/// How long the storages of a finding that went at last had lived past their release.
std::string held_for(const Finding& finding) {
  bool known = true;
  std::int64_t least = INT64_MAX;  // operators
  std::int64_t most = 0;
  std::int64_t shortest = INT64_MAX;
  std::int64_t longest = 0;
  for (const FindingItem& item : finding.items) {
    if (!item.gone) continue;
    const OperatorCount& held = item.row->operators_held;
    known = known && held.exact();
    least = std::min(least, held.at_least);
    most = std::max(most, held.at_least);
    const std::int64_t ns = item.until_ns.value - item.since_ns.value;
    shortest = std::min(shortest, ns);
    longest = std::max(longest, ns);
  }
  const std::string operators =
      least == most ? counted(most, "operator") : fmt::format("{} to {} operators", grouped(least), grouped(most));
  const std::string time =
      shortest == longest ? duration(shortest) : fmt::format("{} to {}", duration(shortest), duration(longest));
  return fmt::format("{}{}, {} after the release", known ? "" : "at least ", operators, time);
}

std::string lines_of_residual(const TraceData& data, const Finding& finding, const Style& style) {
  const FindingItem& first = finding.items.front();
  const Mark& release = *first.release;
  std::string text;
  std::string countdown;
  if (release.declared && release.remaining) {
    countdown = fmt::format(" (use count {} → {})", *release.remaining + 1, *release.remaining);
  }
  std::string released =
      fmt::format("{}, {}: final{}, not persistent", data.text(release.name), key_text(data, finding.items), countdown);
  if (const std::string steps = step_text(finding); !steps.empty()) released += " · " + steps;
  text += labelled("released", released, style);
  const bool metadata = std::all_of(finding.items.begin(), finding.items.end(),
                                    [](const FindingItem& item) { return item.row->metadata_only; });
  text += labelled("",
                   metadata ? "only the registered tensor was emptied; the shared storage kept its bytes"
                            : fmt::format("the storage kept {} of {} bytes", grouped(first.bytes.value),
                                          grouped(release.bytes.value_or(first.bytes).value)),
                   style);
  if (finding.holders) {
    const std::string suffix =
        finding.more_alike > 0 ? fmt::format("   {} more alike", grouped(finding.more_alike)) : "";
    text += holder_lines(data, *finding.holders, suffix, style);
  } else {
    text += labelled("held by", "not known: no census was taken at these releases", style);
  }
  text += labelled("because", finding.why, style);

  const auto gone =
      std::find_if(finding.items.begin(), finding.items.end(), [](const FindingItem& i) { return i.gone; });
  const auto alive =
      std::count_if(finding.items.begin(), finding.items.end(), [](const FindingItem& i) { return !i.gone; });
  if (gone != finding.items.end()) {
    const Holders* holders = gone->row->holders ? &*gone->row->holders : nullptr;
    text += labelled("freed", fmt::format("{}: {}", gone_text(data, *gone->gone, holders), held_for(finding)), style);
  }
  if (alive > 0) {
    text += labelled(gone == finding.items.end() ? "freed" : "",
                     fmt::format("{} not freed to the end of the trace", grouped(alive)), style);
  }
  if (finding.holders) {
    text += labelled("counts", count_text(*finding.holders), style);
    if (finding.censuses > 1) {
      text += labelled(
          "",
          fmt::format("over {}: {} explained + {} unexplained", counted(finding.censuses, "census", "censuses"),
                      grouped(finding.explained), grouped(finding.unexplained)),
          style);
    }
  }
  text += labelled("reads", none_seen_text(finding), style);
  text += labelled("proof", "not proved: reads are observed, not prevented", style);
  return text;
}

std::string stack_lines(const TraceData& data, std::string_view label, std::string_view head, StackId stack,
                        const Style& style) {
  std::string text = labelled(label, head, style);
  std::size_t shown = 0;
  for (const FrameText& frame : frames_of(data, stack)) {
    if (is_library_file(frame.file)) continue;
    text += labelled("", fmt::format("  {}:{}  {}", short_path(frame.file), frame.line, frame.function), style);
    if (++shown == kMostFrames) break;
  }
  return text;
}

std::string operator_text(const TraceData& data, const Mark& mark) {
  std::string text(data.text(mark.name));
  for (const Operator* op = data.operators.find(mark.by.op); op != nullptr; op = data.operators.find(op->parent)) {
    if (op->scope == OperatorScope::kBackward) return text + fmt::format(" in {}", data.text(op->name));
  }
  return text;
}

std::string lines_of_use(const TraceData& data, const Finding& finding, const Style& style) {
  const FindingItem& first = finding.items.front();
  const Mark& read = *first.reads.front();
  std::string head = read.flags.kernel ? "kernel " + cut(data.text(read.name), kKernelName) : operator_text(data, read);
  if (read.ordinal) head += fmt::format(", operator {}", grouped(*read.ordinal));
  head += first.bytes.value == 0 ? ": the storage had no bytes"
                                 : fmt::format(": {} still there", exact_bytes(first.bytes.value));
  std::string text;
  std::string what = key_text(data, finding.items);
  if (const std::string steps = step_text(finding); !steps.empty()) what += " · " + steps;
  text += labelled("parameter", what, style);
  text += stack_lines(data, "first read", head, read.by.stack, style);
  text += stack_lines(data, "released",
                      fmt::format("{}, {} before", data.text(first.release->name),
                                  duration(first.until_ns.value - first.since_ns.value)),
                      first.release->by.stack, style);
  if (first.gather != nullptr) {
    text += stack_lines(
        data, "gathered",
        fmt::format("{}, cycle {}", data.text(first.gather->name), std::max<std::int64_t>(1, first.gather->cycle)),
        first.gather->by.stack, style);
  }
  text += labelled("because", finding.why, style);
  text +=
      labelled("reads", fmt::format("by {} after the release, before the next gather", readers_text(finding)), style);
  return text;
}

/// The peak of the device that a finding is on.
const Peak& peak_for(const Analysis& analysis, const Finding& finding) {
  const auto of = std::find_if(analysis.devices.begin(), analysis.devices.end(),
                               [&](const DeviceAnalysis& device) { return device.device == finding.device; });
  return of != analysis.devices.end() ? of->what_if.measured : analysis.main().what_if.measured;
}

/// What the set adds to the peak, and what it can add at most: the sum of its gathered bytes, each parameter once.
std::string bound_line(const Finding& finding, const Peak& peak, const Style& style) {
  if (peak.bytes.value <= 0) return {};
  const double share = static_cast<double>(finding.alive_at_peak.value) / static_cast<double>(peak.bytes.value);
  return labelled(
      "at the peak",
      fmt::format("{} of it alive, {} of the peak; at most {}, each parameter once",
                  exact_bytes(finding.alive_at_peak.value), percent(share, 1), exact_bytes(finding.bytes.value)),
      style);
}

std::string lines_of_never(const TraceData& data, const Finding& finding, const Peak& peak, const Style& style) {
  const FindingItem& first = finding.items.front();
  std::string what = fmt::format("{}, {}", data.text(first.gather->name), key_text(data, finding.items));
  if (const std::string steps = step_text(finding); !steps.empty()) what += " · " + steps;
  std::string text = stack_lines(data, "gathered", what, first.gather->by.stack, style);
  if (first.release != nullptr) {
    text += labelled("released",
                     fmt::format("{} ran, {} uses left of {}", data.text(first.release->name),
                                 first.release->remaining.value_or(0), first.release->declared.value_or(0)),
                     style);
  } else {
    text += labelled("released", "never", style);
  }
  text += labelled("because", finding.why, style);
  text += labelled("freed",
                   first.gone ? fmt::format("{}, {} after the gather", gone_text(data, *first.gone, nullptr),
                                            duration(first.until_ns.value - first.since_ns.value))
                              : "not to the end of the trace",
                   style);
  text += bound_line(finding, peak, style);
  return text;
}

/// Where the gathers came from, if that says more than the name of what gathered.
std::string origin_line(const TraceData& data, const Finding& finding, const Style& style) {
  std::vector<std::string> origins;
  for (const std::string& origin : finding.origins) {
    const bool is_name = std::any_of(finding.items.begin(), finding.items.end(), [&](const FindingItem& item) {
      return item.gather != nullptr && data.text(item.gather->name) == origin;
    });
    if (!is_name) origins.push_back(origin);
  }
  if (origins.empty()) return "";
  const char* trial = finding.trial ? ", which tries the program out: it is not the training" : "";
  return labelled("origin", "gathered by " + joined(origins, ", ") + trial, style);
}

/// "certain", and of how many releases that is known where it is not of all.
std::string holder_confidence(const Finding& finding) {
  const auto releases = static_cast<std::int64_t>(finding.items.size());
  if (finding.censuses == 0 || finding.censuses == releases) return std::string(name_of(finding.confidence));
  const bool certain = std::all_of(finding.items.begin(), finding.items.end(), [](const FindingItem& item) {
    return !item.row->holders || item.confidence == analyzer::Confidence::kCertain;
  });
  return fmt::format("{}, {} of {} inspected", certain ? "certain" : "partial", grouped(finding.censuses),
                     counted(releases, "release"));
}

std::string finding_text(const LoadedTrace& trace, const Finding& finding, const Style& style) {
  if (is_rule(finding, "out_of_memory")) return out_of_memory_text(trace, finding, style);
  if (finding.waits) return waits_text(trace, finding, style);
  if (finding.pools) return pools_text(trace, finding, style);
  const TraceData& data = *trace.data;
  const std::string holder = is_rule(finding, "residual") ? "   holder: " + holder_confidence(finding) : "";
  std::string text = fmt::format(
      "{}  {}  ({})   {}{}\n", finding.number, style.bad(upper(finding.title)), joined(finding.classes, ", "),
      is_rule(finding, "use_after_release") ? counted(finding.keys(), "parameter") : bytes_text(finding), holder);
  if (is_rule(finding, "residual")) text += lines_of_residual(data, finding, style);
  if (is_rule(finding, "use_after_release")) text += lines_of_use(data, finding, style);
  if (is_rule(finding, "never_released"))
    text += lines_of_never(data, finding, peak_for(trace.analysis, finding), style);
  text += origin_line(data, finding, style);
  text += labelled("fix", finding.fix, style);
  text += labelled("next", fmt::format("dc-memtrace reproduce {} --finding {}", trace.path, finding.number), style);
  text += labelled("", fmt::format("dc-memtrace show storage {} {}", trace.path, finding.items.front().storage.value),
                   style);
  return text;
}

/// How often memory ran out, and whether it had to.
std::string out_of_memory_sentence(const Analysis& analysis) {
  std::int64_t errors = 0;
  std::int64_t held = 0;
  for (const Finding& finding : analysis.findings) {
    for (const analyzer::OomVerdict& verdict : finding.out_of_memory) {
      ++errors;
      held += verdict.fits_without_dead ? 1 : 0;
    }
  }
  if (errors == 0) return {};
  std::string text = errors == 1 ? "Out of memory" : fmt::format("Out of memory {} times", grouped(errors));
  if (held == 0) return text + ". ";
  return text + (errors == held ? ", and need not have been" : fmt::format(", {} of them in vain", grouped(held))) +
         ": released storages were held. ";
}

std::string streams_sentence(const TraceData& data, const Finding& finding) {
  if (finding.waits) {
    return fmt::format("When most was active on {}, {} had been freed and waited for streams. ",
                       data.text(finding.waits->device), rounded_bytes(finding.bytes.value));
  }
  if (!finding.pools) return {};
  return fmt::format("Of {} reserved on {}, {} were never active at once. ",
                     rounded_bytes(finding.pools->reserved.value), data.text(finding.pools->device),
                     rounded_bytes(finding.bytes.value));
}

/// Findings that are not about the training.
std::string trial_sentence(const Analysis& analysis) {
  std::set<std::string> origins;
  std::int64_t aside = 0;
  for (const Finding& finding : analysis.findings) {
    if (!finding.aside()) continue;
    ++aside;
    origins.insert(finding.origins.begin(), finding.origins.end());
  }
  if (aside == 0) return {};
  const bool all = aside == static_cast<std::int64_t>(analysis.findings.size());
  return fmt::format("{}{} of {}, which tries the program out. ", all ? "No finding in training; " : "",
                     counted(aside, all ? "finding" : "more finding"),
                     joined(std::vector<std::string>(origins.begin(), origins.end()), ", "));
}

/// How much of a device's peak is dead; the device that the report begins with needs no name.
std::string dead_sentence(const Analysis& analysis, const DeviceAnalysis& device) {
  const WhatIf& what_if = device.what_if;
  if (what_if.dead_at_peak.value == 0) return {};
  const double share =
      static_cast<double>(what_if.dead_at_peak.value) / static_cast<double>(what_if.measured.bytes.value);
  const std::string measured = rounded_bytes(what_if.measured.bytes.value);
  const std::string predicted = rounded_bytes(what_if.predicted.bytes.value);
  const std::string peak =
      &device == &analysis.main() ? "the peak" : fmt::format("the peak on {}", analysis.data->text(device.device));
  return fmt::format("{} of {} is dead; ", percent(share, 0), peak) +
         (predicted == measured ? fmt::format("without it another moment is as high, {}. ", measured)
                                : fmt::format("without it the peak is {}, not {}. ", predicted, measured));
}

std::string headline(const Analysis& analysis) {
  std::int64_t residual = 0;
  std::int64_t early = 0;
  std::int64_t never = 0;
  for (const Finding& finding : analysis.findings) {
    if (finding.aside()) continue;
    const auto items = static_cast<std::int64_t>(finding.items.size());
    if (is_rule(finding, "residual")) residual += items;
    if (is_rule(finding, "use_after_release")) early += finding.keys();
    if (is_rule(finding, "never_released")) never += finding.keys();
  }
  std::string text = out_of_memory_sentence(analysis);
  if (residual > 0) text += counted(residual, "release") + " freed nothing. ";
  std::string dead;
  for (const DeviceAnalysis& device : analysis.devices) dead += dead_sentence(analysis, device);
  text += dead.empty() && residual > 0 ? "None of it is alive at the peak. " : dead;
  if (early > 0) text += counted(early, "parameter is", "parameters are") + " read after the release. ";
  if (never > 0) text += counted(never, "gathered parameter is", "gathered parameters are") + " never released. ";
  for (const Finding& finding : analysis.findings) text += streams_sentence(*analysis.data, finding);
  text += trial_sentence(analysis);
  text.pop_back();
  return text;
}

std::string clean_line(const LoadedTrace& trace) {
  std::int64_t final_releases = 0;
  std::int64_t freed = 0;
  std::int64_t recycled = 0;
  std::int64_t not_known = 0;
  std::int64_t persistent = 0;
  for (const ReleaseRow& row : trace.analysis.releases.rows) {
    persistent += row.verdict == Verdict::kPersistent ? 1 : 0;
    if (!row.mark->flags.final || row.mark->flags.persistent || row.mark->flags.no_gather) continue;
    ++final_releases;
    freed += row.verdict == Verdict::kFreed ? 1 : 0;
    recycled += row.verdict == Verdict::kRecycled ? 1 : 0;
    not_known += row.verdict == Verdict::kUntracked || row.verdict == Verdict::kUnknown ? 1 : 0;
  }
  const DeviceAnalysis& device = trace.analysis.main();
  const std::int64_t peak = device.what_if.measured.bytes.value;
  std::string text = fmt::format("No finding. Peak {} ({})", exact_bytes(peak), rounded_bytes(peak));
  if (device.what_if.measured.seq.valid()) text += " on " + where_of_peak(*trace.data, device);
  text += final_releases == 0 && persistent > 0
              ? fmt::format("; all {} of persistent parameters", counted(persistent, "release"))
          : final_releases == 0
              ? "; no parameter was released in this trace"
              : fmt::format("; {} of {} freed at once", grouped(freed), counted(final_releases, "release"));
  if (recycled > 0) text += fmt::format(", {} into a pool", grouped(recycled));
  if (not_known > 0) text += fmt::format(", {} not known", grouped(not_known));
  return text + ".";
}

std::string findings_name(const std::vector<std::int64_t>& numbers) {
  return (numbers.size() == 1 ? "finding " : "findings ") + fmt::format("{}", fmt::join(numbers, ", "));
}

/// The peak without each of several findings alone, and what only all of some of them together free.
std::string alone_lines(const std::vector<const Finding*>& findings, const DeviceAnalysis& device) {
  std::string text;
  for (std::size_t i = 0; i < findings.size() && i < kMostAlone; ++i) {
    text += peak_row("", findings[i]->predicted_peak->value,
                     fmt::format("          without finding {} alone", findings[i]->number));
  }
  if (findings.size() > kMostAlone) {
    text += fmt::format("{}and {}: --json\n", left("", 16),
                        counted(static_cast<std::int64_t>(findings.size() - kMostAlone), "more finding"));
  }
  for (const analyzer::SharedBytes& shared : device.shared) {
    text += fmt::format("  {} share {}, freed only when all of them are fixed\n", findings_name(shared.findings),
                        exact_bytes(shared.at_peak.value));
  }
  return text;
}

std::string peak_lines(const LoadedTrace& trace, const DeviceAnalysis& device, const Style& style) {
  const WhatIf& what_if = device.what_if;
  const auto share = [&](Bytes bytes) {
    return right(percent(static_cast<double>(bytes.value) / static_cast<double>(what_if.measured.bytes.value), 1), 7);
  };
  std::string text = peak_row("peak allocated", what_if.measured.bytes.value, where_of_peak(*trace.data, device));
  const analyzer::DevicePeaks peaks = analyzer::device_peaks_of(*trace.data, device.device);
  if (peaks.reserved) {
    text +=
        peak_row("  reserved", peaks.reserved->value,
                 peaks.active ? fmt::format("at most, and {} active", exact_bytes(peaks.active->value)) : "at most");
  }
  if (what_if.dead_at_peak.value == 0) return text;
  std::vector<std::int64_t> dead;
  std::vector<std::int64_t> residual;
  std::vector<const Finding*> predicted;
  for (const Finding& finding : trace.analysis.findings) {
    if (finding.device != device.device || !finding.predicted_peak) continue;
    if (finding.dead_at_peak.value > 0) dead.push_back(finding.number);
    residual.push_back(finding.number);
    predicted.push_back(&finding);
  }
  text += peak_row("  needed", what_if.needed_at_peak.value, share(what_if.needed_at_peak));
  text += peak_row("  dead but held", what_if.dead_at_peak.value,
                   style.bad(share(what_if.dead_at_peak)) + "   " + findings_name(dead));
  text += peak_row("  predicted", what_if.predicted.bytes.value, "          without " + findings_name(residual));
  return predicted.size() > 1 ? text + alone_lines(predicted, device) : text;
}

std::string holder_head(const TraceData& data, const HolderPath& path) {
  std::vector<std::string> names;
  for (const HolderName& name : path.names) {
    names.emplace_back(name.name.valid() ? data.text(name.name) : std::string_view("(evaluation stack)"));
  }
  std::string text = fmt::format("{}: {}", data.text(path.function), joined(names, ", "));
  if (names.size() > 1) text += " (one object)";
  if (!path.certain) text += " (unproven)";
  return text;
}

/// Where the names were given, what becomes of them, and the model's line.
std::string holder_places(const TraceData& data, const HolderPath& path, const Style& style) {
  struct Line {
    std::string place, source, fate;
  };
  std::vector<Line> lines;
  for (const HolderName& name : path.names) {
    if (!name.name.valid() || !name.line) continue;
    std::string fate;
    if (name.delete_line) {
      fate = fmt::format("deleted at line {}", *name.delete_line);
    } else if (name.kind == HolderKind::kLocal) {
      fate = "no delete before the return";
      if (path.return_line) fate += fmt::format(" (line {})", *path.return_line);
    }
    lines.push_back({fmt::format("{}:{}", short_path(data.text(path.file)), *name.line),
                     cut(data.text(name.assignment), kAssignment), std::move(fate)});
  }
  if (path.model_file.valid()) {
    lines.push_back({fmt::format("{}:{}", short_path(data.text(path.model_file)), path.model_line.value_or(0)),
                     cut(data.text(path.model_text), kAssignment), "the model's line"});
  }
  std::size_t places = 0;
  std::size_t sources = 0;
  for (const Line& line : lines) {
    places = std::max(places, width(line.place));
    sources = std::max(sources, width(line.source));
  }
  std::string text;
  for (const Line& line : lines) {
    text += labelled("", fmt::format("{}   {}   {}", left(line.place, places), left(line.source, sources), line.fate),
                     style);
  }
  return text;
}

std::string survivor_line(const LoadedTrace& trace) {
  const std::vector<StepSurvivors>& steps = trace.analysis.survivors;
  if (steps.size() < 2) return {};
  const StepSurvivors& born = steps[steps.size() - 2];
  if (born.bytes_next.value_or(Bytes(0)).value == 0) return {};
  return fmt::format("survivors {} born in step {} outlive step {} too: {}, most from {}\n",
                     right(exact_bytes(born.bytes_next->value), kNumbers), born.step.number, steps.back().step.number,
                     counted(born.storages_next, "storage"), describe_frame(*trace.data, born.sites.front().site));
}

std::string body(const LoadedTrace& trace, const Style& style) {
  std::string text;
  if (trace.analysis.findings.empty()) {
    text += style.good(clean_line(trace)) + "\n";
    for (const DeviceAnalysis& device : trace.analysis.devices) {
      if (&device != &trace.analysis.main()) text += peak_lines(trace, device, style);
    }
    text += "\n";
  } else {
    text += style.bold(headline(trace.analysis)) + "\n\n";
    for (const DeviceAnalysis& device : trace.analysis.devices) text += peak_lines(trace, device, style);
    text += "\n";
    for (const Finding& finding : trace.analysis.findings) text += finding_text(trace, finding, style) + "\n";
  }
  if (const std::string line = survivor_line(trace); !line.empty()) text += line + "\n";
  return text + footer_text(trace, style);
}

/// What must agree for a rank to be called equal: the peak, its parts and the findings, not addresses and times.
Json essence(const LoadedTrace& trace) {
  const Analysis& analysis = trace.analysis;
  Json json = {{"devices", Json::array()},
               {"steps", analysis.facts.steps},
               {"releases", analysis.releases.rows.size()},
               {"lost", analysis.facts.lost},
               {"findings", Json::array()}};
  for (const DeviceAnalysis& device : analysis.devices) {
    const WhatIf& what_if = device.what_if;
    json["devices"].push_back(
        {what_if.measured.bytes.value, what_if.predicted.bytes.value, what_if.dead_at_peak.value});
  }
  for (const Finding& finding : analysis.findings) {
    json["findings"].push_back({finding.rule, finding.classes, finding.items.size(), finding.bytes.value,
                                key_text(*trace.data, finding.items), finding.unexplained, finding.reads});
  }
  return json;
}

std::string trace_title(const LoadedTrace& trace) {
  const std::int64_t rank = trace.analysis.facts.rank;
  return rank >= 0 ? fmt::format("rank {}", rank) : trace.path;
}

/// What was not kept of a long run, and what is known of it all the same.
std::string kept_note(const RunFacts& facts) {
  if (facts.steps_kept == facts.steps) return {};
  const std::map<Kept, std::string_view> reasons = {{Kept::kAll, "until a tenth of the disk bound was used"},
                                                    {Kept::kSteps, "asked for"},
                                                    {Kept::kEvery, "regular"},
                                                    {Kept::kPeak, "for a new peak"},
                                                    {Kept::kFinding, "for a new finding"},
                                                    {Kept::kLast, "at the end"}};
  std::vector<std::string> parts;
  for (const analyzer::KeptFact& fact : facts.kept) {
    if (fact.steps > 0) parts.push_back(fmt::format("{} {}", grouped(fact.steps), reasons.at(fact.why)));
  }
  std::string text = fmt::format(
      "note: {} of {} {} kept in full: {}\n"
      "      of the others there are exact sums and peaks only; findings and predictions are of the steps kept\n",
      grouped(facts.steps_kept), counted(facts.steps, "step"), facts.steps_kept == 1 ? "is" : "are",
      joined(parts, ", "));
  if (facts.residual_releases > 0) {
    text += fmt::format("note: over the whole run, {} of {} left bytes alive\n", grouped(facts.residual_releases),
                        counted(facts.final_releases, "final release"));
  }
  return text;
}

}  // namespace

std::string labelled(std::string_view label, std::string_view text, const Style& style) {
  constexpr std::size_t kLabel = 12;  // columns
  return "   " + style.dim(left(label, kLabel)) + std::string(text) + "\n";
}

std::string where_of_peak(const TraceData& data, const DeviceAnalysis& device) {
  const Peak& peak = device.what_if.measured;
  std::vector<std::string> parts{std::string(data.text(device.device))};
  if (device.peak_step != nullptr) parts.push_back(fmt::format("step {}", device.peak_step->number));
  if (device.peak_phase != nullptr) parts.emplace_back(data.text(device.peak_phase->name));
  if (data.sums_only_at(peak.seq) != nullptr) parts.emplace_back("rows of that step were not kept");
  if (peak.block != nullptr) {
    if (const Operator* op = named_operator(data, peak.block->birth.op)) {
      parts.push_back(fmt::format("at {}", data.text(op->name)));
    }
    if (peak.block->birth.stack.valid()) parts.push_back(describe_site(data, peak.block->birth.stack));
  }
  return joined(parts, " · ");
}

std::string holder_lines(const TraceData& data, const Holders& holders, std::string_view suffix, const Style& style) {
  std::string text;
  for (std::size_t i = 0; i < holders.paths.size() && i < kMostPaths; ++i) {
    text += labelled(i == 0 ? "held by" : "", holder_head(data, holders.paths[i]) + (i == 0 ? std::string(suffix) : ""),
                     style);
    text += holder_places(data, holders.paths[i], style);
  }
  if (holders.paths.size() > kMostPaths) {
    const auto more = static_cast<std::int64_t>(holders.paths.size() - kMostPaths);
    text += labelled("", fmt::format("and {}", counted(more, "more frame")), style);
  }
  if (holders.paths.empty()) {
    const auto tensors = static_cast<std::int64_t>(holders.tensors.size());
    text += labelled(
        "held by", tensors == 0 ? "nobody that the census saw" : counted(tensors, "tensor") + " without a named holder",
        style);
  }
  return text;
}

std::string count_text(const Holders& holders) {
  std::vector<std::string> parts;
  for (const Subject subject : {Subject::kStorage, Subject::kTensor, Subject::kObject}) {
    std::int64_t number = 0;
    Count sum;
    for (const Count& count : holders.counts) {
      if (count.subject != subject) continue;
      ++number;
      sum.count += count.count;
      sum.explained += count.explained;
      sum.unexplained += count.unexplained;
    }
    if (number == 0) continue;
    std::string name(name_of(subject));
    if (number > 1) name = fmt::format("{} {}s", number, name);
    parts.push_back(
        fmt::format("{}: {} = {} explained + {} unexplained", name, sum.count, sum.explained, sum.unexplained));
  }
  return parts.empty() ? "none read" : joined(parts, " · ");
}

/// True if the holder's frame returned then: it stands at its return, or it has gone and its callers stand where they
/// stood at the census.
bool goes_at_return(const TraceData& data, const Gone& gone, const Holders& holders) {
  const HolderPath& path = holders.paths.front();
  const auto is_holders = [&](const FrameText& frame) {
    return frame.function == data.text(path.function) && frame.file == data.text(path.file);
  };
  const std::vector<FrameText> now = frames_of(data, gone.actor.stack);
  if (const auto frame = std::find_if(now.begin(), now.end(), is_holders); frame != now.end()) {
    return frame->line == path.return_line;
  }
  const std::vector<FrameText> then = frames_of(data, holders.census->by.stack);
  const auto frame = std::find_if(then.begin(), then.end(), is_holders);
  return frame != then.end() &&
         std::equal(frame + 1, then.end(), now.begin(), now.end(), [](const FrameText& a, const FrameText& b) {
           return a.function == b.function && a.file == b.file && a.line == b.line;
         });
}

std::string gone_text(const TraceData& data, const Gone& gone, const Holders* holders) {
  std::string text = gone.by == GoneBy::kResize      ? "by a resize to 0"
                     : gone.by == GoneBy::kBlockFree ? "by a free of its block"
                                                     : "by the last reference";
  const Frame* site = data.frames.find(site_of(data, gone.actor.stack));
  if (site == nullptr) return text;
  if (holders != nullptr && !holders->paths.empty() && goes_at_return(data, gone, *holders)) {
    return text + fmt::format(", at the return of {}", data.text(holders->paths.front().function));
  }
  return text + fmt::format(", at {}", describe_frame(data, site->id));
}

std::string footer_text(const LoadedTrace& trace, const Style& style) {
  const RunFacts& facts = trace.analysis.facts;
  std::vector<std::string> parts;
  if (facts.steps > 0) parts.push_back(counted(facts.steps, "step"));
  if (facts.records) parts.push_back(counted(*facts.records, "record") + fmt::format(", {} lost", grouped(facts.lost)));
  std::int64_t not_followed = 0;
  for (const analyzer::Remark& remark : trace.analysis.remarks) {
    const bool is_untracked = remark.kind == analyzer::RemarkKind::kUntracked;
    not_followed += is_untracked || remark.kind == analyzer::RemarkKind::kFirstMissed ? remark.count : 0;
  }
  if (not_followed > 0) parts.push_back(counted(not_followed, "release") + " not followed");
  if (!facts.records && facts.lost > 0) parts.push_back(fmt::format("{} lost", counted(facts.lost, "record")));
  if (facts.sequence_gaps.value_or(0) > 0) parts.push_back(counted(*facts.sequence_gaps, "gap") + " in the sequence");
  if (facts.releases_with_bytes > 0)
    parts.push_back(fmt::format("census {}/{}", facts.censuses, facts.releases_with_bytes));
  if (facts.unexplained > 0) parts.push_back(fmt::format("{} unexplained", counted(facts.unexplained, "reference")));
  if (facts.recorder_cores) parts.push_back(fmt::format("recorder {:.1f} core", *facts.recorder_cores));
  if (facts.state == "recording") parts.emplace_back("still recording");
  if (facts.state == "recovered") parts.emplace_back("recovered: the recorder had died");
  if (facts.exit == "unseen") {
    parts.emplace_back("how the program ended was not seen");
  } else if (facts.exit == "still running") {
    parts.emplace_back("the program still ran when the recording ended");
  } else if (facts.exit == "exec") {
    parts.emplace_back("the process went on with another program");
  } else if (facts.exit == "unknown") {
    parts.push_back("the program ended without its exit handlers: killed, crashed or by _exit");
  } else if (!facts.exit.empty() && facts.exit != "exit 0" && facts.exit != "exit unseen") {
    parts.push_back("the program ended with " + facts.exit);
  }
  std::string text = style.dim(joined(parts, " · ")) + "\n" + kept_note(facts);
  for (const analyzer::Remark& remark : trace.analysis.remarks) text += "remark: " + remark_text(remark) + "\n";
  for (const LossFact& loss : facts.losses) {
    text += fmt::format("note: {} lost ({}): counts and verdicts may be incomplete\n", counted(loss.count, "record"),
                        loss.reason);
  }
  std::int64_t shown = 0;
  for (const DiagnosticFact& fact : facts.diagnostics) {
    if (++shown > kMostNotes) continue;
    text +=
        fmt::format("note: {}{}\n", fact.text, fact.count > 1 ? fmt::format(" ({} alike)", grouped(fact.count)) : "");
  }
  if (shown > kMostNotes)
    text += fmt::format("note: {}; all: --json\n", counted(shown - kMostNotes, "more kind", "more kinds"));
  return text;
}

namespace {

/// How well the times of several ranks compare; empty for one rank.
std::string clocks_line(const std::vector<analyzer::RankEvents>& ranks, const Style& style) {
  if (ranks.size() < 2) return {};
  std::size_t steps = 0;
  std::size_t collectives = 0;
  std::int64_t error = 0;
  for (const analyzer::RankClock& clock : analyzer::align_ranks(ranks)) {
    if (clock.by == analyzer::AlignedBy::kItself) continue;
    if (clock.by != analyzer::AlignedBy::kEvents) {
      return style.dim("clocks of the ranks: not aligned, no step or collective in common") + "\n";
    }
    steps = steps == 0 ? clock.steps : std::min(steps, clock.steps);
    collectives = collectives == 0 ? clock.collectives : std::min(collectives, clock.collectives);
    error = std::max(error, clock.error_ns);
  }
  return style.dim(fmt::format("clocks of the ranks: aligned within {} by {} and {}", duration(error),
                               counted(static_cast<std::int64_t>(steps), "step"),
                               counted(static_cast<std::int64_t>(collectives), "collective"))) +
         "\n";
}

/// What differs between ranks that should not; empty for one rank, and for traces that are not of one run.
std::string ranks_difference(std::vector<analyzer::RankFacts> ranks, const Style& style) {
  if (ranks.size() < 2) return {};
  std::set<std::string> folders;
  for (const analyzer::RankFacts& rank : ranks) {
    folders.insert(std::filesystem::path(rank.path).parent_path().string());
  }
  const Expected<analyzer::RankComparison> comparison = analyzer::compare_ranks(std::move(ranks));
  if (!comparison.ok()) return {};
  folders.erase("");
  return ranks_line(*comparison, folders.empty() ? "." : fmt::format("{}", fmt::join(folders, " ")), style);
}

}  // namespace

void ReportText::add(const LoadedTrace& trace) {
  if (trace.analysis.facts.rank >= 0) {
    events_.push_back(analyzer::rank_events(*trace.data));
    ranks_.push_back(analyzer::rank_facts(trace.analysis));
  }
  Json said = essence(trace);
  if (!shown_.empty() && said == essence_) {
    text_ += fmt::format("{}: equal to {} (peak, releases, findings)\n", trace_title(trace), shown_);
    return;
  }
  if (titles_) text_ += (shown_.empty() ? "" : "\n") + style_.bold("== " + trace_title(trace)) + "\n";
  text_ += body(trace, style_);
  shown_ = trace_title(trace);
  essence_ = std::move(said);
}

std::string ReportText::finish() {
  text_ += clocks_line(events_, style_);
  return text_ + ranks_difference(std::move(ranks_), style_);
}

}  // namespace dcmt::cli

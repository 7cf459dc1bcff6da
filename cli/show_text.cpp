#include "cli/show_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/storages/parameters.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/time/timeline.h"
#include "cli/report_text.h"

namespace dcmt::cli {
namespace {

using analyzer::Actor;
using analyzer::Block;
using analyzer::CurveOverview;
using analyzer::CurveRow;
using analyzer::CurveStretch;
using analyzer::Cycle;
using analyzer::describe_site;
using analyzer::DeviceCurve;
using analyzer::EndedBy;
using analyzer::Gone;
using analyzer::Group;
using analyzer::group_blocks;
using analyzer::GroupBy;
using analyzer::Holders;
using analyzer::is_gathered;
using analyzer::live_blocks;
using analyzer::Mark;
using analyzer::MarkFlags;
using analyzer::MarkKind;
using analyzer::name_of;
using analyzer::named_operator;
using analyzer::Operator;
using analyzer::ReleaseRow;
using analyzer::Step;
using analyzer::step_at;
using analyzer::StepRange;
using analyzer::Storage;
using analyzer::StorageStory;
using analyzer::TraceData;
using analyzer::Verdict;
using analyzer::WhatIf;

constexpr std::size_t kMostGroups = 20;
constexpr double kBarCells = 32;

std::string_view name_of_group_column(GroupBy by) {
  switch (by) {
    case GroupBy::kSite:
      return "allocated at";
    case GroupBy::kOperator:
      return "operator";
    case GroupBy::kPhase:
      return "phase";
    case GroupBy::kOwner:
      return "gathered for";
    case GroupBy::kOrigin:
      return "gathered by";
    case GroupBy::kKind:
      break;
  }
  return "kind";
}

std::string group_table(const LoadedTrace& trace, const std::vector<const Block*>& live, GroupBy by, Sequence at,
                        const Style& style) {
  std::int64_t total = 0;
  for (const Block* block : live) total += block->bytes.value;
  const std::vector<Group> groups = group_blocks(*trace.data, trace.analysis.phases, live, by, at);
  Table table({"bytes", "share", "blocks", std::string(name_of_group_column(by))}, {true, true, true, false});
  for (std::size_t i = 0; i < groups.size() && i < kMostGroups; ++i) {
    const double share = total > 0 ? static_cast<double>(groups[i].bytes.value) / static_cast<double>(total) : 0;
    const std::string blocks = groups[i].blocks != 0 ? grouped(groups[i].blocks) : "-";
    table.add({exact_bytes(groups[i].bytes.value), percent(share, 1), blocks, groups[i].name});
  }
  std::string text = table.text(style, "  ");
  if (groups.size() > kMostGroups) {
    std::int64_t rest = 0;
    for (std::size_t i = kMostGroups; i < groups.size(); ++i) rest += groups[i].bytes.value;
    text +=
        fmt::format("  and {} with {}; all of them: --json\n",
                    counted(static_cast<std::int64_t>(groups.size() - kMostGroups), "more group"), exact_bytes(rest));
  }
  return text;
}

std::string moment_text(const LoadedTrace& trace, Sequence at) {
  const Step* step = step_at(trace.analysis.releases.steps, at);
  const Mark* phase = trace.analysis.phases.at(at);
  std::string text = fmt::format("seq {}", grouped(at.value));
  if (step != nullptr) text += fmt::format(" · step {}", step->number);
  if (phase != nullptr) text += fmt::format(" · {}", trace.data->text(phase->name));
  return text;
}

/// Milliseconds since the trace began.
std::string since_start(const TraceData& data, TimeNs ns) {
  const std::int64_t start = data.meta_integer("start_ns").value_or(0);
  return fmt::format("{:.3f} ms", static_cast<double>(ns.value - start) * 1e-6);
}

std::string flags_text(const ReleaseRow& row) {
  const MarkFlags& flags = row.mark->flags;
  std::vector<std::string_view> words;
  if (row.metadata_only) words.emplace_back("metadata only");
  if (row.residual) words.emplace_back("residual");
  if (flags.mismatch) words.emplace_back("count mismatch");
  if (flags.unwound) words.emplace_back("operator threw");
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kCounted:
      return "counted";
    case Verdict::kNoGather:
      return "no gather";
    default:
      return std::string(name_of(verdict));
  }
}

std::string bytes_or_dash(const std::optional<Bytes>& bytes) { return bytes ? grouped(bytes->value) : "-"; }

std::string gone_after(const ReleaseRow& row) {
  if (!row.mark->flags.final || row.mark->flags.persistent) return "-";
  if (!row.gone) return row.mark->bytes_after == Bytes(0) ? "at once" : "not to the end";
  if (row.gone->seq <= row.at()) return "at once";
  const std::string time = duration(row.gone->ns.value - row.at_ns().value);
  return fmt::format("{}{}, {}", row.operators_held.exact() ? "" : "≥ ", counted(row.operators_held.at_least, "op"),
                     time);
}

std::string actor_text(const TraceData& data, const Actor& actor) {
  std::string text;
  if (const Operator* op = named_operator(data, actor.op)) text = fmt::format("in {}", data.text(op->name));
  if (actor.stack.valid()) text += fmt::format("{}at {}", text.empty() ? "" : ", ", describe_site(data, actor.stack));
  return text;
}

std::string_view kind_text(MarkKind kind) {
  switch (kind) {
    case MarkKind::kGather:
      return "gathered";
    case MarkKind::kWait:
      return "waited for";
    case MarkKind::kPersist:
      return "made persistent";
    case MarkKind::kRead:
      return "read";
    case MarkKind::kTouch:
      return "last used by a kernel";
    case MarkKind::kResize:
      return "resized";
    case MarkKind::kRepoint:
      return "tensor re-pointed";
    case MarkKind::kRelease:
      return "released";
    case MarkKind::kCensus:
      return "census";
    default:
      return "mark";
  }
}

/// Of a row of the curve: up to its lowest point, and on to its highest.
std::string bar(const CurveStretch& row, Bytes peak) {
  const auto cells = [&](Bytes bytes) {
    if (bytes.value <= 0) return std::size_t{0};
    const double share = static_cast<double>(bytes.value) / static_cast<double>(peak.value);
    return std::max<std::size_t>(1, static_cast<std::size_t>(share * kBarCells));
  };
  std::string text;
  for (std::size_t i = 0; i < cells(row.highest); ++i) text += i < cells(row.lowest) ? "█" : "░";
  return text;
}

std::string steps_text(const std::optional<StepRange>& steps) {
  if (!steps) return "-";
  return steps->first == steps->last ? std::to_string(steps->first)
                                     : fmt::format("{} to {}", steps->first, steps->last);
}

std::string other_device_line(std::string_view device, Bytes peak) {
  return fmt::format("also allocated on {}: peak {}; see --device {}\n", device, exact_bytes(peak.value), device);
}

}  // namespace

std::string curve_text(const CurveOverview& curve, const Style& style) {
  if (curve.devices.empty()) return "Nothing was allocated in this trace.\n";
  const CurveStretch& whole = curve.device.whole;
  std::string text = style.bold(fmt::format("peak allocated  {}", exact_bytes(whole.highest.value))) + "   " +
                     curve.device.device + (curve.peak_steps ? " · step " + steps_text(curve.peak_steps) : "") +
                     fmt::format(" · seq {}\n", grouped(whole.highest_seq.value));
  // One unit for all: below ten seconds, milliseconds.
  const bool long_run = whole.to_ns.value - curve.start.value >= 10'000'000'000;
  const auto after_start = [&](TimeNs ns) {
    return fmt::format("{:.3f} {}", static_cast<double>(ns.value - curve.start.value) * (long_run ? 1e-9 : 1e-6),
                       long_run ? "s" : "ms");
  };
  bool only_peaks = false;
  Table table({"after start", "seq", "step", "lowest", "highest", ""}, {true, true, true, true, true, false});
  for (const CurveRow& row : curve.rows) {
    const CurveStretch& stretch = row.stretch;
    only_peaks = only_peaks || stretch.only_peaks;
    table.add({after_start(stretch.from_ns), grouped(stretch.from.value), steps_text(row.steps),
               (stretch.only_peaks ? "≤ " : "") + exact_bytes(stretch.lowest.value), exact_bytes(stretch.highest.value),
               bar(stretch, whole.highest) + (stretch.highest_seq == whole.highest_seq ? " ← peak" : "")});
  }
  text += table.empty() ? "Nothing was allocated up to there.\n" : table.text(style, "  ");
  if (only_peaks)
    text += "≤: between the windows that were kept, the curve may have been lower; its peaks are exact.\n";
  for (const DeviceCurve& other : curve.devices) {
    if (other.device == curve.device.device) continue;
    text += other_device_line(other.device, other.whole.highest);
  }
  if (!curve.stored)
    text += "This trace has no pyramid of its curve, because it is not finished: its rows were read.\n";
  return text;
}

std::string peak_text(const LoadedTrace& trace, GroupBy by, const Style& style) {
  const analyzer::DeviceAnalysis& device = trace.analysis.main();
  const WhatIf& what_if = device.what_if;
  if (!what_if.measured.seq.valid()) return "Nothing was allocated in this trace.\n";
  std::string text = style.bold(fmt::format("peak allocated  {}", exact_bytes(what_if.measured.bytes.value))) + "   " +
                     where_of_peak(*trace.data, device) +
                     fmt::format(" · seq {}\n", grouped(what_if.measured.seq.value));
  if (what_if.dead_at_peak.value > 0) {
    text += fmt::format("  needed {} · dead but held {} · predicted without it {}\n",
                        exact_bytes(what_if.needed_at_peak.value), exact_bytes(what_if.dead_at_peak.value),
                        exact_bytes(what_if.predicted.bytes.value));
    if (what_if.last_use_known) {
      text += fmt::format("  with what was read after its release freed at its last known use: {}\n",
                          exact_bytes(what_if.predicted_last_use.bytes.value));
    }
  }
  text += group_table(trace, live_blocks(*trace.data, device.device, what_if.measured.seq), by, what_if.measured.seq,
                      style);
  for (const analyzer::DeviceAnalysis& other : trace.analysis.devices) {
    if (&other != &device) text += other_device_line(trace.data->text(other.device), other.what_if.measured.bytes);
  }
  return text;
}

std::string live_text(const LoadedTrace& trace, StringId device, Sequence at, GroupBy by, const Style& style) {
  const std::vector<const Block*> live = live_blocks(*trace.data, device, at);
  std::int64_t bytes = 0;
  for (const Block* block : live) bytes += block->bytes.value;
  std::string text = style.bold(fmt::format("alive  {} in {}", exact_bytes(bytes),
                                            counted(static_cast<std::int64_t>(live.size()), "block"))) +
                     "   " + moment_text(trace, at) + "\n";
  return live.empty() ? text : text + group_table(trace, live, by, at, style);
}

std::string releases_text(const LoadedTrace& trace, const Style& style) {
  const TraceData& data = *trace.data;
  const std::vector<ReleaseRow>& rows = trace.analysis.releases.rows;
  if (rows.empty()) return "No release in this trace.\n";
  Table table({"step", "operator", "graph", "id", "cycle", "uses left", "before", "after", "next op", "verdict",
               "gone after", "", "storage"},
              {true, false, true, true, true, true, true, true, true, false, false, false, true});
  for (const ReleaseRow& row : rows) {
    const Mark& mark = *row.mark;
    table.add({row.step != nullptr ? std::to_string(row.step->number) : "-", std::string(data.text(mark.name)),
               row.key.graph < 0 ? analyzer::describe_graph(data, row.key.graph) : std::to_string(row.key.graph),
               std::to_string(row.key.key), std::to_string(mark.cycle),
               mark.remaining ? std::to_string(*mark.remaining) : "-", bytes_or_dash(mark.bytes),
               bytes_or_dash(mark.bytes_after), bytes_or_dash(mark.bytes_settled), verdict_text(row.verdict),
               gone_after(row), flags_text(row), mark.storage.valid() ? std::to_string(mark.storage.value) : "-"});
  }
  std::string text = table.text(style, "");
  std::int64_t persistent = 0;
  std::int64_t open = 0;
  for (const Cycle& cycle : trace.analysis.releases.cycles) {
    const bool final = std::any_of(cycle.releases.begin(), cycle.releases.end(),
                                   [](const ReleaseRow* r) { return r->mark->flags.final; });
    persistent += cycle.persistent ? 1 : 0;
    open += !final && !cycle.persistent ? 1 : 0;
  }
  text += fmt::format(
      "{}: {} persistent, {} without a final release. All details: --json; one storage: dc-memtrace show storage {} "
      "ID\n",
      counted(static_cast<std::int64_t>(trace.analysis.releases.cycles.size()), "gather"), persistent, open,
      trace.path);
  return text;
}

std::string storage_text(const LoadedTrace& trace, const StorageStory& story, const Style& style) {
  const TraceData& data = *trace.data;
  const Storage& storage = *story.storage;
  std::string text = style.bold(fmt::format("storage {}   {}", storage.id.value, exact_bytes(storage.bytes.value))) +
                     (is_gathered(data, storage.id) ? "   gathered parameter\n" : "\n");

  struct Line {
    Sequence seq;
    TimeNs ns;
    std::string what, who;
  };
  std::vector<Line> lines;
  lines.push_back({storage.span.from_seq, storage.span.from_ns, storage.first_seen ? "first seen" : "born",
                   actor_text(data, storage.birth)});
  for (const Mark* mark : story.marks) {
    std::string what(kind_text(mark->kind));
    if (mark->key)
      what += fmt::format(" id {}{}", mark->key->key,
                          mark->key->graph != 0 ? " of " + analyzer::describe_graph(data, mark->key->graph) : "");
    if (mark->kind == MarkKind::kResize)
      what += fmt::format(" to {}", exact_bytes(mark->bytes.value_or(Bytes(0)).value));
    if (mark->kind == MarkKind::kRelease) {
      what += mark->flags.final ? " (final)" : fmt::format(" ({} uses left)", mark->remaining.value_or(0));
      what += fmt::format(": {} → {} B", bytes_or_dash(mark->bytes), bytes_or_dash(mark->bytes_after));
    }
    if (mark->kind == MarkKind::kTouch) {
      what += fmt::format(", {} before the release", duration(mark->span.to_ns.value - mark->span.from_ns.value));
    }
    if (mark->kind == MarkKind::kRead) {
      what += fmt::format("{}: {}", mark->flags.kernel ? " by a kernel" : "",
                          exact_bytes(mark->bytes.value_or(Bytes(0)).value));
    }
    std::string who = mark->name.valid() ? cut(data.text(mark->name), kKernelName) : "";
    if (mark->by.stack.valid())
      who += fmt::format("{}at {}", who.empty() ? "" : ", ", describe_site(data, mark->by.stack));
    lines.push_back({mark->span.from_seq, mark->span.from_ns, std::move(what), std::move(who)});
  }
  if (storage.span.ended())
    lines.push_back({storage.span.to_seq, storage.span.to_ns, "last reference gone", actor_text(data, storage.end)});
  for (const Block* block : story.blocks) {
    lines.push_back({block->span.from_seq, block->span.from_ns,
                     fmt::format("block of {} allocated", exact_bytes(block->bytes.value)),
                     actor_text(data, block->birth)});
    if (block->span.ended()) {
      lines.push_back({block->span.to_seq, block->span.to_ns,
                       fmt::format("block of {} freed", exact_bytes(block->bytes.value)),
                       actor_text(data, block->end)});
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.seq < b.seq; });
  Table table({"seq", "after start", "what", "by"}, {true, true, false, false});
  for (const Line& line : lines) table.add({grouped(line.seq.value), since_start(data, line.ns), line.what, line.who});
  text += table.text(style, "  ");

  const Gone* gone = story.gone ? &*story.gone : nullptr;
  switch (story.ended_by) {
    case EndedBy::kAlive:
      text += "Its bytes are there to the end of the trace.\n";
      break;
    case EndedBy::kRelease:
      text += "Freed by its release; references that were left hold no bytes.\n";
      break;
    case EndedBy::kLastReference:
      if (story.final_release != nullptr && gone->seq > story.final_release->at()) {
        text += fmt::format("Freed by its last reference, {} after the final release, which freed nothing.\n",
                            duration(gone->ns.value - story.final_release->at_ns().value));
      } else {
        text += "Freed by its last reference.\n";
      }
      break;
    case EndedBy::kOther:
      text += "Freed outside of a release, while references were left.\n";
      break;
  }
  for (const Holders& holders : story.censuses) {
    text += "\n" +
            style.bold(fmt::format("census at seq {}{}", grouped(holders.census->span.from_seq.value),
                                   holders.at_error(data) ? ", as memory ran out" : "")) +
            "\n" + holder_lines(data, holders, "", style) + "   " + style.dim("counts      ") + count_text(holders) +
            "\n";
  }
  return text;
}

}  // namespace dcmt::cli

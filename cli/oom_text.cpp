#include "cli/oom_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/storages/live_set.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/time/timeline.h"
#include "cli/report_text.h"

namespace dcmt::cli {
namespace {

using analyzer::Finding;
using analyzer::Group;
using analyzer::OomVerdict;
using analyzer::OutOfMemory;
using analyzer::TraceData;

constexpr std::size_t kMostGroups = 3;

std::string asked(const TraceData& data, const OutOfMemory& oom) {
  std::string text = exact_bytes(oom.requested.value);
  if (const auto* op = analyzer::named_operator(data, oom.by.op)) text += fmt::format(" by {}", data.text(op->name));
  if (oom.by.stack.valid()) text += " at " + analyzer::describe_site(data, oom.by.stack);
  return text;
}

std::string figures(const OomVerdict& verdict) {
  const OutOfMemory& oom = *verdict.oom;
  std::string text = "allocated " + exact_bytes(verdict.allocated.value);
  if (oom.reserved) text += " · reserved " + exact_bytes(oom.reserved->value);
  if (oom.free && oom.total) {
    text += fmt::format(" · free {} of {}", exact_bytes(oom.free->value), exact_bytes(oom.total->value));
  }
  return text;
}

std::string alive_lines(const LoadedTrace& trace, const OutOfMemory& oom, const Style& style) {
  const TraceData& data = *trace.data;
  if (data.sums_only_at(oom.seq) != nullptr) return labelled("alive", "not kept of that part of the run", style);
  const std::vector<Group> groups = group_blocks(
      data, trace.analysis.phases, analyzer::live_blocks(data, oom.device, oom.seq), analyzer::GroupBy::kSite, oom.seq);
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostGroups, groups.size()); ++i) {
    const std::string from = groups[i].blocks != 0 ? counted(groups[i].blocks, "block") + " from" : "blocks";
    text += labelled(i == 0 ? "alive" : "",
                     fmt::format("{} in {} {}", exact_bytes(groups[i].bytes.value), from, groups[i].name), style);
  }
  if (groups.size() > kMostGroups) {
    text += labelled("", counted(static_cast<std::int64_t>(groups.size() - kMostGroups), "more place"), style);
  }
  return text;
}

/// The findings of the releases whose storages were held at that moment.
std::string findings_of(const LoadedTrace& trace, const Finding& error) {
  std::vector<std::int64_t> numbers;
  for (const Finding& finding : trace.analysis.findings) {
    const bool points_at = std::any_of(finding.items.begin(), finding.items.end(), [&](const auto& item) {
      return finding.number != error.number && item.row != nullptr &&
             std::any_of(error.items.begin(), error.items.end(),
                         [&](const auto& held) { return held.row == item.row; });
    });
    if (points_at) numbers.push_back(finding.number);
  }
  if (numbers.empty()) return {};
  return (numbers.size() == 1 ? ": finding " : ": findings ") + ranges(numbers);
}

}  // namespace

std::string out_of_memory_text(const LoadedTrace& trace, const Finding& finding, const Style& style) {
  const TraceData& data = *trace.data;
  const OomVerdict& verdict = finding.out_of_memory.front();
  const OutOfMemory& oom = *verdict.oom;
  const auto times = static_cast<std::int64_t>(finding.out_of_memory.size());
  std::string where(data.text(oom.device));
  if (verdict.step != nullptr) where += fmt::format(" · step {}", verdict.step->number);
  if (const auto* phase = trace.analysis.phases.at(oom.seq)) where += fmt::format(" · {}", data.text(phase->name));
  std::string text = fmt::format("{}  {}   {}{}\n", finding.number, style.bad("OUT OF MEMORY"), where,
                                 times > 1 ? fmt::format("   {} times", grouped(times)) : "");
  text += labelled("asked", asked(data, oom), style);
  text += labelled("had", figures(verdict), style);
  text += alive_lines(trace, oom, style);
  if (verdict.dead.value > 0) {
    text += labelled(
        "dead",
        fmt::format("{} released and still held, in {}{}", exact_bytes(verdict.dead.value),
                    counted(static_cast<std::int64_t>(finding.items.size()), "storage"), findings_of(trace, finding)),
        style);
    if (finding.holders) {
      text +=
          holder_lines(data, *finding.holders, finding.items.size() > 1 ? "   the largest, at that moment" : "", style);
    }
    text += labelled(
        "without it",
        fmt::format("allocated {}; {} were missing: the request {}",
                    exact_bytes(verdict.allocated.value - verdict.dead.value), exact_bytes(verdict.missing.value),
                    verdict.fits_without_dead ? "fits" : "still does not fit"),
        style);
  }
  text += labelled("because", finding.why, style);
  const auto caught = std::count_if(finding.out_of_memory.begin(), finding.out_of_memory.end(),
                                    [](const OomVerdict& each) { return each.went_on; });
  text += labelled("after it", caught == times ? "the program went on" : "nothing more ran on that thread", style);
  text += labelled("fix", finding.fix, style);
  const auto& all = data.out_of_memory;
  const std::int64_t number = &oom - all.data() + 1;
  text += labelled(
      "next",
      fmt::format("dc-memtrace show live {} --at oom{}", trace.path, number > 1 ? fmt::format("#{}", number) : ""),
      style);
  return text;
}

}  // namespace dcmt::cli

// The memory of the whole job, as printed by `show memory --job`.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cli/show_text.h"
#include "render/wording/job_words.h"

namespace dcmt::cli {
namespace {

constexpr std::size_t kMostProcesses = 24, kMostShared = 16;

std::string more_text(std::size_t all, std::size_t shown) {
  return all > shown ? fmt::format("  … and {} more\n", all - shown) : "";
}

std::string parts_table(const model::JobMoment& moment, const Style& style) {
  Table table({"bytes", "share", "what it is"}, {true, true, false});
  for (const model::JobPart& each : moment.parts) {
    if (each.bytes.value == 0 && each.name != "unexplained") continue;
    const double share =
        static_cast<double>(each.bytes.value) / static_cast<double>(std::max<std::int64_t>(1, moment.bytes.value));
    table.add({(each.bytes.value < 0 ? "-" : "") + style.bytes(Bytes(std::abs(each.bytes.value))), percent(share, 1),
               std::string(wording::job_part_text(each.name))});
  }
  return table.text(style, "  ");
}

std::string processes_table(const model::JobMoment& moment, const Style& style) {
  const bool has_swap = std::ranges::any_of(moment.processes, [](const auto& each) { return each.swapped.valid(); });
  std::vector<std::string> head = {"anonymous", "files", "shared", "who"};
  if (has_swap) head.insert(head.begin() + 3, "in swap");
  std::vector<bool> right(head.size(), true);
  right.back() = false;
  Table table(head, right);
  for (std::size_t i = 0; i < std::min(kMostProcesses, moment.processes.size()); ++i) {
    const model::JobProcessGroup& each = moment.processes[i];
    std::vector<std::string> row = {style.bytes(each.anonymous), style.bytes(each.file), style.bytes(each.shared)};
    if (has_swap) row.push_back(style.bytes(each.swapped));
    row.push_back(wording::job_processes_text(each));
    table.add(std::move(row));
  }
  return table.text(style, "  ") + more_text(moment.processes.size(), kMostProcesses);
}

std::string shared_table(const model::JobMoment& moment, const Style& style) {
  Table table({"bytes", "segments", "what it is"}, {true, true, false});
  for (std::size_t i = 0; i < std::min(kMostShared, moment.shared.size()); ++i) {
    const model::JobShared& each = moment.shared[i];
    table.add({style.bytes(each.bytes), grouped(each.segments), wording::job_shared_text(each)});
  }
  return table.text(style, "  ") + more_text(moment.shared.size(), kMostShared);
}

std::string pinned_table(const model::JobView& view, const Style& style) {
  Table table({"asked", "in use", "kept", "who"}, {true, true, true, false});
  for (const model::JobPinned& each : view.pinned) {
    table.add({style.bytes(each.asked), style.bytes(each.used), style.bytes(each.kept),
               wording::job_member_text(each.rank, each.pid)});
  }
  return table.text(style, "  ");
}

std::string gpu_job_table(const model::JobView& view, const Style& style) {
  Table table({"in use", "torch reserved", "beside it", "who"}, {true, true, true, false});
  for (const model::JobGpu& each : view.gpus) {
    table.add({style.bytes(each.used), style.bytes(each.reserved), each.outside ? style.bytes(*each.outside) : "",
               fmt::format("{} of {}", each.device, wording::job_member_text(each.rank, each.pid))});
  }
  return table.text(style, "  ");
}

}  // namespace

std::string job_text(const model::JobView& view, const Style& style) {
  if (!view.peak) return {};
  const model::JobMoment& peak = *view.peak;
  std::string text = style.bold(fmt::format("memory of the job   {} at its peak", style.bytes(peak.bytes)));
  text += fmt::format("   {} · {} · at {}\n", counted(peak.count, "process", "processes"),
                      counted(view.samples, "sample"), duration(std::max<std::int64_t>(0, peak.ns.value)));
  text += fmt::format("  {}\n", wording::job_basis_text(peak));
  text += parts_table(peak, style);
  // While a job grows, its processes are read one after the other.
  if (peak.changed && peak.changed->value * 100 > peak.bytes.value) {
    text += fmt::format("  while it was read it changed by {}\n", style.bytes(*peak.changed));
  }
  text += style.bold("\nits processes") + "   what several have counts in equal parts for each\n";
  text += processes_table(peak, style);
  if (!peak.shared.empty()) {
    text += style.bold("\nits shared memory") + "   each segment once\n" + shared_table(peak, style);
  }
  if (!view.pinned.empty()) {
    text += style.bold("\npinned memory") +
            "   of the shared memory; torch rounds each request up to a power of two, and keeps what is freed\n" +
            pinned_table(view, style);
  }
  if (!view.gpus.empty()) {
    text += style.bold("\nmemory of GPUs") +
            "   beside torch's allocator: CUDA's context, libraries, other processes\n" + gpu_job_table(view, style);
  }
  return text + fmt::format("\nat the last sample, at {}: {} in {}\n",
                            duration(std::max<std::int64_t>(0, view.last->ns.value)), style.bytes(view.last->bytes),
                            counted(view.last->count, "process", "processes"));
}

}  // namespace dcmt::cli

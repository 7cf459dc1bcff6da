// The process's memory besides torch's, as printed by `show memory`.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/show_text.h"
#include "render/wording/forked_words.h"
#include "render/wording/holder_words.h"
#include "render/wording/memory_class.h"

namespace dcmt::cli {
namespace {

constexpr std::size_t kMostSteps = 20;
constexpr std::size_t kMostArrays = 8;

std::string step_name(const auto& at, bool has_steps) {
  return at.step ? grouped(*at.step) : std::string(has_steps ? "before" : "-");
}

bool has_steps(const auto& rows) {
  return std::ranges::any_of(rows, [](const auto& each) { return each.step.has_value(); });
}

/// Evenly selected steps, including the first and the last.
template <class OfStep>
std::vector<const OfStep*> chosen(const std::vector<OfStep>& steps) {
  std::vector<const OfStep*> rows;
  const std::size_t count = std::min(kMostSteps, steps.size());
  for (std::size_t i = 0; i < count; ++i) rows.push_back(&steps[count == 1 ? 0 : i * (steps.size() - 1) / (count - 1)]);
  return rows;
}

std::string steps_table(const model::MemoryView& view, const Style& style) {
  const bool has_group = std::ranges::any_of(view.steps, [](const auto& each) { return each.cgroup.has_value(); });
  std::vector<std::string> head = {"step", "time", "resident", "torch", "anonymous", "files", "shared"};
  if (has_group) head.emplace_back("cgroup");
  Table table(head, std::vector<bool>(head.size(), true));
  for (const model::MemoryOfStep* each : chosen(view.steps)) {
    std::vector<std::string> row = {step_name(*each, has_steps(view.steps)),
                                    duration(each->ns.value),
                                    style.bytes(each->resident),
                                    style.bytes(each->torch),
                                    style.bytes(each->anonymous),
                                    style.bytes(each->file),
                                    style.bytes(each->shared)};
    if (has_group) row.push_back(each->cgroup ? style.bytes(*each->cgroup) : "");
    table.add(std::move(row));
  }
  return table.text(style, "  ");
}

std::string classes_table(const model::MemoryView& view, const Style& style) {
  Table table({"class", "resident", "torch's", "else", "change", "what it is"}, {false, true, true, true, true, false});
  for (const model::MemoryClass& each : view.classes) {
    const std::int64_t change = each.bytes.value - each.before.value;
    std::string what(wording::memory_class_text(each.name));
    if (each.largest && each.name != "libraries") what += ": " + *each.largest;
    table.add({each.name, style.bytes(each.bytes), style.bytes(each.torch), style.bytes(each.outside()),
               (change < 0 ? "-" : "+") + style.bytes(Bytes(std::abs(change))), what});
  }
  return table.text(style, "  ");
}

std::string arrays_table(const model::MemoryView& view, const Style& style) {
  Table table({"bytes", "arrays", "held by"}, {true, true, false});
  for (std::size_t i = 0; i < std::min(kMostArrays, view.arrays.size()); ++i) {
    const model::HeldArrays& each = view.arrays[i];
    table.add({style.bytes(each.bytes), grouped(each.arrays), wording::held_text(each.holder, each.place, each.type)});
  }
  return table.text(style, "  ");
}

std::string forked_table(const model::MemoryView& view, const Style& style) {
  Table table({"unshared", "at first", "largest resident", "who"}, {true, true, true, false});
  for (const analyzer::ForkedChildren& each : view.forked) {
    table.add({style.bytes(each.unshared), style.bytes(each.first), style.bytes(each.resident),
               wording::children_text(each)});
  }
  return table.text(style, "  ");
}

std::string gpu_table(const model::GpuMemoryView& gpu, const Style& style) {
  const bool has_process = std::ranges::any_of(gpu.steps, [](const auto& each) { return each.process.has_value(); });
  std::vector<std::string> head = {"step", "time", "in use", "torch reserved", "beside it"};
  if (has_process) head.insert(head.begin() + 3, "this process");
  Table table(head, std::vector<bool>(head.size(), true));
  for (const model::GpuMemoryOfStep* each : chosen(gpu.steps)) {
    std::vector<std::string> row = {step_name(*each, has_steps(gpu.steps)), duration(each->ns.value),
                                    style.bytes(each->used)};
    if (has_process) row.push_back(each->process ? style.bytes(*each->process) : "");
    row.push_back(style.bytes(each->reserved));
    row.push_back(each->outside ? style.bytes(*each->outside) : "");
    table.add(std::move(row));
  }
  return table.text(style, "  ");
}

std::string gpus_text(const model::MemoryView& view, const Style& style) {
  std::string text;
  for (const model::GpuMemoryView& gpu : view.gpus) {
    text += style.bold(fmt::format("\nmemory of {}", gpu.device));
    text += fmt::format("   at most {} in use of {}", style.bytes(gpu.highest), style.bytes(gpu.total));
    if (gpu.outside) {
      const bool has_process = gpu.steps.back().process.has_value();
      text += fmt::format("\n  beside torch's allocator at most {}: CUDA's context, libraries{}",
                          style.bytes(*gpu.outside), has_process ? "" : ", other processes");
    }
    text += "\n" + gpu_table(gpu, style);
  }
  if (view.gpus_unknown) text += fmt::format("\nmemory of a GPU was not sampled: {}\n", *view.gpus_unknown);
  return text;
}

}  // namespace

std::string memory_text(const model::MemoryView& view, const Style& style) {
  if (view.samples == 0) return "The memory of the process was not sampled in this trace.\n";
  std::string text = style.bold(fmt::format("memory of the process   at most {} resident", style.bytes(*view.highest)));
  text += fmt::format("   {}", counted(view.samples, "sample"));
  if (view.limit) text += fmt::format(" · its control group may use {}", style.bytes(*view.limit));
  if (view.kills.value_or(0) > 0) {
    text += fmt::format(" and the kernel killed {} in it", counted(*view.kills, "process", "processes"));
  }
  text += "\n" + steps_table(view, style);
  if (view.classes_at) {
    text += style.bold("\nwhat it is for") +
            fmt::format("   {}\n", view.classes_at->step   ? "after step " + grouped(*view.classes_at->step)
                                   : has_steps(view.steps) ? std::string("before the first step ended")
                                                           : "at the last sample of it");
    text += classes_table(view, style);
  }
  if (!view.arrays.empty()) {
    text += style.bold("\narrays of numpy") + "   at the last reading of the memory\n" + arrays_table(view, style);
  }
  if (!view.forked.empty()) {
    text += style.bold("\nforked children") + "   not recorded; unshared: changed, and in no other process\n" +
            forked_table(view, style);
  }
  return text + gpus_text(view, style);
}

}  // namespace dcmt::cli

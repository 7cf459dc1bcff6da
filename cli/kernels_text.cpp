// When GPUs worked, and on what, as printed by `show kernels`.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/show_text.h"

namespace dcmt::cli {
namespace {

constexpr std::size_t kMostKernels = 24;
/// Longer names, those of templates, are cut: --json has them whole.
constexpr std::size_t kLongestName = 72;

std::string shortened(const std::string& name) {
  return name.size() <= kLongestName ? name : name.substr(0, kLongestName - 1) + "…";
}

std::string streams_text(const std::vector<std::int64_t>& streams) {
  std::string text;
  for (const std::int64_t stream : streams) text += (text.empty() ? "" : ", ") + std::to_string(stream);
  return text;
}

std::string kernels_table(const analyzer::GpuTimeline& gpu, const Style& style) {
  Table table({"time", "of it", "calls", "mean", "bytes", "streams", "what"},
              {true, true, true, true, true, true, false});
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostKernels, gpu.groups.size()); ++i) {
    const analyzer::GpuWorkGroup& each = gpu.groups[i];
    std::string what = shortened(each.name);
    if (each.operator_name) what += " · " + *each.operator_name;
    if (each.site) what += " · " + *each.site;
    table.add(
        {duration(each.time.value),
         percent(static_cast<double>(each.time.value) / static_cast<double>(std::max<std::int64_t>(1, gpu.time.value)),
                 1),
         grouped(each.count), duration(each.time.value / each.count),
         each.bytes.value > 0 ? style.bytes(each.bytes) : "-", streams_text(each.streams), what});
  }
  text += table.text(style, "  ");
  if (gpu.groups.size() > kMostKernels) {
    text += fmt::format("  {} more: --json\n", grouped(static_cast<std::int64_t>(gpu.groups.size() - kMostKernels)));
  }
  return text;
}

}  // namespace

std::string kernels_text(const model::KernelsView& view, const Style& style) {
  if (view.gpus.empty()) {
    return "No work of a GPU was recorded: dc-memtrace run --kernels all records it.\n";
  }
  std::string text;
  for (const analyzer::GpuTimeline& gpu : view.gpus) {
    text += style.bold(fmt::format("cuda:{}", gpu.gpu)) +
            fmt::format("   {} kernels, copies and fills in {}; it worked for {} of it, {}", grouped(gpu.count),
                        duration(gpu.length.value), duration(gpu.busy.value),
                        percent(static_cast<double>(gpu.busy.value) /
                                    static_cast<double>(std::max<std::int64_t>(1, gpu.length.value)),
                                0));
    if (gpu.time > gpu.busy) {
      text += fmt::format("; {} on several streams at once", duration(gpu.time.value - gpu.busy.value));
    }
    text += "\n" + kernels_table(gpu, style);
  }
  return text + "  The place is the one that gave most of the time. Their order: dc-memtrace convert --to perfetto\n";
}

}  // namespace dcmt::cli

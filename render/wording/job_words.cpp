#include "render/wording/job_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "trace/base/quantities.h"

namespace dcmt::wording {
namespace {

/// In a line, the parts of less than this share are left out.
constexpr double kWorthSaying = 0.02;

std::string_view short_part(std::string_view name) {
  if (name == "anonymous") return "memory of its processes";
  if (name == "shared") return "shared memory";
  if (name == "mapped_files") return "mapped files";
  if (name == "kernel") return "the kernel";
  if (name == "recorder") return "dc-memtrace";
  return "unexplained";
}

}  // namespace

std::string_view job_part_text(std::string_view name) {
  if (name == "anonymous") return "memory of its processes that belongs to no file";
  if (name == "shared") return "shared memory";
  if (name == "mapped_files") return "files that its processes have mapped, such as libraries";
  if (name == "page_cache") return "page cache of other files: no leak, the kernel takes it back when memory is needed";
  if (name == "kernel") return "the kernel: page tables, stacks of threads, network buffers";
  if (name == "recorder") return "dc-memtrace: the recorder, and its spools in shared memory";
  return "unexplained";
}

std::string job_processes_text(const model::JobProcessGroup& processes) {
  const std::string rank = processes.rank ? fmt::format("rank {}", *processes.rank) : "";
  const std::string pid = processes.pid ? fmt::format(" (pid {})", *processes.pid) : "";
  if (processes.role == "recorder") return "dc-memtrace" + pid;
  if (processes.role == "around") return fmt::format("{}{}, which started dc-memtrace", processes.name, pid);
  if (processes.role == "forked") {
    return fmt::format("{} of {} ({})", counted(processes.processes, "forked child", "forked children"),
                       !rank.empty() ? rank : fmt::format("pid {}", processes.parent.value_or(0)), processes.name);
  }
  return (processes.role == "recorded" && !rank.empty() ? rank : processes.name) + pid;
}

std::string job_member_text(std::int64_t rank, std::int64_t pid) {
  return rank >= 0 ? fmt::format("rank {} (pid {})", rank, pid) : fmt::format("pid {}", pid);
}

std::string job_shared_text(const model::JobShared& shared) {
  const std::string pid = shared.pid ? fmt::format("pid {}", *shared.pid) : "";
  const std::string owner = !shared.owner ? (pid.empty() ? "" : pid + ", which has ended")
                            : pid.empty() ? *shared.owner
                                          : fmt::format("{} ({})", *shared.owner, pid);
  const std::string of = owner.empty() ? "" : " of " + owner;
  const std::string largest = fmt::format("{}{}", shared.segments > 1 ? ", the largest: " : ": ", shared.name);
  if (shared.kind == "tensors") return "tensors" + of;
  if (shared.kind == "nccl") return "NCCL" + of;
  if (shared.kind == "recorder") return "spools of dc-memtrace";
  if (shared.kind == "left") return fmt::format("left behind{}, no process has it open{}", of, largest);
  return fmt::format("other{}{}", of, largest);
}

std::string_view job_basis_text(const model::JobMoment& moment) {
  return moment.of_group ? "all that its control group used, in which nothing else runs"
                         : "the sum over its processes, and its shared memory; what they share counts once";
}

std::string job_line(const model::JobMoment& peak, const Form& form) {
  std::vector<model::JobPart> parts = peak.parts;
  std::erase_if(parts, [&](const model::JobPart& each) {
    return each.name == "page_cache" ||
           static_cast<double>(each.bytes.value) < kWorthSaying * static_cast<double>(peak.needed.value);
  });
  std::ranges::stable_sort(parts, std::greater(), &model::JobPart::bytes);
  std::vector<std::string> texts;
  for (const model::JobPart& each : parts) {
    texts.push_back(fmt::format("{} {}", form.bytes(each.bytes), short_part(each.name)));
  }
  const Bytes cache = peak.part("page_cache");
  return fmt::format("{} at its peak, in {}: {}{}", form.bytes(peak.needed),
                     counted(peak.count, "process", "processes"), joined(texts, " · "),
                     cache.value > 0 ? fmt::format(" (and {} page cache)", form.bytes(cache)) : "");
}

}  // namespace dcmt::wording

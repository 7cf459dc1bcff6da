// The memory of the whole job at its peak and at the last sample: what it is, and whose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/gpu_memory.h"
#include "analyzer/load/job_history.h"
#include "analyzer/load/pinned_memory.h"
#include "analyzer/model/values.h"

namespace dcmt::model {

/// A part of the job's memory. The parts add up to all of it.
struct JobPart {
  std::string_view name;
  Bytes bytes;

  static constexpr std::string_view kShape = "job_part";
  static void describe(auto&& field) {
    field("name", &JobPart::name,
          "\"anonymous\" (memory of its processes without a file), \"shared\" (shared memory), \"mapped_files\", "
          "\"page_cache\" (of files that no process has mapped; the kernel takes it back), \"kernel\" (page tables, "
          "stacks, network buffers), \"recorder\" (this tool and its spools), \"unexplained\"");
    field("bytes", &JobPart::bytes, "of \"unexplained\" less than 0 if the other parts have more than all");
  }
};

/// Processes of one kind. What several processes have counts in equal parts for each.
struct JobProcessGroup {
  std::string name, role;
  std::optional<std::int64_t> rank, pid, parent;
  std::int64_t processes = 0;
  Bytes anonymous, file, shared, swapped, largest;

  [[nodiscard]] Bytes all() const { return Bytes(anonymous.value + file.value + shared.value); }

  static constexpr std::string_view kShape = "job_processes";
  static void describe(auto&& field) {
    field("name", &JobProcessGroup::name, "of the main thread: \"pt_data_worker\"");
    field("role", &JobProcessGroup::role,
          "\"recorded\"; \"forked\" from another process of the job, without an exec; \"child\": another descendant; "
          "\"recorder\"; \"around\": it started the recorder, and is in the control group");
    field("rank", &JobProcessGroup::rank, "of a recorded one; of forked ones the rank of their parent");
    field("pid", &JobProcessGroup::pid, "null: there are several");
    field("parent", &JobProcessGroup::parent, "pid of the parent of forked ones");
    field("processes", &JobProcessGroup::processes, "");
    field("anonymous_bytes", &JobProcessGroup::anonymous, "in memory that belong to no file");
    field("file_bytes", &JobProcessGroup::file, "in memory of files that are mapped");
    field("shared_bytes", &JobProcessGroup::shared, "in memory of shared memory that is mapped");
    field("swapped_bytes", &JobProcessGroup::swapped, "in swap, which is no part of the job's bytes");
    field("largest_bytes", &JobProcessGroup::largest, "resident of the largest one, shared memory in full");
  }
};

/// Segments of shared memory of one kind and owner.
struct JobShared {
  std::string kind, name;
  std::optional<std::string> owner;
  std::optional<std::int64_t> pid;
  std::int64_t segments = 0;
  Bytes bytes;

  static constexpr std::string_view kShape = "job_shared";
  static void describe(auto&& field) {
    field("kind", &JobShared::kind,
          "\"tensors\" of torch's processes, \"nccl\", \"recorder\" (spools), \"other\", \"left\" (a file that no "
          "process has open)");
    field("name", &JobShared::name, "of the largest one");
    field("owner", &JobShared::owner,
          "\"rank 0\", \"pt_data_worker\": the process that torch's name has, or else the oldest one that has it; "
          "null: none, or it has ended");
    field("pid", &JobShared::pid, "of the owner");
    field("segments", &JobShared::segments, "");
    field("bytes", &JobShared::bytes, "in memory, each segment once");
  }
};

/// The memory of the job at one time.
struct JobMoment {
  TimeNs ns;
  bool of_group = false;
  std::int64_t count = 0;
  Bytes bytes, needed;
  std::optional<Bytes> changed;
  std::vector<JobPart> parts;
  std::vector<JobProcessGroup> processes;
  std::vector<JobShared> shared;

  /// By it the samples are compared: without this tool, whose memory changes with what it reads, and without files,
  /// whose parts depend on who else has mapped them.
  [[nodiscard]] Bytes own() const;
  /// The bytes of a part.
  [[nodiscard]] Bytes part(std::string_view name) const;

  static constexpr std::string_view kShape = "job_moment";
  static void describe(auto&& field) {
    field("ns", &JobMoment::ns, "since the begin of the trace; less than 0: before it");
    field("of_group", &JobMoment::of_group,
          "true: `bytes` is what the job's control group used, in which nothing else runs; false: the sum over its "
          "processes (PSS), and its shared memory");
    field("count", &JobMoment::count, "of the job, recorded or not");
    field("bytes", &JobMoment::bytes, "in memory");
    field("needed_bytes", &JobMoment::needed, "of them, without the page cache that no process has mapped");
    field("changed_bytes", &JobMoment::changed,
          "by how much the group's use changed while it was read; null: no group");
    field("parts", &JobMoment::parts, "they add up to `bytes`");
    field("processes", &JobMoment::processes, "most bytes first");
    field("shared", &JobMoment::shared, "most bytes first");
  }
};

/// Page-locked memory of a process.
struct JobPinned {
  std::int64_t rank = -1, pid = 0;
  Bytes asked, used, kept;

  static constexpr std::string_view kShape = "job_pinned";
  static void describe(auto&& field) {
    field("rank", &JobPinned::rank, "-1: none");
    field("pid", &JobPinned::pid, "");
    field("asked_bytes", &JobPinned::asked, "that its tensors have");
    field("used_bytes", &JobPinned::used, "of the blocks that these are in: torch rounds up to powers of two");
    field("kept_bytes", &JobPinned::kept,
          "of all blocks so far, most that it can occupy: torch keeps freed ones for later requests");
  }
};

/// The memory of a GPU, as a process uses it.
struct JobGpu {
  std::int64_t rank = -1, pid = 0;
  std::string device;
  Bytes used, reserved;
  std::optional<Bytes> outside;

  static constexpr std::string_view kShape = "job_gpu";
  static void describe(auto&& field) {
    field("rank", &JobGpu::rank, "-1: none");
    field("pid", &JobGpu::pid, "");
    field("device", &JobGpu::device, "\"cuda:0\"");
    field("used_bytes", &JobGpu::used, "in use on the GPU by all processes; by this one if the driver says it");
    field("reserved_bytes", &JobGpu::reserved, "by torch's allocator in this process");
    field(
        "outside_bytes", &JobGpu::outside,
        "of the used ones, what torch's allocator has not reserved: CUDA's context, libraries, other processes; null: "
        "not known then");
  }
};

struct JobView {
  std::string path;
  std::int64_t samples = 0;
  std::optional<JobMoment> peak, last;
  std::vector<JobPinned> pinned;
  std::vector<JobGpu> gpus;

  static constexpr std::string_view kShape = "show memory --job";
  static void describe(auto&& field) {
    field("path", &JobView::path, "of the trace that has it");
    field("samples", &JobView::samples, "");
    field("peak", &JobView::peak,
          "the sample with most bytes that belong to no file, without those of \"recorder\"; null: there is none");
    field("last", &JobView::last, "the last sample");
    field("pinned", &JobView::pinned, "page-locked memory at the peak, which is a part of \"shared\"");
    field("gpus", &JobView::gpus, "memory of GPUs at the peak, which is no part of the bytes");
  }
};

/// What one trace of a run has of the job, and of its process.
struct JobOfTrace {
  std::string path;  ///< as messages print it
  std::int64_t rank = -1;
  analyzer::JobHistory history;
  std::vector<analyzer::PinnedBlock> pinned;
  std::vector<analyzer::GpuMemory> gpus;

  /// Reads no other rows of the trace.
  static Expected<JobOfTrace> load(const std::string& path, std::int64_t rank, Database& database);
};

/// True if the job had several processes at some time, this tool's not counted.
[[nodiscard]] bool job_has_several(const analyzer::JobHistory& history);
/// At the sample with most; nothing: the trace has no samples.
[[nodiscard]] std::optional<JobMoment> job_peak(const analyzer::JobHistory& history);
/// One for each job. The samples of a job are in the trace of one of its processes; if that has ended, the following
/// ones are in another trace.
[[nodiscard]] std::vector<JobView> job_views(const std::vector<JobOfTrace>& traces);

}  // namespace dcmt::model

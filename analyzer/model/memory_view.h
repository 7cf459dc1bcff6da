// The memory of the process besides torch's: samples by step, and the purposes of its mappings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/growth/forked_growth.h"
#include "analyzer/model/analysis.h"
#include "analyzer/model/gpu_memory.h"
#include "analyzer/model/values.h"

namespace dcmt::model {

/// The memory of the process that is mapped for one purpose.
struct MemoryClass {
  std::string name;
  Bytes bytes, torch, size, before;
  std::int64_t mappings = 0;
  std::optional<std::string> largest;

  /// Memory that is not torch's.
  [[nodiscard]] Bytes outside() const { return Bytes(bytes.value - torch.value); }

  static constexpr std::string_view kShape = "memory_class";
  static void describe(auto&& field) {
    field("name", &MemoryClass::name,
          "\"libraries\", \"files\", \"shared tensors\" (of torch's processes, as DataLoader's workers), \"shared "
          "memory\", \"driver\" (of a GPU), \"malloc\" (the C library's allocator), \"python\" (Python's allocator of "
          "small objects), \"stacks\", \"recorder\" (this tool's), \"other\"");
    field("bytes", &MemoryClass::bytes, "in memory or in swap");
    field("torch_bytes", &MemoryClass::torch, "of these, in blocks of torch's allocator of the CPU");
    field("size_bytes", &MemoryClass::size, "of the mappings, used or not");
    field("mappings", &MemoryClass::mappings, "");
    field("before_bytes", &MemoryClass::before, "what it had at the first sample with classes; 0: nothing then");
    field("largest", &MemoryClass::largest, "the file of the largest mapping");
  }
};

/// The memory of the process at the end of a step.
struct MemoryOfStep {
  std::optional<std::int64_t> step;
  TimeNs ns;
  Bytes resident, torch, anonymous, file, shared;
  std::optional<Bytes> cgroup;

  static constexpr std::string_view kShape = "memory_of_step";
  static void describe(auto&& field) {
    field("step", &MemoryOfStep::step, "the one that had ended last; null: none had");
    field("ns", &MemoryOfStep::ns, "since the begin of the trace");
    field("resident_bytes", &MemoryOfStep::resident, "of the process, in memory or in swap");
    field("torch_bytes", &MemoryOfStep::torch, "that torch's allocator of the CPU had handed out, touched or not");
    field("anonymous_bytes", &MemoryOfStep::anonymous, "of the resident ones, those that belong to no file");
    field("file_bytes", &MemoryOfStep::file, "those of files that are mapped");
    field("shared_bytes", &MemoryOfStep::shared, "those of shared memory");
    field("cgroup_bytes", &MemoryOfStep::cgroup, "in use by the process's control group");
  }
};

/// Numpy arrays with a holder at the latest reading of the memory.
struct HeldArrays {
  std::string_view holder;
  std::optional<std::string_view> place, type;
  std::int64_t arrays = 0;
  Bytes bytes;

  static constexpr std::string_view kShape = "held_arrays";
  static void describe(auto&& field) {
    field("holder", &HeldArrays::holder, "\"main: rows\"");
    field("place", &HeldArrays::place, "where the frame stood that is the root of this path");
    field("type", &HeldArrays::type, "\"list\"; null: a variable");
    field("arrays", &HeldArrays::arrays, "");
    field("bytes", &HeldArrays::bytes, "of their data, each once");
  }
};

struct MemoryView {
  std::string path;
  std::int64_t rank = -1;
  std::optional<Bytes> limit, highest;
  std::optional<std::int64_t> kills;
  std::int64_t samples = 0;
  std::vector<MemoryOfStep> steps;
  std::optional<MemoryOfStep> classes_at;
  std::vector<MemoryClass> classes;
  std::vector<HeldArrays> arrays;
  std::vector<analyzer::ForkedChildren> forked;
  std::vector<GpuMemoryView> gpus;
  std::optional<std::string> gpus_unknown;

  static constexpr std::string_view kShape = "show memory";
  static void describe(auto&& field) {
    field("path", &MemoryView::path, "");
    field("rank", &MemoryView::rank, "");
    field("samples", &MemoryView::samples, "of the whole run");
    field("highest_bytes", &MemoryView::highest, "the most that a sample found resident");
    field("cgroup_limit_bytes", &MemoryView::limit, "what the control group may use; null: no limit, or not known");
    field("cgroup_kills", &MemoryView::kills, "processes that the kernel killed in it meanwhile, because of the limit");
    field("steps", &MemoryView::steps,
          "the last sample of each step that has one; all samples of a program without steps");
    field("classes_at", &MemoryView::classes_at, "the sample that `classes` is of, the last that has them");
    field("classes", &MemoryView::classes, "most bytes first");
    field("arrays", &MemoryView::arrays, "at the last reading of the memory, most bytes first");
    field("forked", &MemoryView::forked, "children that the process has forked, those that share least first");
    field("gpus", &MemoryView::gpus, "what is in use of their memory, by the driver's count");
    field("gpus_unknown", &MemoryView::gpus_unknown,
          "why a GPU's memory was not sampled; null: each was, or there is none");
  }
};

[[nodiscard]] MemoryView memory_view(const std::string& path, const analyzer::Analysis& analysis);

}  // namespace dcmt::model

// When GPUs worked, and on what (`run --kernels all`).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "trace/base/status.h"
#include "trace/base/typed_id.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

/// A kernel, a copy or a fill.
struct GpuWork {
  TimeNs from, to;
  std::int64_t gpu = 0;
  std::optional<std::int64_t> stream;  ///< as of a block; 0: the default stream; nullopt: not known
  StringId name;                       ///< of a kernel
  std::string kind;                    ///< "kernel", "copy to GPU", …
  Bytes bytes;                         ///< of a copy or fill
  bool graph = false;                  ///< a part of a CUDA graph
  Actor by;                            ///< what gave it
};

/// Calls visit(const GpuWork&) for all of it, by its begin. For none in a trace before schema 19.
[[nodiscard]] Status each_gpu_work(Database& database, const std::function<Status(const GpuWork&)>& visit);

/// The kernel's name, or the kind.
[[nodiscard]] std::string name_of(const TraceData& data, const GpuWork& work);

/// Work of one name.
struct GpuWorkGroup {
  std::string name;
  std::int64_t count = 0;
  TimeNs time;                                     ///< the sum
  Bytes bytes;                                     ///< of copies and fills, the sum
  std::vector<std::int64_t> streams;               ///< the known ones, ascending
  std::optional<std::string> site, operator_name;  ///< of the place that gave most of the time

  static constexpr std::string_view kShape = "gpu_work";
  static void describe(auto&& field) {
    field("name", &GpuWorkGroup::name, "the kernel's; or \"copy to GPU\", \"copy to host\", \"copy on GPU\", \"fill\"");
    field("count", &GpuWorkGroup::count, "");
    field("time_ns", &GpuWorkGroup::time, "the sum");
    field("bytes", &GpuWorkGroup::bytes, "of copies and fills, the sum");
    field("streams", &GpuWorkGroup::streams, "0: the default stream; empty: not known");
    field("site", &GpuWorkGroup::site, "the line that gave most of the time; null: no Python frame");
    field("operator", &GpuWorkGroup::operator_name, "that gave most of the time; null: none, or not recorded");
  }
};

struct GpuTimeline {
  std::int64_t gpu = 0;
  TimeNs length;  ///< from the first begin to the last end
  TimeNs busy;    ///< of it, with work on any stream
  TimeNs time;    ///< the sum of all work: more than `busy` where streams overlap
  std::int64_t count = 0;
  std::vector<GpuWorkGroup> groups;  ///< most time first

  static constexpr std::string_view kShape = "gpu_timeline";
  static void describe(auto&& field) {
    field("gpu", &GpuTimeline::gpu, "its number, as of cuda:N");
    field("length_ns", &GpuTimeline::length, "from the first begin to the last end");
    field("busy_ns", &GpuTimeline::busy, "of it, with work on any stream");
    field("time_ns", &GpuTimeline::time, "the sum of all work: more than busy_ns where streams overlap");
    field("count", &GpuTimeline::count, "kernels, copies and fills");
    field("groups", &GpuTimeline::groups, "most time first");
  }
};

/// By GPU.
[[nodiscard]] Expected<std::vector<GpuTimeline>> gpu_timelines(const TraceData& data, Database& database);

}  // namespace dcmt::analyzer

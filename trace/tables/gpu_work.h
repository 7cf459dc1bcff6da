// When GPUs worked, under `run --kernels all`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/tables/column.h"
#include "trace/tables/point.h"

namespace dcmt {

/// A kernel, copy or fill, after its end.
struct GpuWorkRow {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
  std::int64_t gpu = 0;
  std::optional<std::int64_t> stream;
  std::string_view kind;  ///< static text
  RowId name = 0;
  std::int64_t bytes = 0;
  bool graph = false;
  Place where;

  /// As wire::GpuWorkKind.
  static constexpr std::string_view kKinds[] = {
      "kernel", "copy to GPU", "copy to host", "copy on GPU", "copy between GPUs", "copy", "fill"};

  static constexpr Table kTable{.name = "gpu_work",
                                .meaning =
                                    "A kernel, copy or fill on a GPU, in the order in which CUPTI handed them "
                                    "over (`run --kernels all`).",
                                .since = 19,
                                .key = ""};
  static constexpr void describe(auto&& column) {
    column(&GpuWorkRow::from_ns, Cell{"from_ns", "ns", ""});
    column(&GpuWorkRow::to_ns, Cell{"to_ns", "ns", ""});
    column(&GpuWorkRow::gpu, Cell{"gpu", "number", ""});
    column(&GpuWorkRow::stream, Cell{"stream", "number", "as of a block; NULL: not known"});
    column(&GpuWorkRow::kind, Cell{"kind", "text", "", 19, kKinds});
    column(&GpuWorkRow::name, OrNull{"name", "string", "of the kernel"});
    column(&GpuWorkRow::bytes, OrNull{"bytes", "bytes", "of a copy or fill"});
    column(&GpuWorkRow::graph, Cell{"graph", "flag", "1: a part of a CUDA graph"});
    column(&GpuWorkRow::where, WholePlace{});
  }
};

}  // namespace dcmt

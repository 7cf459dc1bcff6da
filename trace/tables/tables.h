// All tables of a trace.
#pragma once

#include <cstddef>
#include <type_traits>

#include "trace/tables/gpu_work.h"
#include "trace/tables/holders.h"
#include "trace/tables/job.h"
#include "trace/tables/lifetimes.h"
#include "trace/tables/marks.h"
#include "trace/tables/memory.h"
#include "trace/tables/native.h"
#include "trace/tables/references.h"
#include "trace/tables/streams.h"
#include "trace/tables/sums.h"
#include "trace/tables/texts.h"

namespace dcmt {

template <class... Rows>
struct RowTypes {
  static constexpr std::size_t kCount = sizeof...(Rows);

  /// Calls visit.operator()<Row>() for each row type.
  static void each(auto&& visit) { (visit.template operator()<Rows>(), ...); }

  /// The position of a row type among them.
  template <class Row>
  static constexpr std::size_t index_of() {
    std::size_t index = 0;
    static_cast<void>(((std::is_same_v<Row, Rows> || (++index, false)) || ...));
    return index;
  }
};

/// The tables that a recorder writes, in the order in which they are made.
using WrittenTables =
    RowTypes<MetaRow, StringRow, ThreadRow, FrameRow, StackRow, OperatorRow, BlockRow, StorageRow, TensorRow, MarkRow,
             LaunchesRow, SampleRow, EdgeRow, SourceRow, SourceLineRow, DiagnosticRow, LossRow, IntervalRow,
             IntervalCurveRow, KeySumRow, OutOfMemoryRow, ParameterRow, OperatorAliasRow, ScanRow, OwnerRow, HeldRow,
             ContainerRow, HeldInRow, ResidentRow, MappedRow, ArrayHolderRow, SegmentRow, GpuMemoryRow, ModuleRow,
             CollectionRow, ForkedRow, ForkedCollectionRow, WatchedCountRow, CountChangeRow, NativeSiteRow,
             NativeFrameRow, NativeLiveRow, AllocatorRow, JobRow, JobProcessRow, JobSharedRow, StreamCallRow,
             StreamUseRow, GpuWorkRow>;

}  // namespace dcmt

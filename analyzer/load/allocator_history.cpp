#include "analyzer/load/allocator_history.h"

#include "analyzer/load/table_reader.h"

namespace dcmt::analyzer {

Expected<AllocatorHistory> AllocatorHistory::load(Database& database) {
  AllocatorHistory history;
  DCMT_RETURN_IF_ERROR(read_rows<Segment>(
      database, "ORDER BY from_seq, id", [&](const Segment& segment) { history.segments.push_back(segment); },
      column<&SegmentRow::gpu, &Segment::gpu>(), column<&SegmentRow::address, &Segment::address>(),
      column<&SegmentRow::bytes, &Segment::bytes>(), column<&SegmentRow::stream, &Segment::stream>(),
      column<&SegmentRow::expandable, &Segment::expandable>(), column<&SegmentRow::pool, &Segment::pool>(),
      column<&SegmentRow::span, &Segment::span>()));
  if (history.segments.empty()) return history;
  DCMT_RETURN_IF_ERROR(read_rows<GpuBlock>(
      database, "WHERE gpu IS NOT NULL ORDER BY id", [&](const GpuBlock& block) { history.blocks.push_back(block); },
      column<&BlockRow::id, &GpuBlock::id>(), column<&BlockRow::gpu, &GpuBlock::gpu>(),
      column<&BlockRow::address, &GpuBlock::address>(), column<&BlockRow::rounding, &GpuBlock::rounding>()));
  DCMT_RETURN_IF_ERROR(read_rows<AllocatorSetup>(
      database, "ORDER BY gpu, id", [&](const AllocatorSetup& setup) { history.setups.push_back(setup); },
      column<&AllocatorRow::gpu, &AllocatorSetup::gpu>(),
      column<&AllocatorRow::at>([](AllocatorSetup& setup, const PointInTime& at) { setup.seq = at.seq; }),
      column<&AllocatorRow::settings, &AllocatorSetup::settings>(),
      column<&AllocatorRow::limit, &AllocatorSetup::limit>()));
  return history;
}

}  // namespace dcmt::analyzer

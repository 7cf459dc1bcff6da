#include "analyzer/load/native_memory.h"

#include <algorithm>

#include "analyzer/load/table_reader.h"

namespace dcmt::analyzer {

Expected<NativeMemory> NativeMemory::load(Database& database) {
  NativeMemory memory;
  DCMT_RETURN_IF_ERROR(read_rows<NativeSite>(
      database, "ORDER BY id", [&](const NativeSite& site) { memory.sites.push_back(site); },
      column<&NativeSiteRow::id, &NativeSite::id>(), column<&NativeSiteRow::stack, &NativeSite::stack>()));
  DCMT_RETURN_IF_ERROR(read_rows<NativeFrame>(
      database, "ORDER BY site, depth",
      [&](const NativeFrame& frame) {
        const auto site = std::ranges::lower_bound(memory.sites, frame.site, {}, &NativeSite::id);
        if (site != memory.sites.end() && site->id == frame.site) site->frames.push_back(frame);
      },
      column<&NativeFrameRow::site, &NativeFrame::site>(), column<&NativeFrameRow::depth, &NativeFrame::depth>(),
      column<&NativeFrameRow::object, &NativeFrame::object>(),
      column<&NativeFrameRow::function, &NativeFrame::function>(),
      column<&NativeFrameRow::offset, &NativeFrame::offset>(), column<&NativeFrameRow::file, &NativeFrame::file>(),
      column<&NativeFrameRow::line, &NativeFrame::line>()));
  DCMT_RETURN_IF_ERROR(read_rows<NativeLive>(
      database, "ORDER BY reading, site", [&](const NativeLive& live) { memory.live.push_back(live); },
      column<&NativeLiveRow::reading, &NativeLive::reading>(), column<&NativeLiveRow::site, &NativeLive::site>(),
      column<&NativeLiveRow::at>([](NativeLive& live, const PointInTime& at) {
        live.seq = at.seq;
        live.ns = at.ns;
      }),
      column<&NativeLiveRow::bytes, &NativeLive::bytes>(), column<&NativeLiveRow::deviation, &NativeLive::deviation>(),
      column<&NativeLiveRow::samples, &NativeLive::samples>(), column<&NativeLiveRow::made, &NativeLive::made>(),
      column<&NativeLiveRow::least, &NativeLive::least>()));
  return memory;
}

}  // namespace dcmt::analyzer

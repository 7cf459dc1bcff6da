#include "render/load/segments.h"

#include <algorithm>

#include "analyzer/load/table_reader.h"
#include "trace/sql/trace_file.h"

namespace dcmt::load {

Expected<Segments> read_segments(const std::string& path) {
  Segments segments;
  DCMT_ASSIGN_OR_RETURN(Database database, open_trace(path));
  struct Row {
    std::int64_t gpu = 0, address = 0;
    Bytes bytes;
    bool expandable = false;
    analyzer::Span span;
  };
  DCMT_RETURN_IF_ERROR(analyzer::read_rows<Row>(
      database, "WHERE bytes > 0 AND address != 0 ORDER BY id",
      [&](const Row& row) {
        const auto from = static_cast<scene::Address>(row.address);
        segments["cuda:" + std::to_string(row.gpu)].push_back(
            {{from, scene::address_end(from, row.bytes.value)}, row.expandable, row.span.from_seq, row.span.to_seq});
      },
      analyzer::column<&SegmentRow::gpu>([](Row& row, std::optional<std::int64_t> gpu) { row.gpu = gpu.value_or(0); }),
      analyzer::column<&SegmentRow::address, &Row::address>(), analyzer::column<&SegmentRow::bytes, &Row::bytes>(),
      analyzer::column<&SegmentRow::expandable, &Row::expandable>(),
      analyzer::column<&SegmentRow::span, &Row::span>()));
  return segments;
}

std::vector<scene::AddressStretch> segments_after(const std::vector<Segment>& segments, Sequence seq) {
  std::vector<const Segment*> there;
  for (const Segment& each : segments) {
    if (each.from <= seq && (!each.to.valid() || seq < each.to)) there.push_back(&each);
  }
  std::ranges::sort(there, {}, [](const Segment* each) { return each->addresses.from; });
  std::vector<scene::AddressStretch> found;
  const Segment* before = nullptr;
  for (const Segment* each : there) {
    const bool same =
        before != nullptr && before->expandable && each->expandable && before->addresses.to == each->addresses.from;
    if (same) {
      found.back().to = each->addresses.to;
    } else {
      found.push_back(each->addresses);
    }
    before = each;
  }
  return found;
}

}  // namespace dcmt::load

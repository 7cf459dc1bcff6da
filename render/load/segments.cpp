#include "render/load/segments.h"

#include <algorithm>

#include "analyzer/load/row_cursor.h"
#include "trace/sql/trace_file.h"

namespace dcmt::load {

Expected<Segments> read_segments(const std::string& path) {
  Segments segments;
  DCMT_ASSIGN_OR_RETURN(Database database, open_trace(path));
  DCMT_ASSIGN_OR_RETURN(const bool known, analyzer::has_table(database, "segment"));
  if (!known) return segments;  // from schema 10
  DCMT_RETURN_IF_ERROR(analyzer::read_rows(database,
                                           "SELECT gpu, address, bytes, expandable, from_seq, to_seq, from_ns, to_ns "
                                           "FROM segment WHERE bytes > 0 AND address != 0"
                                           " ORDER BY id",
                                           [&](analyzer::Cursor& in) {
                                             const std::string device = "cuda:" + std::to_string(in.gpu().value_or(0));
                                             Segment segment;
                                             segment.addresses.from = static_cast<scene::Address>(in.any());
                                             segment.addresses.to =
                                                 scene::address_end(segment.addresses.from, in.bytes().value);
                                             segment.expandable = in.any() != 0;
                                             const analyzer::Span span = in.span();
                                             segment.from = span.from_seq;
                                             segment.to = span.to_seq;
                                             segments[device].push_back(segment);
                                           }));
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

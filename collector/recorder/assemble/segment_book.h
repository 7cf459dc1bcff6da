// Segments of GPUs' allocators, from their begins to their ends: rows of the table `segment`.
//
// The allocators are asked for their segments once every change is observed. From there on the segments' bytes have to
// be what the allocator says it has reserved: where they are not, a device's rows are removed, and a diagnostic says
// so.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "collector/recorder/assemble/stream_numbers.h"
#include "collector/recorder/keep/device.h"
#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/sql/segment_history.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class SegmentBook {
 public:
  SegmentBook(Journal& journal, StreamNumbers& streams) : journal_(journal), streams_(streams) {}

  Status resume();
  /// The program ran before the recording began: what is listed has been there since before it.
  void began_late(std::int64_t ns) { before_ns_ = ns; }

  Status segment(const wire::SegmentRecord& record);
  /// Applies after the segment that the record is the sum of.
  Status reserved(const wire::ReservedRecord& record);
  /// Brings the rows up to date.
  Status commit();
  /// The same at the end of the recording. Without a list some segments would be missing: then there are none.
  Status finish();

  template <class Visit>
  void visit(Visit&& visit) {
    visit("segments.listed", is_listed_);
    visit("segments.before_ns", before_ns_);
    visit("segments.first_seq", first_.seq);
    visit("segments.first_ns", first_.ns);
  }

 private:
  struct OfDevice {
    SegmentHistory history;
    bool is_given_up = false;
  };
  Status give_up(std::int64_t gpu, OfDevice& device, std::string_view why);

  Journal& journal_;
  StreamNumbers& streams_;
  std::map<std::int64_t, OfDevice> devices_;  ///< by gpu
  RowId next_id_ = 1;
  Moment first_;  ///< an allocator had anything
  bool is_listed_ = false;
  std::int64_t before_ns_ = 0;  ///< 0: the recording began with the program
};

}  // namespace dcmt::recorder

// Segments of the GPU allocators from begin to end: rows of the table `segment`.
//
// The agent lists the allocators' segments once every change is observed. From then on, the sum of the segments' bytes
// must equal the reserved bytes that the allocator reports. If it does not, the device's rows are removed, with a
// diagnostic.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "collector/recorder/assemble/stream_numbers.h"
#include "collector/recorder/decode/dictionary.h"
#include "collector/recorder/keep/device.h"
#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/sql/segment_history.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class SegmentBook {
 public:
  SegmentBook(Journal& journal, Dictionary& dictionary, StreamNumbers& streams)
      : journal_(journal), dictionary_(dictionary), streams_(streams) {}

  Status resume();
  /// The program ran before the recording began: listed segments exist since before it.
  void began_late(std::int64_t ns) { before_ns_ = ns; }

  Status segment(const wire::SegmentRecord& record);
  Status allocator(const wire::AllocatorRecord& record);
  /// Call it after the segment whose bytes the record includes.
  Status reserved(const wire::ReservedRecord& record);
  /// Writes the changed rows.
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
  Dictionary& dictionary_;
  StreamNumbers& streams_;
  std::map<std::int64_t, OfDevice> devices_;  ///< by gpu
  RowId next_id_ = 1;
  Point first_;  ///< first time at which an allocator had memory
  bool is_listed_ = false;
  std::int64_t before_ns_ = 0;  ///< 0: the recording began together with the program
};

}  // namespace dcmt::recorder

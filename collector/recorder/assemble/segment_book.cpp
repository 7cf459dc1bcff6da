#include "collector/recorder/assemble/segment_book.h"

#include <limits>
#include <string>

#include "trace/sql/row_io.h"

namespace dcmt::recorder {
namespace {

/// Limit of rows for one device. A program that reserves and frees memory all the time must not fill the disk.
constexpr std::size_t kMostSegments = 100'000;

}  // namespace

Status SegmentBook::resume() {
  Database& database = journal_.writer.database();
  DCMT_RETURN_IF_ERROR(each_row(database, "SELECT max(id) FROM segment",
                                [this](const Statement& row) { next_id_ = row.integer(0) + 1; }));
  return each_row_of<SegmentRow>(database, "WHERE to_seq IS NULL",
                                 [this](const SegmentRow& segment) { devices_[segment.gpu].history.resume(segment); });
}

Status SegmentBook::segment(const wire::SegmentRecord& record) {
  if (record.event == wire::SegmentEvent::kListEnds) {
    is_listed_ = true;
    return {};
  }
  const std::optional<Device> place = Device::from_wire(record.header.aux);
  const bool is_event = record.event <= wire::SegmentEvent::kListEnds;
  const bool is_address = record.address <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool is_size = record.bytes != 0 && record.bytes <= kMostDeviceBytes;
  if (!place || !place->gpu() || !is_event || !is_address || !is_size) return journal_.bad_record("a segment");
  OfDevice& device = devices_[*place->gpu()];
  if (device.is_given_up) return {};
  SegmentRow row;
  row.gpu = *place->gpu();
  row.address = static_cast<std::int64_t>(record.address);
  row.bytes = static_cast<std::int64_t>(record.bytes);
  DCMT_ASSIGN_OR_RETURN(row.stream, streams_.of(record.stream));
  row.expandable = record.expandable == 1;
  row.pool = record.pool;
  if (record.event == wire::SegmentEvent::kBegins) device.history.begins(row, journal_.now);
  if (record.event == wire::SegmentEvent::kEnds) device.history.ends(row, journal_.now);
  if (record.event == wire::SegmentEvent::kListed) device.history.is_there(row);
  return device.history.rows().size() > kMostSegments ? give_up(row.gpu, device, "there are too many") : Status{};
}

Status SegmentBook::allocator(const wire::AllocatorRecord& record) {
  const std::optional<Device> place = Device::from_wire(record.header.aux);
  if (!place || !place->gpu() || record.limit > kMostDeviceBytes) return journal_.bad_record("an allocator's settings");
  AllocatorRow row;
  row.id = journal_.now.seq;
  row.gpu = *place->gpu();
  row.at = journal_.now;
  DCMT_ASSIGN_OR_RETURN(row.settings, dictionary_.string(record.settings));
  if (record.limit != 0) row.limit = static_cast<std::int64_t>(record.limit);
  return journal_.writer.write(row);
}

Status SegmentBook::reserved(const wire::ReservedRecord& record) {
  const std::optional<Device> place = Device::from_wire(record.header.aux);
  if (!place || !place->gpu()) return {};  // another function reports it as invalid
  OfDevice& device = devices_[*place->gpu()];
  if (!first_.set()) first_ = journal_.now;
  if (!is_listed_ || device.is_given_up || static_cast<std::uint64_t>(device.history.bytes()) == record.reserved)
    return {};
  return give_up(*place->gpu(), device,
                 "their bytes are not what the allocator has reserved, as where records are lost");
}

Status SegmentBook::give_up(std::int64_t gpu, OfDevice& device, std::string_view why) {
  device.is_given_up = true;
  device.history = {};
  const std::string number = std::to_string(gpu);
  DCMT_RETURN_IF_ERROR(journal_.writer.database().execute("DELETE FROM segment WHERE gpu = " + number));
  return journal_.diagnose("note", "the segments of cuda:" + number + " are left out: " + std::string(why));
}

Status SegmentBook::commit() {
  Status status;
  // Segments that existed when the allocators were listed. If the recording began with the program, they began when the
  // first allocator had memory.
  const Point begin = before_ns_ != 0 ? Point{0, before_ns_} : first_;
  for (auto& [gpu, device] : devices_) {
    device.history.each_changed([&](SegmentRow& row) {
      if (!status.ok()) return;
      if (row.id == 0) row.id = next_id_++;
      if (!row.span.from.set()) row.span.from = begin;
      status = journal_.writer.write(row);
    });
  }
  return status;
}

Status SegmentBook::finish() {
  DCMT_RETURN_IF_ERROR(commit());
  return is_listed_ ? Status{} : journal_.writer.database().execute("DELETE FROM segment");
}

}  // namespace dcmt::recorder

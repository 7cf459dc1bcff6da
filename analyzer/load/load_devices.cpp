// Facts from allocators of devices: peaks, waits for streams, requests that they could not satisfy.
#include <algorithm>
#include <optional>
#include <string_view>

#include "analyzer/load/table_reader.h"
#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

Status TraceData::load_device_peaks(Database& database) {
  DCMT_ASSIGN_OR_RETURN(const bool known, has<&IntervalCurveRow::reserved_peak>(database));
  if (!known) return {};
  struct Peaks {
    StringId device;
    std::optional<Bytes> active, reserved;
  };
  DCMT_RETURN_IF_ERROR(read_rows<Peaks>(
      database, "WHERE reserved_peak_bytes IS NOT NULL",
      [this](const Peaks& row) {
        auto peaks = std::ranges::find(device_peaks, row.device, &DevicePeaks::device);
        if (peaks == device_peaks.end()) peaks = device_peaks.insert(peaks, DevicePeaks{row.device, {}, {}});
        peaks->active = std::max(peaks->active, row.active);
        peaks->reserved = std::max(peaks->reserved, row.reserved);
      },
      column<&IntervalCurveRow::device>(
          [this](Peaks& row, std::string_view text) { row.device = intern(printable(text)); }),
      column<&IntervalCurveRow::active_peak, &Peaks::active>(),
      column<&IntervalCurveRow::reserved_peak, &Peaks::reserved>()));
  std::ranges::sort(device_peaks, {}, [this](const DevicePeaks& peaks) { return text(peaks.device); });
  struct Row {
    IntervalReserved interval;
    std::optional<Bytes> end;
  };
  return read_rows<Row>(
      database, "JOIN interval ON id = interval WHERE reserved_peak_bytes IS NOT NULL ORDER BY from_seq",
      [this](Row& row) {
        row.interval.end = row.end.value_or(row.interval.peak);
        reserved.push_back(row.interval);
      },
      column<&IntervalCurveRow::device>(
          [this](Row& row, std::string_view text) { row.interval.device = intern(printable(text)); }),
      column<&IntervalRow::span>([](Row& row, const Span& span) { row.interval.span = span; }),
      column<&IntervalCurveRow::reserved_peak>([](Row& row, Bytes peak) { row.interval.peak = peak; }),
      column<&IntervalCurveRow::reserved_end, &Row::end>());
}

Status TraceData::load_stream_waits(Database& database) {
  DCMT_ASSIGN_OR_RETURN(const bool known, has<&BlockRow::done>(database));
  if (!known) return {};
  struct Row {
    BlockId id;
    Span life;
    PointInTime length;
  };
  return read_rows<Row>(
      database, "WHERE wait_seq_length IS NOT NULL ORDER BY id",
      [this](const Row& row) {
        if (!row.life.ended()) return;
        StreamWait wait{row.id, {}, {}};
        if (row.length.seq.valid()) {
          wait.done = Sequence(row.life.to_seq.value + row.length.seq.value);
          wait.done_ns = TimeNs(row.life.to_ns.value + row.length.ns.value);
        }
        stream_waits.push_back(wait);
      },
      column<&BlockRow::id, &Row::id>(), column<&BlockRow::span, &Row::life>(),
      column<&BlockRow::done, &Row::length>());
}

Status TraceData::load_out_of_memory(Database& database, const std::vector<StringId>& gpus) {
  return read_rows<OutOfMemory>(
      database, "ORDER BY id", [this](const OutOfMemory& oom) { out_of_memory.push_back(oom); },
      column<&OutOfMemoryRow::id, &OutOfMemory::seq>(),
      column<&OutOfMemoryRow::gpu>([&](OutOfMemory& oom, std::optional<std::int64_t> gpu) {
        oom.device = gpu ? gpus[static_cast<std::size_t>(*gpu)] : intern("cpu");
      }),
      // A program can ask for any number of bytes.
      column<&OutOfMemoryRow::requested>([](OutOfMemory& oom, Uncounted bytes) { oom.requested = Bytes(bytes.value); }),
      column<&OutOfMemoryRow::allocated, &OutOfMemory::allocated>(),
      column<&OutOfMemoryRow::reserved, &OutOfMemory::reserved>(), column<&OutOfMemoryRow::free, &OutOfMemory::free>(),
      column<&OutOfMemoryRow::total, &OutOfMemory::total>(), column<&OutOfMemoryRow::where, &OutOfMemory::by>(),
      column<&OutOfMemoryRow::ns, &OutOfMemory::ns>());
}

}  // namespace dcmt::analyzer

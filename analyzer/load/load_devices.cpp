// Facts from allocators of devices: peaks, waits for streams, requests that they could not satisfy.
#include "analyzer/load/row_cursor.h"
#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

Status TraceData::load_device_peaks(Database& database) {
  Expected<bool> known = has_column(database, "interval_curve", "reserved_peak_bytes");  // not schema 1
  if (!known.ok()) return known.error();
  if (!*known) return {};
  DCMT_RETURN_IF_ERROR(read_rows(database,
                                 "SELECT device, max(active_peak_bytes), max(reserved_peak_bytes) FROM interval_curve"
                                 " WHERE reserved_peak_bytes IS NOT NULL GROUP BY device",
                                 [&](Cursor& in) {
                                   DevicePeaks peaks;
                                   peaks.device = intern(printable(in.text()));
                                   peaks.active = in.optional_bytes();
                                   peaks.reserved = in.optional_bytes();
                                   device_peaks.push_back(peaks);
                                 }));
  return read_rows(
      database,
      "SELECT from_seq, to_seq, from_ns, to_ns, device, reserved_peak_bytes,"
      " coalesce(reserved_end_bytes, reserved_peak_bytes) FROM interval_curve JOIN interval ON id = interval"
      " WHERE reserved_peak_bytes IS NOT NULL ORDER BY from_seq",
      [&](Cursor& in) {
        IntervalReserved row;
        row.span = in.span();
        row.device = intern(printable(in.text()));
        row.peak = in.bytes();
        row.end = in.bytes();
        reserved.push_back(row);
      });
}

Status TraceData::load_stream_waits(Database& database) {
  Expected<bool> known = has_column(database, "block", "wait_seq_length");  // from schema 3
  if (!known.ok()) return known.error();
  if (!*known) return {};
  return read_rows(database,
                   "SELECT id, late, seq_length, from_ns, ns_length, wait_seq_length, wait_ns_length FROM block"
                   " WHERE wait_seq_length IS NOT NULL ORDER BY id",
                   [&](Cursor& in) {
                     StreamWait wait;
                     wait.block = in.id<BlockId>();
                     const Span life = in.lifetime(wait.block.value);
                     const auto sequences = in.id<Sequence>();
                     const auto ns = in.id<TimeNs>();
                     if (!life.ended()) return;
                     if (sequences.valid()) {
                       wait.done = Sequence(life.to_seq.value + sequences.value);
                       wait.done_ns = TimeNs(life.to_ns.value + ns.value);
                     }
                     stream_waits.push_back(wait);
                   });
}

Status TraceData::load_out_of_memory(Database& database, const std::vector<StringId>& gpus) {
  Expected<bool> known = has_table(database, "oom");  // not schema 1
  if (!known.ok()) return known.error();
  if (!*known) return {};
  return read_rows(
      database,
      "SELECT id, gpu, requested, allocated, reserved, free, total, thread, operator, stack, ns FROM oom ORDER BY id",
      [&](Cursor& in) {
        OutOfMemory oom;
        oom.seq = in.id<Sequence>();
        const std::optional<std::int64_t> gpu = in.gpu();
        oom.device = gpu ? gpus[static_cast<std::size_t>(*gpu)] : intern("cpu");
        // A program can ask for any number of bytes.
        oom.requested = Bytes(in.meta_integer());
        oom.allocated = in.optional_bytes();
        oom.reserved = in.optional_bytes();
        oom.free = in.optional_bytes();
        oom.total = in.optional_bytes();
        oom.by = in.actor();
        oom.ns = in.id<TimeNs>();
        out_of_memory.push_back(oom);
      });
}

}  // namespace dcmt::analyzer

#include "convert/perfetto/perfetto.h"

#include <array>
#include <charconv>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/devices/gpu_work.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/time/curve.h"
#include "convert/events/block_events.h"
#include "convert/events/block_facts.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::convert {
namespace {

using analyzer::Block;
using analyzer::TraceData;

// Rows of the display: Perfetto shows one row per thread.
constexpr int kSteps = 1, kPhases = 2, kFirstLane = 10;

/// Texts of a trace are printable, so JSON needs only quotes and backslashes escaped.
std::string quoted(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    json += c;
  }
  return json + "\"";
}

class Writer {
 public:
  Writer(const TraceData& data, std::ostream& out, const analyzer::Watch& watch)
      : data_(data), out_(out), watch_(watch), facts_(data), start_(data.meta_integer(meta::kStartNs).value_or(0)) {
    if (!data.blocks.empty()) start_ = std::min(start_, data.blocks.begin()->span.from_ns.value);
  }

  Status write(Database& database) {
    out_ << R"({"displayTimeUnit":"ns","traceEvents":[)"
         << "\n";
    name("process_name", 0, "dc-memtrace " + data_.meta_text(meta::kCommand));
    name("thread_name", kSteps, "steps");
    name("thread_name", kPhases, "phases");
    write_marks();
    DCMT_RETURN_IF_ERROR(write_counters(database));
    DCMT_RETURN_IF_ERROR(write_gpu_work(database));
    DCMT_RETURN_IF_ERROR(for_each_block_event(data_, watch_, [&](const BlockEvent& event) {
      write_block(event);
      return Status();
    }));
    out_ << "\n]}\n";
    return {};
  }

 private:
  std::ostream& begin(std::string_view phase) {
    if (!first_) out_ << ",\n";
    first_ = false;
    return out_ << R"({"ph":")" << phase << R"(","pid":1)";
  }
  void name(std::string_view what, int thread, const std::string& text) {
    begin("M") << R"(,"tid":)" << thread << R"(,"name":")" << what << R"(","args":{"name":)" << quoted(text) << "}}";
  }
  /// Microseconds with three decimals; a double would lose them.
  [[nodiscard]] static std::string us(std::int64_t ns) {
    const std::int64_t rest = ns < 0 ? 0 : ns % 1000;
    std::string decimals = std::to_string(1000 + rest);
    decimals[0] = '.';
    return std::to_string(ns < 0 ? 0 : ns / 1000) + decimals;
  }
  [[nodiscard]] std::string at(TimeNs ns) const { return us(ns.value - start_); }

  std::ostream& begin_slice(int thread, const std::string& text, TimeNs from, TimeNs to) {
    return begin("X") << R"(,"tid":)" << thread << R"(,"ts":)" << at(from) << R"(,"dur":)" << us(to.value - from.value)
                      << R"(,"name":)" << quoted(text);
  }
  void slice(int thread, const std::string& text, TimeNs from, TimeNs to) {
    begin_slice(thread, text, from, to) << "}";
  }
  void write_marks() {
    for (const analyzer::Step& step : facts_.steps()) {
      const TimeNs from = step.from.valid() ? step.from_ns : TimeNs(start_);
      const TimeNs to = step.to.valid() ? step.to_ns : analyzer::last_ns(data_);
      slice(kSteps, "step " + std::to_string(step.number), from, to);
    }
    for (const analyzer::Mark& mark : data_.marks) {
      if (mark.kind != analyzer::MarkKind::kPhase || !mark.span.ended()) continue;
      slice(kPhases, std::string(data_.text(mark.name)), mark.span.from_ns, mark.span.to_ns);
    }
  }

  void counter(std::string_view device, std::string_view what, TimeNs ns, std::int64_t bytes) {
    begin("C") << R"(,"ts":)" << at(ns) << R"(,"name":)" << quoted(std::string(device) + " " + std::string(what))
               << R"(,"args":{"bytes":)" << bytes << "}}";
  }
  Status write_counters(Database& database) {
    for (const StringId device : analyzer::devices_of(data_)) {
      DCMT_RETURN_IF_ERROR(watch_.check());
      EventTimes times(data_);
      analyzer::for_each_point(data_, device, {}, [&](const analyzer::CurvePoint& point) {
        counter(data_.text(device), "allocated", times.at(point.seq), point.bytes.value);
      });
    }
    // For reserved bytes, a trace has the value at the end of each interval. Traces of schema 1 have none.
    if (data_.device_peaks.empty()) return {};
    return each_row(database,
                    "SELECT device, to_ns, reserved_end_bytes FROM interval_curve JOIN interval ON id = interval"
                    " WHERE reserved_end_bytes IS NOT NULL ORDER BY to_ns",
                    [&](const Statement& row) {
                      for (const analyzer::DevicePeaks& peaks : data_.device_peaks) {
                        if (data_.text(peaks.device) != row.text(0)) continue;
                        counter(data_.text(peaks.device), "reserved", TimeNs(row.integer(1)), row.integer(2));
                      }
                    });
  }

  /// The row of the stream's lane that is free. Kernels of a CUDA graph overlap, which slices of a row must not.
  int lane_for(const analyzer::GpuWork& work) {
    std::vector<Lane>& lanes = lanes_[{work.gpu, work.stream.value_or(analyzer::kNoStream)}];
    for (Lane& lane : lanes) {
      if (lane.free_from > work.from) continue;
      lane.free_from = work.to;
      return lane.row;
    }
    lanes.push_back({next_lane_++, work.to});
    const std::string stream = !work.stream ? "unknown stream" : "stream " + std::to_string(*work.stream);
    const std::string further = lanes.size() > 1 ? " (" + std::to_string(lanes.size()) + ")" : "";
    name("thread_name", lanes.back().row, "cuda:" + std::to_string(work.gpu) + " " + stream + further);
    return lanes.back().row;
  }
  Status write_gpu_work(Database& database) {
    return analyzer::each_gpu_work(database, [&](const analyzer::GpuWork& work) -> Status {
      DCMT_RETURN_IF_ERROR(watch_.check());
      begin_slice(lane_for(work), analyzer::name_of(data_, work), work.from, work.to)
          << R"(,"args":{"bytes":)" << work.bytes.value << R"(,"graph":)" << (work.graph ? "true" : "false")
          << R"(,"given by":)" << quoted(analyzer::describe_site(data_, work.by.stack)) << "}}";
      return Status();
    });
  }

  void write_block(const BlockEvent& event) {
    if (event.kind == BlockEventKind::kDone) return;
    const Block& block = *event.block;
    const bool birth = event.kind == BlockEventKind::kBirth;
    std::string site = facts_.site(block);
    begin(birth ? "b" : "e") << R"(,"cat":)" << quoted(data_.text(block.device)) << R"(,"id":)" << block.id.value
                             << R"(,"ts":)" << at(event.ns) << R"(,"name":)" << quoted(site);
    if (birth) {
      out_ << R"(,"args":{"bytes":)" << block.bytes.value << R"(,"storage":)" << block.storage.value
           << R"(,"operator":)" << quoted(facts_.operator_name(block)) << R"(,"holder":)"
           << quoted(facts_.holder(block)) << "}";
    }
    out_ << "}";
  }

  const TraceData& data_;
  std::ostream& out_;
  const analyzer::Watch& watch_;
  BlockFacts facts_;
  std::int64_t start_;
  bool first_ = true;

  struct Lane {
    int row = 0;
    TimeNs free_from;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Lane>> lanes_;  ///< by GPU and stream
  int next_lane_ = kFirstLane;
};

}  // namespace

Status write_perfetto(const TraceData& data, Database& database, std::ostream& out, const analyzer::Watch& watch) {
  return Writer(data, out, watch).write(database);
}

}  // namespace dcmt::convert

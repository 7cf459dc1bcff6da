#include "convert/tables/csv.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>

#include "analyzer/time/curve.h"
#include "convert/events/block_events.h"
#include "convert/events/block_facts.h"

namespace dcmt::convert {
namespace {

using analyzer::Block;
using analyzer::TraceData;

constexpr std::size_t kRowsBetweenChecks = 1 << 14;  // between checks of the watch

/// Builds one line, field by field.
class Line {
 public:
  explicit Line(std::ostream& out) : out_(out) {}

  Line& add(std::string_view text) {
    separate();
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
      out_ << text;
      return *this;
    }
    out_ << '"';
    for (const char c : text) out_ << (c == '"' ? "\"\"" : std::string_view(&c, 1));
    out_ << '"';
    return *this;
  }
  Line& add(std::int64_t number) {
    separate();
    out_ << number;
    return *this;
  }
  /// An empty field for 0, for numbers that begin at 1 and for missing values.
  Line& add_known(std::int64_t number) { return number != 0 ? add(number) : add(""); }
  void end() { out_ << "\r\n"; }

 private:
  void separate() {
    if (!first_) out_ << ',';
    first_ = false;
  }
  std::ostream& out_;
  bool first_ = true;
};

}  // namespace

Status write_lifetimes_csv(const TraceData& data, std::ostream& out, const analyzer::Watch& watch) {
  const BlockFacts facts(data);
  out << "block,device,bytes,from_seq,from_ns,to_seq,to_ns,done_seq,done_ns,stream,storage,step,phase,operator,site,"
         "holder\r\n";
  auto wait = data.stream_waits.begin();
  std::size_t rows = 0;
  for (const Block& block : data.blocks) {
    if (rows++ % kRowsBetweenChecks == 0) {
      DCMT_RETURN_IF_ERROR(watch.check());
      watch.done(static_cast<double>(rows) / static_cast<double>(data.blocks.size() + 1));
    }
    while (wait != data.stream_waits.end() && wait->block < block.id) ++wait;
    const bool waits = wait != data.stream_waits.end() && wait->block == block.id;
    Line line(out);
    line.add(block.id.value).add(data.text(block.device)).add(block.bytes.value);
    line.add(block.span.from_seq.value).add(block.span.from_ns.value);
    line.add_known(block.span.to_seq.value).add_known(block.span.ended() ? block.span.to_ns.value : 0);
    line.add_known(waits ? wait->done.value : 0).add_known(waits ? wait->done_ns.value : 0);
    if (block.stream == analyzer::kNoStream) {
      line.add("");
    } else {
      line.add(std::int64_t{block.stream});
    }
    line.add_known(block.storage.value);
    if (const auto step = facts.step(block)) {
      line.add(*step);
    } else {
      line.add("");
    }
    line.add(facts.phase(block)).add(facts.operator_name(block)).add(facts.site(block)).add(facts.holder(block)).end();
  }
  return {};
}

Status write_curve_csv(const TraceData& data, std::ostream& out, const analyzer::Watch& watch) {
  out << "device,seq,ns,allocated_bytes\r\n";
  for (const StringId device : analyzer::devices_of(data)) {
    DCMT_RETURN_IF_ERROR(watch.check());
    EventTimes times(data);
    analyzer::for_each_point(data, device, {}, [&](const analyzer::CurvePoint& point) {
      Line line(out);
      line.add(data.text(device)).add(point.seq.value).add(times.at(point.seq).value).add(point.bytes.value).end();
    });
  }
  return {};
}

}  // namespace dcmt::convert

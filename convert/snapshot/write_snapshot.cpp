#include "convert/snapshot/write_snapshot.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/storages/stacks.h"
#include "analyzer/time/curve.h"
#include "convert/events/block_events.h"
#include "convert/events/block_facts.h"
#include "convert/pickle/writer.h"
#include "trace/sql/limits.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::convert {
namespace {

using analyzer::Block;
using analyzer::TraceData;

constexpr std::int64_t kRounding = 512;  // of torch's CUDA allocator
constexpr std::int64_t kFirstAddress = std::int64_t{1} << 40;
constexpr std::int64_t kLastAddress = std::int64_t{1} << 52;  // numbers of JavaScript are exact up to here

class SnapshotWriter {
 public:
  SnapshotWriter(const TraceData& data, std::ostream& out, const analyzer::Watch& watch)
      : data_(data), out_(out), watch_(watch), facts_(data) {
    start_ns_ = data.meta_integer(meta::kStartNs).value_or(0);
    start_real_ns_ = data.meta_integer(meta::kStartRealNs).value_or(0);
    std::int64_t next = kFirstAddress;
    for (const Block& block : data.blocks) {
      // Like an allocator that reuses addresses only if it must.
      if (next + rounded(block) > kLastAddress) next = kFirstAddress;
      addresses_.push_back(next);
      next += rounded(block) + kRounding;
      devices_[number_of(block.device)] = block.device;
    }
  }

  Status write() {
    out_.begin_dict();
    out_.key("device_traces");
    out_.begin_list();
    const std::size_t last = devices_.empty() ? 0 : devices_.rbegin()->first + 1;
    for (std::size_t device = 0; device < last; ++device) {
      out_.begin_list();
      const double whole = static_cast<double>(last);
      if (devices_.contains(device)) {
        const analyzer::Watch part =
            watch_.part(static_cast<double>(device) / whole, static_cast<double>(device + 1) / whole);
        DCMT_RETURN_IF_ERROR(write_history(devices_[device], part));
      }
      out_.append();
    }
    out_.key("segments");
    write_segments();
    out_.key("allocator_settings");
    out_.begin_dict();
    out_.end_dict();
    out_.key("external_annotations");
    write_annotations();
    out_.end_dict();
    out_.end();
    return {};
  }

 private:
  static std::int64_t rounded(const Block& block) {
    return std::max<std::int64_t>(kRounding, (block.bytes.value + kRounding - 1) / kRounding * kRounding);
  }
  /// A GPU keeps its own number; the CPU comes after all GPUs.
  [[nodiscard]] std::size_t number_of(StringId device) {
    const auto [known, fresh] = numbers_.try_emplace(device, 0);
    if (!fresh) return known->second;
    const std::string_view name = data_.text(device);
    std::size_t number = 0;
    if (analyzer::is_gpu(name)) {
      const std::size_t at = name.find(':') + 1;
      std::from_chars(name.data() + at, name.data() + name.size(), number);
    } else {
      for (const Block& block : data_.blocks) {
        if (block.device != device) number = std::max(number, number_of(block.device) + 1);
      }
    }
    return numbers_[device] = number;
  }
  [[nodiscard]] std::int64_t address(const Block& block) {
    // The rows of a column are not contiguous, so their numbers are counted once.
    if (rows_.empty()) {
      rows_.reserve(data_.blocks.size());
      for (const Block& each : data_.blocks) rows_.push_back(each.id);
    }
    return addresses_[static_cast<std::size_t>(std::ranges::lower_bound(rows_, block.id) - rows_.begin())];
  }
  [[nodiscard]] std::int64_t us(TimeNs ns) const { return (ns.value - start_ns_ + start_real_ns_) / 1000; }

  void frame(std::string_view file, std::string_view function, std::int64_t line) {
    out_.begin_dict();
    out_.key("name");
    out_.text(function);
    out_.key("filename");
    out_.text(file);
    out_.key("line");
    out_.integer(line);
    out_.end_dict();
  }
  /// A stack with the holder of the storages made there. Each pair is written once.
  void frames(const Block& block) {
    std::string holder = facts_.holder(block);
    const auto [known, fresh] = stacks_.try_emplace({block.birth.stack, holder}, 0);
    if (!fresh) return out_.refer(known->second);
    out_.begin_list();
    if (!holder.empty()) {
      frame("dc-memtrace", "held by " + holder, 0);
      out_.append();
    }
    for (const analyzer::FrameText& each : analyzer::frames_of(data_, block.birth.stack)) {
      frame(each.file, each.function, each.line);
      out_.append();
    }
    if (!block.birth.stack.valid() && block.owner.valid()) {
      frame("dc-memtrace", data_.text(block.owner), 0);
      out_.append();
    }
    known->second = out_.remember();
  }

  void entry(std::string_view action, const Block& block, TimeNs ns, std::int64_t size) {
    out_.begin_dict();
    out_.key("action");
    out_.text(action);
    out_.key("addr");
    out_.integer(address(block));
    out_.key("size");
    out_.integer(size);
    out_.key("stream");
    out_.integer(std::max(0, block.stream));
    out_.key("time_us");
    out_.integer(us(ns));
    out_.key("compile_context");
    out_.text("N/A");
    out_.key("user_metadata");
    out_.text(facts_.operator_name(block));
    out_.key("frames");
    frames(block);
    out_.end_dict();
    out_.append();
  }

  Status write_history(StringId device, const analyzer::Watch& watch) {
    return for_each_block_event(data_, watch, [&](const BlockEvent& event) {
      const Block& block = *event.block;
      if (block.device != device) return Status();
      if (event.kind == BlockEventKind::kBirth) {
        entry("segment_alloc", block, event.ns, rounded(block));
        entry("alloc", block, event.ns, block.bytes.value);
        return Status();
      }
      if (event.kind == BlockEventKind::kFree) entry("free_requested", block, event.ns, block.bytes.value);
      if (event.kind == BlockEventKind::kDone || !event.waits) {
        entry("free_completed", block, event.ns, block.bytes.value);
        entry("segment_free", block, event.ns, rounded(block));
      }
      return Status();
    });
  }

  void write_segments() {
    out_.begin_list();
    for (const Block& block : data_.blocks) {
      const bool waits = block.span.ended() && waits_to_the_end(block);
      if (block.span.ended() && !waits) continue;
      const std::int64_t active = waits ? 0 : rounded(block);
      out_.begin_dict();
      for (const auto& [key, number] : {std::pair("device", static_cast<std::int64_t>(number_of(block.device))),
                                        {"address", address(block)},
                                        {"total_size", rounded(block)},
                                        {"allocated_size", active},
                                        {"active_size", rounded(block)},
                                        {"requested_size", waits ? 0 : block.bytes.value},
                                        {"stream", std::max<std::int64_t>(0, block.stream)}}) {
        out_.key(key);
        out_.integer(number);
      }
      out_.key("segment_type");
      out_.text(rounded(block) > (1 << 20) ? "large" : "small");
      out_.key("segment_pool_id");
      out_.pair(0, 0);
      out_.key("is_expandable");
      out_.boolean(false);
      out_.key("frames");
      frames(block);
      out_.key("blocks");
      out_.begin_list();
      out_.begin_dict();
      for (const auto& [key, number] :
           {std::pair("address", address(block)), {"size", rounded(block)}, {"requested_size", block.bytes.value}}) {
        out_.key(key);
        out_.integer(number);
      }
      out_.key("state");
      out_.text(waits ? "active_pending_free" : "active_allocated");
      out_.key("frames");
      frames(block);
      out_.end_dict();
      out_.append();
      out_.end_dict();
      out_.append();
    }
  }
  [[nodiscard]] bool waits_to_the_end(const Block& block) const {
    const auto wait = std::ranges::lower_bound(data_.stream_waits, block.id, {}, &analyzer::StreamWait::block);
    return wait != data_.stream_waits.end() && wait->block == block.id && !wait->done.valid();
  }

  void annotation(std::string_view stage, const std::string& name, TimeNs ns) {
    out_.begin_dict();
    out_.key("stage");
    out_.text(stage);
    out_.key("name");
    out_.text(name);
    out_.key("device");
    out_.integer(0);
    out_.key("time_us");
    out_.integer(us(ns));
    out_.end_dict();
    out_.append();
  }
  void write_annotations() {
    struct Boundary {
      TimeNs ns;
      std::string_view stage;
      std::string name;
    };
    std::vector<Boundary> all;
    for (const analyzer::Step& step : facts_.steps()) {
      if (!step.to.valid()) continue;
      const std::string name = "ProfilerStep#" + std::to_string(step.number);
      all.push_back({step.from.valid() ? step.from_ns : TimeNs(start_ns_), "START", name});
      all.push_back({step.to_ns, "END", name});
    }
    for (const analyzer::Mark& mark : data_.marks) {
      if (mark.kind != analyzer::MarkKind::kPhase || !mark.span.ended()) continue;
      const std::string name(data_.text(mark.name));
      all.push_back({mark.span.from_ns, "START", name});
      all.push_back({mark.span.to_ns, "END", name});
    }
    std::ranges::stable_sort(all, {}, &Boundary::ns);
    out_.begin_list();
    for (const Boundary& each : all) annotation(each.stage, each.name, each.ns);
  }

  const TraceData& data_;
  PickleWriter out_;
  const analyzer::Watch& watch_;
  BlockFacts facts_;
  std::int64_t start_ns_ = 0, start_real_ns_ = 0;
  std::map<StringId, std::size_t> numbers_;
  std::map<std::size_t, StringId> devices_;  ///< by their numbers
  std::vector<std::int64_t> addresses_;      ///< of the blocks, in order
  std::vector<BlockId> rows_;
  std::map<std::pair<StackId, std::string>, std::uint32_t> stacks_;
};

}  // namespace

Status write_snapshot(const TraceData& data, std::ostream& out, const analyzer::Watch& watch) {
  return SnapshotWriter(data, out, watch).write();
}

}  // namespace dcmt::convert

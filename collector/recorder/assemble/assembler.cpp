#include "collector/recorder/assemble/assembler.h"

#include <algorithm>
#include <cstring>

#include "collector/recorder/assemble/past_rows.h"
#include "collector/recorder/assemble/record_table.h"
#include "collector/recorder/decode/record_view.h"

namespace dcmt::recorder {
namespace {

/// A damaged counter must not move the clock too far: no recording is silent for this long.
constexpr std::int64_t kMaxJumpNs = std::int64_t{30} * 24 * 3600 * 1'000'000'000;

}  // namespace

Expected<std::unique_ptr<Assembler>> Assembler::start(TraceWriter& writer, const ClockOrigin& origin,
                                                      RetentionOptions retention) {
  DCMT_ASSIGN_OR_RETURN(PrivateState state, PrivateState::create(writer.database()));
  std::unique_ptr<Assembler> assembler(new Assembler(writer, std::move(state), origin, std::move(retention)));
  DCMT_RETURN_IF_ERROR(assembler->books_.start());
  return assembler;
}

Expected<std::unique_ptr<Assembler>> Assembler::resume(TraceWriter& writer, const ClockOrigin& origin) {
  DCMT_ASSIGN_OR_RETURN(PrivateState state, PrivateState::create(writer.database()));
  std::unique_ptr<Assembler> assembler(new Assembler(writer, std::move(state), origin, {}));
  DCMT_RETURN_IF_ERROR(assembler->books_.resume());
  return assembler;
}

Status Assembler::apply(const wire::RecordHeader& record, std::uint32_t thread) {
  Journal& journal = books_.journal;
  const std::string_view bytes = record_bytes(record);
  if (bytes.size() < sizeof(wire::RecordHeader)) return journal.bad_record("a record without a length");
  wire::RecordHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.seq == 0 || header.seq > wire::kMaxSequence) return journal.bad_record("a record's sequence");
  if (header.type == wire::RecordType::kBlockAllocInNode && bytes.size() >= sizeof(wire::BlockInNodeRecord)) {
    return apply_block_in_node(bytes, thread);
  }
  const auto seq = static_cast<std::int64_t>(header.seq);
  if (seq <= journal.now.seq) return {};

  // Use a reading first: its own time, and all later times, are on the line through it.
  if (header.type == wire::RecordType::kClock) {
    const auto reading = view_as<wire::ClockRecord>(bytes);
    DCMT_RETURN_IF_ERROR(reading ? books_.clock.read(*reading) : journal.bad_record("a clock reading"));
  }
  const bool is_first = books_.records == 0;  // with or without a past, time and steps begin here
  std::int64_t ns = books_.clock.ns(header.tsc);
  if (!is_first && (ns < journal.now.ns || ns - journal.now.ns > kMaxJumpNs)) ns = journal.now.ns;
  journal.now = {seq, ns};
  journal.thread = thread;
  ++books_.records;
  if (is_first) {
    if (!books_.has_past) journal.rows.start(journal.now);
    books_.phases.first_record();
  }
  ++journal.rows.sums().row.records;
  if (header.type != wire::RecordType::kThread) DCMT_RETURN_IF_ERROR(books_.threads.see());
  DCMT_RETURN_IF_ERROR(hand_over(books_, header.type, bytes));
  books_.readings.steps_ended(books_.phases.steps());
  return journal.rows.check_volume(journal.now);
}

Status Assembler::apply_block_in_node(std::string_view bytes, std::uint32_t thread) {
  using wire::RecordType;
  const auto record = view_as<wire::BlockInNodeRecord>(bytes);
  if (!record) return books_.journal.bad_record("a block's allocation in a node");
  std::uint64_t seq = record->header.seq;
  const auto apply_one = [&](RecordType type, std::uint32_t aux, auto part) {
    part.header = {type, sizeof part / 8, aux, seq++, record->header.tsc};
    return apply(part.header, thread);
  };
  const auto scope = static_cast<std::uint32_t>(wire::OpScope::kBackward);
  DCMT_RETURN_IF_ERROR(apply_one(RecordType::kOpBegin, scope, wire::OpRecord{{}, record->name, record->ordinal}));
  DCMT_RETURN_IF_ERROR(apply_one(RecordType::kBlockAlloc, record->header.aux,
                                 wire::BlockRecord{{}, record->address, record->bytes, record->stack}));
  return apply_one(RecordType::kOpEnd, 0, wire::OpRecord{{}, 0, record->ordinal});
}

Status Assembler::begin_past(const std::vector<PastStorage>& past, const std::vector<PastGpuBlock>& gpu_blocks,
                             std::int64_t smallest, std::int64_t ns, std::int64_t room) {
  books_.journal.now = {0, ns};
  books_.segments.began_late(ns);
  return write_past(books_.journal, books_.lifetimes, past, gpu_blocks, smallest, room, books_.has_past);
}

Status Assembler::past_is_unknown(std::string_view why, std::int64_t ns) {
  books_.segments.began_late(ns);
  return note("the program was attached to; what it had before is not known: " + std::string(why));
}

Status Assembler::note(std::string_view text) { return books_.journal.diagnose("note", text); }

Status Assembler::commit(std::string_view drained) { return books_.commit(drained); }

Status Assembler::finish() { return books_.finish(); }

Totals Assembler::totals() const {
  const Lifetimes& lifetimes = books_.lifetimes;
  return {books_.records,
          books_.losses.count(),
          books_.phases.steps(),
          lifetimes.allocated(),
          lifetimes.peak(),
          lifetimes.reserved_peak(),
          books_.censuses.count(),
          books_.out_of_memory.count(),
          books_.out_of_memory.went_on()};
}

std::vector<BlockPlace> Assembler::cpu_blocks() const {
  std::vector<BlockPlace> blocks;
  books_.lifetimes.each_block([&](const BlockRow& row) {
    if (row.gpu) return;
    blocks.push_back({static_cast<std::uint64_t>(row.address), static_cast<std::uint64_t>(row.bytes)});
  });
  std::ranges::sort(blocks, {}, &BlockPlace::address);
  return blocks;
}

}  // namespace dcmt::recorder

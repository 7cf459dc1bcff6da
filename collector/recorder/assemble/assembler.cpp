#include "collector/recorder/assemble/assembler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "collector/recorder/assemble/census_book.h"
#include "collector/recorder/assemble/growth_watch.h"
#include "collector/recorder/assemble/lifetimes.h"
#include "collector/recorder/assemble/marks.h"
#include "collector/recorder/assemble/module_book.h"
#include "collector/recorder/assemble/operators.h"
#include "collector/recorder/assemble/out_of_memory.h"
#include "collector/recorder/assemble/owner_book.h"
#include "collector/recorder/assemble/phases.h"
#include "collector/recorder/assemble/segment_book.h"
#include "collector/recorder/assemble/step_ends.h"
#include "collector/recorder/assemble/threads.h"
#include "collector/recorder/decode/clock_fit.h"
#include "collector/recorder/decode/dictionary.h"
#include "collector/recorder/decode/record_view.h"
#include "collector/recorder/keep/journal.h"
#include "collector/recorder/keep/private_state.h"
#include "collector/recorder/keep/saturating_sum.h"
#include "trace/base/quantities.h"
#include "trace/sql/limits.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::recorder {
namespace {

constexpr char kBlockInNode[] = "a block's allocation in a node";

/// Private meta key, removed by finish().
constexpr char kDrained[] = "drained";
/// A damaged counter must not move the clock too far: no recording is silent for this long.
constexpr std::int64_t kMaxJumpNs = std::int64_t{30} * 24 * 3600 * 1'000'000'000;
/// Limit of rows: damaged clock readings must not fill the disk.
constexpr std::int64_t kMaxClockChanges = 100;
/// Memory without a holder in any reading that is worth a search: in bytes, and as a share of the allocated bytes.
constexpr std::int64_t kLeastUnfound = 1 << 20;
constexpr double kUnfoundShare = 0.05;

std::string_view loss_text(std::uint32_t reason) {
  switch (static_cast<wire::LossReason>(reason)) {
    case wire::LossReason::kNoRoom:
      return "no_room";
    case wire::LossReason::kInFlight:
      return "in_flight";
  }
  return {};
}

std::string_view diagnostic_text(std::uint32_t code) {
  switch (static_cast<wire::DiagnosticCode>(code)) {
    case wire::DiagnosticCode::kProviderOff:
      return "provider_off";
    case wire::DiagnosticCode::kKeyTableFull:
      return "key_table_full";
    case wire::DiagnosticCode::kNote:
      return "note";
  }
  return {};
}

}  // namespace

class Assembler::Impl {
 public:
  Impl(TraceWriter& writer, PrivateState state, const ClockOrigin& origin, RetentionOptions retention)
      : journal_{writer, std::move(state), RowKeeper(writer, std::move(retention))},
        clock_(origin.tsc_hz, {origin.tsc, origin.monotonic_ns}),
        dictionary_(journal_),
        phases_(journal_),
        operators_(journal_, dictionary_, phases_),
        censuses_(journal_, dictionary_, census_context()),
        owners_(journal_, modules_),
        lifetimes_(journal_, dictionary_, operators_, censuses_, owners_, streams_, growth_, modules_),
        marks_(journal_, dictionary_, lifetimes_, phases_),
        out_of_memory_(journal_, operators_, lifetimes_, marks_, censuses_) {}

  Status start();
  Status resume();
  Status apply(const wire::RecordHeader& record, std::uint32_t thread);
  Status begin_past(const std::vector<PastStorage>& past, const std::vector<PastGpuBlock>& gpu_blocks,
                    std::int64_t smallest, std::int64_t ns, std::int64_t room);
  Status past_is_unknown(std::string_view why, std::int64_t ns) {
    segments_.began_late(ns);
    return journal_.diagnose("note",
                             "the program was attached to; what it had before is not known: " + std::string(why));
  }
  Status note(std::string_view text) { return journal_.diagnose("note", text); }
  Status note_gap(std::uint64_t from, std::uint64_t to, bool damaged);
  Status note_damaged_chunks(std::uint64_t damaged, std::uint64_t all);
  Status note_lost(std::uint64_t counted);
  Status add_own_clock(const ClockTriple& own);
  Status note_forked_children(std::uint32_t count);
  Status commit(std::string_view drained);
  Status finish();

  [[nodiscard]] std::uint64_t last_seq() const { return static_cast<std::uint64_t>(journal_.now.seq); }
  [[nodiscard]] Totals totals() const {
    return {records_,          lost_,
            phases_.steps(),   lifetimes_.allocated(),
            lifetimes_.peak(), lifetimes_.reserved_peak(),
            censuses_.count(), out_of_memory_.count()};
  }
  [[nodiscard]] CpuBytes cpu_bytes() const { return lifetimes_.cpu_bytes(); }
  [[nodiscard]] const Gpus& gpus() const { return gpus_.gpus(); }
  [[nodiscard]] std::vector<BlockPlace> cpu_blocks() const {
    std::vector<BlockPlace> blocks;
    lifetimes_.each_block([&](const BlockRow& row) {
      if (row.gpu) return;
      blocks.push_back({static_cast<std::uint64_t>(row.address), static_cast<std::uint64_t>(row.bytes)});
    });
    std::ranges::sort(blocks, {}, &BlockPlace::address);
    return blocks;
  }
  void begin_cpu_peak() { lifetimes_.begin_cpu_peak(); }
  [[nodiscard]] const std::string& drained() const { return drained_; }
  [[nodiscard]] GrowingBytes growing() const { return growth_.growing(); }
  [[nodiscard]] SmallBlocksThen small_blocks() const { return small_blocks_; }
  void size_is_followed(std::size_t size_class) { lifetimes_.size_is_followed(size_class); }
  [[nodiscard]] std::int64_t smallest_followed() const { return lifetimes_.smallest_followed(); }
  [[nodiscard]] bool keeps_anything() const {
    const auto [from, to] = step_ends_.outlived();
    const std::int64_t latest = step_ends_.latest();
    return growth_.growing().signs > 0 ||
           (latest != 0 && (lifetimes_.lives_since(from, to) || lifetimes_.lives_since(latest, journal_.now.seq)));
  }
  [[nodiscard]] bool wants_cpp_holders(bool has_ended) const {
    const std::int64_t bytes = lifetimes_.bytes_where(
        [&](RowId storage) { return has_ended ? owners_.is_unfound(storage) : owners_.was_missed(storage); });
    return bytes >= kLeastUnfound &&
           static_cast<double>(bytes) >= kUnfoundShare * static_cast<double>(lifetimes_.allocated());
  }
  [[nodiscard]] bool wants_reading() const {
    const auto [from, to] = step_ends_.outlived();
    const std::int64_t until = growth_.growing().goes_on > 0 ? journal_.now.seq : to;
    return lifetimes_.lives_since(std::max(from, owners_.read_until()), until) || owners_.is_unsure_of(from, until);
  }
  [[nodiscard]] std::vector<std::uint64_t> modules() const { return modules_.addresses(); }
  void reading_begins(scan::Scope scope) { owners_.begin(scope, lifetimes_.living_storages()); }
  Status reading_ended(const MemoryReading& reading) { return owners_.end(reading); }
  Status reading_failed(std::string_view why) {
    owners_.cancel(scan::Scope::kAll);
    owners_.cancel(scan::Scope::kVariables);
    return journal_.diagnose("owners_off", why);
  }
  std::vector<OomFacts> drain_out_of_memory() { return out_of_memory_.drain(); }

 private:
  CensusContext census_context();
  Status block_in_node(std::string_view bytes, std::uint32_t thread);
  Status dispatch(std::string_view bytes, const wire::RecordHeader& header);
  /// Calls `handle` with the record's fixed part if it is complete.
  template <class Record, class Handle>
  Status with(std::string_view bytes, const char* what, Handle&& handle) {
    const auto record = view_as<Record>(bytes);
    return record ? handle(*record) : journal_.bad_record(what);
  }
  Status string(std::string_view bytes);
  Status stack(std::string_view bytes);
  Status memory_allocated() { return operators_.running() == 0 ? phases_.memory_allocated() : Status{}; }
  Status clock(const wire::ClockRecord& record);
  Status add_clock_reading(const ClockTriple& reading);
  Status note_clock_change(ClockFit::Outcome outcome);
  /// The bytes of the storage at this address go.
  void bytes_go(std::uint64_t storage);
  Status repoint(const wire::RepointRecord& record);
  Status lost(const wire::LostRecord& record);
  /// @param since  ns: when the first of them was lost; nullopt if unknown
  Status write_loss(std::string_view reason, std::int64_t count, std::optional<std::int64_t> since);
  Status note_left_out();
  Status diagnostic(const wire::DiagnosticRecord& record);
  Status write_open_rows();
  Status save();

  /// Calls `visit(name, value)` for all state that does not follow from rows.
  template <class Visit>
  void visit(Visit&& visit) {
    visit("records", records_);
    visit("past", has_past_);
    visit("records.bad", journal_.bad_records);
    visit("records.lost", lost_);
    clock_.visit(visit);
    visit("clock.real_offset_ns", real_offset_ns_);
    visit("clock.changes", clock_changes_);
    phases_.visit(visit);
    lifetimes_.visit(visit);
    segments_.visit(visit);
    censuses_.visit(visit);
    out_of_memory_.visit(visit);
  }

  Journal journal_;
  ClockFit clock_;
  std::int64_t real_offset_ns_ = 0;  ///< wall clock less monotonic clock, of the latest reading
  std::int64_t clock_changes_ = 0;
  std::optional<bool> own_clock_agrees_;
  Dictionary dictionary_;
  Phases phases_;
  Operators operators_;
  CensusBook censuses_;
  ModuleBook modules_{journal_};
  OwnerBook owners_;
  GrowthWatch growth_;
  StepEnds step_ends_;
  std::int64_t rounds_ = 0;  ///< ended steps that growth_ has processed
  SmallBlocksThen small_blocks_;
  StreamNumbers streams_{journal_};
  SegmentBook segments_{journal_, streams_};
  GpuBook gpus_{journal_};
  Lifetimes lifetimes_;
  Marks marks_;
  OutOfMemory out_of_memory_;
  Threads threads_{journal_};
  std::int64_t records_ = 0;
  bool has_past_ = false;
  std::int64_t lost_ = 0;
  RowId left_out_row_ = 0;  ///< row with the number of omitted lifetimes
  std::string drained_;
};

CensusContext Assembler::Impl::census_context() {
  CensusContext context;
  context.storage = [this](std::uint64_t address) { return lifetimes_.storage(address); };
  context.tensor = [this](std::uint64_t address) { return lifetimes_.tensor(address); };
  context.tensor_birth = [this](std::uint64_t address) { return lifetimes_.tensor_from(address); };
  context.thread = [this](std::uint64_t tid) { return threads_.with_tid(tid); };
  context.latest_release = [this](std::int64_t graph, std::int64_t key) { return marks_.latest_release(graph, key); };
  context.running_operator = [this] { return operators_.running(); };
  return context;
}

Status Assembler::Impl::start() {
  DCMT_RETURN_IF_ERROR(journal_.writer.begin());
  DCMT_RETURN_IF_ERROR(dictionary_.start());
  return phases_.start();
}

Status Assembler::Impl::resume() {
  Database& database = journal_.writer.database();
  DCMT_ASSIGN_OR_RETURN(auto values, journal_.state.values());
  visit([&](const char* name, auto& value) {
    const auto saved = values.find(std::string_view(name));
    if (saved != values.end()) value = static_cast<std::remove_reference_t<decltype(value)>>(saved->second);
  });
  DCMT_RETURN_IF_ERROR(each_row(database, "SELECT key, value FROM meta", [this](const Statement& row) {
    if (row.text(0) == kDrained) drained_ = row.text(1);
    if (row.text(0) == meta::kLastSeq) journal_.now.seq = std::max(journal_.now.seq, row.integer(1));
    if (row.text(0) == meta::kEndNs) journal_.now.ns = std::max(journal_.now.ns, row.integer(1));
  }));
  DCMT_RETURN_IF_ERROR(threads_.resume());
  DCMT_RETURN_IF_ERROR(journal_.load_ids());
  DCMT_RETURN_IF_ERROR(journal_.writer.begin());
  DCMT_RETURN_IF_ERROR(dictionary_.start());
  DCMT_RETURN_IF_ERROR(journal_.rows.resume());
  DCMT_RETURN_IF_ERROR(dictionary_.resume());
  DCMT_RETURN_IF_ERROR(operators_.resume());
  DCMT_RETURN_IF_ERROR(phases_.start());
  phases_.resume();
  DCMT_RETURN_IF_ERROR(streams_.resume());
  DCMT_RETURN_IF_ERROR(segments_.resume());
  DCMT_RETURN_IF_ERROR(modules_.resume());
  DCMT_RETURN_IF_ERROR(lifetimes_.resume());
  DCMT_RETURN_IF_ERROR(marks_.resume());
  return censuses_.resume();
}

Status Assembler::Impl::apply(const wire::RecordHeader& record, std::uint32_t thread) {
  const std::string_view bytes = record_bytes(record);
  if (bytes.size() < sizeof(wire::RecordHeader)) return journal_.bad_record("a record without a length");
  wire::RecordHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.seq == 0 || header.seq > wire::kMaxSequence) return journal_.bad_record("a record's sequence");
  if (header.type == wire::RecordType::kBlockAllocInNode && bytes.size() >= sizeof(wire::BlockInNodeRecord)) {
    return block_in_node(bytes, thread);
  }
  const auto seq = static_cast<std::int64_t>(header.seq);
  if (seq <= journal_.now.seq) return {};

  // Use a reading first: its own time, and all later times, are on the line through it.
  if (header.type == wire::RecordType::kClock) {
    DCMT_RETURN_IF_ERROR(with<wire::ClockRecord>(bytes, "a clock reading", [&](const auto& r) { return clock(r); }));
  }
  const bool is_first = records_ == 0;  // with or without a past, time and steps begin here
  std::int64_t ns = clock_.ns(header.tsc);
  if (!is_first && (ns < journal_.now.ns || ns - journal_.now.ns > kMaxJumpNs)) ns = journal_.now.ns;
  journal_.now = {seq, ns};
  journal_.thread = thread;
  ++records_;
  if (is_first) {
    if (!has_past_) journal_.rows.start(journal_.now);
    phases_.first_record();
  }
  ++journal_.rows.sums().row.records;
  if (header.type != wire::RecordType::kThread) DCMT_RETURN_IF_ERROR(threads_.see());
  DCMT_RETURN_IF_ERROR(dispatch(bytes, header));
  if (phases_.steps() != rounds_) {
    rounds_ = phases_.steps();
    growth_.step_ended();
    small_blocks_ = {rounds_, lifetimes_.small_bytes()};
    step_ends_.ended(seq);
  }
  return journal_.rows.check_volume(journal_.now);
}

Status Assembler::Impl::begin_past(const std::vector<PastStorage>& past, const std::vector<PastGpuBlock>& gpu_blocks,
                                   std::int64_t smallest, std::int64_t ns, std::int64_t room) {
  std::int64_t blocks = 0;
  std::int64_t bytes = 0;
  std::int64_t left_out = 0;
  journal_.now = {0, ns};
  segments_.began_late(ns);
  const auto next = [&] {
    ++journal_.now.seq;
    if (!std::exchange(has_past_, true)) journal_.rows.start(journal_.now);
  };
  std::int64_t bytes_of_gpus = 0;
  std::int64_t from_history = 0;
  for (const PastGpuBlock& each : gpu_blocks) {
    if (journal_.now.seq + 1 >= room) {
      ++left_out;
      continue;
    }
    next();
    DCMT_RETURN_IF_ERROR(lifetimes_.past_block(each.device, each.address, each.bytes, each.stack));
    bytes_of_gpus += static_cast<std::int64_t>(each.bytes);
    if (each.stack != 0) ++from_history;
  }
  for (const PastStorage& each : past) {
    if (journal_.now.seq + 2 >= room) {
      ++left_out;
      continue;
    }
    if (each.is_block) {
      next();
      DCMT_RETURN_IF_ERROR(lifetimes_.past_block(wire::kCpuDevice, each.data, each.bytes, 0));
      ++blocks;
      bytes += static_cast<std::int64_t>(each.bytes);
    }
    if (static_cast<std::int64_t>(each.bytes) < smallest) continue;
    next();
    DCMT_RETURN_IF_ERROR(lifetimes_.past_storage(each.storage, each.data, each.bytes));
  }
  std::string text = fmt::format("the program was attached to: {} in {} blocks", rounded_bytes(bytes), blocks);
  if (!gpu_blocks.empty()) {
    text += fmt::format(", and {} in {} blocks of GPUs,", rounded_bytes(bytes_of_gpus), gpu_blocks.size());
  }
  text += " were there before, whose origin is not known";
  if (from_history != 0) text += fmt::format("; only {} of these have a stack, from torch's own history", from_history);
  if (left_out != 0) text += fmt::format("; {} of them found no room", left_out);
  return journal_.diagnose("note", text);
}

Status Assembler::Impl::block_in_node(std::string_view bytes, std::uint32_t thread) {
  using wire::RecordType;
  return with<wire::BlockInNodeRecord>(bytes, kBlockInNode, [&](const auto& r) -> Status {
    std::uint64_t seq = r.header.seq;
    const auto apply_one = [&](RecordType type, std::uint32_t aux, auto record) {
      record.header = {type, sizeof record / 8, aux, seq++, r.header.tsc};
      return apply(record.header, thread);
    };
    const auto scope = static_cast<std::uint32_t>(wire::OpScope::kBackward);
    DCMT_RETURN_IF_ERROR(apply_one(RecordType::kOpBegin, scope, wire::OpRecord{{}, r.name, r.ordinal}));
    DCMT_RETURN_IF_ERROR(
        apply_one(RecordType::kBlockAlloc, r.header.aux, wire::BlockRecord{{}, r.address, r.bytes, r.stack}));
    return apply_one(RecordType::kOpEnd, 0, wire::OpRecord{{}, 0, r.ordinal});
  });
}

Status Assembler::Impl::dispatch(std::string_view bytes, const wire::RecordHeader& header) {
  using wire::RecordType;
  switch (header.type) {
    case RecordType::kClock:
      return {};  // used before its time was computed
    case RecordType::kBlockAllocInNode:
      return journal_.bad_record(kBlockInNode);  // too short; a valid one was split before
    case RecordType::kString:
      return string(bytes);
    case RecordType::kCode:
      return with<wire::CodeRecord>(bytes, "a code object", [&](const auto& r) {
        censuses_.code_defined(r.id);
        return dictionary_.define_code(r);
      });
    case RecordType::kStack:
      return stack(bytes);
    case RecordType::kThread:
      return with<wire::ThreadRecord>(bytes, "a thread", [&](const auto& r) { return threads_.begins(r); });
    case RecordType::kTensorBirth:
      DCMT_RETURN_IF_ERROR(memory_allocated());
      return with<wire::TensorRecord>(bytes, "a tensor's birth",
                                      [&](const auto& r) { return lifetimes_.tensor_birth(r); });
    case RecordType::kTensorRelease:
    case RecordType::kTensorDeath:
      return with<wire::TensorRecord>(bytes, "a tensor's end", [&](const auto& r) { return lifetimes_.tensor_end(r); });
    case RecordType::kTensorRepoint:
      return with<wire::RepointRecord>(bytes, "a tensor's change of storage",
                                       [&](const auto& r) { return repoint(r); });
    case RecordType::kStorageBirth:
      DCMT_RETURN_IF_ERROR(memory_allocated());
      return with<wire::StorageRecord>(bytes, "a storage's birth",
                                       [&](const auto& r) { return lifetimes_.storage_birth(r); });
    case RecordType::kStorageRelease:
    case RecordType::kStorageDeath:
      return with<wire::StorageRecord>(bytes, "a storage's end", [&](const auto& r) {
        bytes_go(r.storage);
        return lifetimes_.storage_end(r);
      });
    case RecordType::kStorageResize:
      return with<wire::ResizeRecord>(bytes, "a storage's change of size", [&](const auto& r) {
        if (r.bytes == 0) bytes_go(r.storage);
        return lifetimes_.storage_resize(r);
      });
    case RecordType::kBlockAlloc:
      DCMT_RETURN_IF_ERROR(memory_allocated());
      return with<wire::BlockRecord>(bytes, "a block's allocation",
                                     [&](const auto& r) { return lifetimes_.block_alloc(r); });
    case RecordType::kSmallBlocks:
      return with<wire::SmallBlocksRecord>(bytes, "a sum of small blocks", [&](const auto& r) -> Status {
        DCMT_ASSIGN_OR_RETURN(const bool more, lifetimes_.small_blocks(r));
        return more ? memory_allocated() : Status{};
      });
    case RecordType::kBlockFree:
      return with<wire::BlockRecord>(bytes, "a block's free", [&](const auto& r) { return lifetimes_.block_free(r); });
    case RecordType::kOpBegin:
      return with<wire::OpRecord>(bytes, "an operator's begin", [&](const auto& r) { return operators_.begin(r); });
    case RecordType::kOpEnd:
      DCMT_RETURN_IF_ERROR(
          with<wire::OpRecord>(bytes, "an operator's end", [&](const auto& r) { return operators_.end(r); }));
      return out_of_memory_.operator_ended();
    case RecordType::kMarkBegin:
      return with<wire::MarkRecord>(bytes, "a mark's begin", [&](const auto& r) { return marks_.begin(r); });
    case RecordType::kMarkEnd:
      return with<wire::MarkRecord>(bytes, "a mark's end", [&](const auto& r) { return marks_.end(r); });
    case RecordType::kMarkPoint:
      return with<wire::MarkRecord>(bytes, "a mark", [&](const auto& r) { return marks_.point(r); });
    case RecordType::kGather:
      return with<wire::KeyRecord>(bytes, "a gather", [&](const auto& r) { return marks_.gather(r); });
    case RecordType::kWait:
      return with<wire::KeyRecord>(bytes, "a wait", [&](const auto& r) { return marks_.wait(r); });
    case RecordType::kPersist:
      return with<wire::KeyRecord>(bytes, "a persist", [&](const auto& r) { return marks_.persist(r); });
    case RecordType::kReleaseBegin:
      return with<wire::KeyRecord>(bytes, "a release's begin", [&](const auto& r) { return marks_.release_begin(r); });
    case RecordType::kRelease:
      return with<wire::KeyRecord>(bytes, "a release", [&](const auto& r) { return marks_.release(r); });
    case RecordType::kReleaseSettled:
      return with<wire::KeyRecord>(bytes, "a settled release",
                                   [&](const auto& r) { return marks_.release_settled(r); });
    case RecordType::kRead:
      return with<wire::ReadRecord>(bytes, "a read", [&](const auto& r) { return marks_.read(r); });
    case RecordType::kLastTouch:
      return with<wire::LastTouchRecord>(bytes, "a last touch",
                                         [&](const auto& r) { return marks_.last_touch(r, clock_.ns(r.tsc)); });
    case RecordType::kLaunches:
      return with<wire::LaunchesRecord>(bytes, "a count of launches",
                                        [&](const auto& r) { return marks_.launches(r); });
    case RecordType::kCensusBegin:
      return censuses_.begin(bytes);
    case RecordType::kCensusTensor:
      return censuses_.tensor(bytes);
    case RecordType::kCensusLocal:
      return censuses_.local(bytes);
    case RecordType::kCensusEnd:
      return censuses_.end(bytes);
    case RecordType::kCodeBody:
      return censuses_.code_body(bytes);
    case RecordType::kSourceLine:
      return censuses_.source_line(bytes);
    case RecordType::kLost:
      return with<wire::LostRecord>(bytes, "a loss", [&](const auto& r) { return lost(r); });
    case RecordType::kDiagnostic:
      return with<wire::DiagnosticRecord>(bytes, "a diagnostic", [&](const auto& r) { return diagnostic(r); });
    case RecordType::kReserved:
      return with<wire::ReservedRecord>(bytes, "an allocator's reserve", [&](const auto& r) -> Status {
        DCMT_RETURN_IF_ERROR(lifetimes_.reserved(r));
        gpus_.reserved(r);
        return segments_.reserved(r);
      });
    case RecordType::kGpu:
      return with<wire::GpuRecord>(bytes, "a GPU", [&](const auto& r) { return gpus_.gpu(r); });
    case RecordType::kModule:
      return with<wire::ModuleRecord>(bytes, "a module", [&](const auto& r) { return modules_.module(r); });
    case RecordType::kSegment:
      return with<wire::SegmentRecord>(bytes, "a segment", [&](const auto& r) { return segments_.segment(r); });
    case RecordType::kBlockStream:
      return with<wire::BlockStreamRecord>(bytes, "a block's stream",
                                           [&](const auto& r) { return lifetimes_.block_stream(r); });
    case RecordType::kBlockOwner:
      return with<wire::BlockOwnerRecord>(bytes, "a block's owner",
                                          [&](const auto& r) { return lifetimes_.block_owner(r); });
    case RecordType::kParameter:
      return with<wire::ParameterRecord>(bytes, "a parameter", [&](const auto& r) { return marks_.parameter(r); });
    case RecordType::kOperatorAlias:
      return with<wire::OperatorAliasRecord>(bytes, "an operator's aliases",
                                             [&](const auto& r) { return marks_.operator_alias(r); });
    case RecordType::kBlockFreeDone:
      return with<wire::BlockFreeDoneRecord>(bytes, "the end of a block's use",
                                             [&](const auto& r) { return lifetimes_.block_free_done(r); });
    case RecordType::kBlockFound:
      return {};  // PastBook has it
    case RecordType::kOutOfMemory:
      return with<wire::OutOfMemoryRecord>(bytes, "an out-of-memory error",
                                           [&](const auto& r) { return out_of_memory_.apply(r); });
  }
  return journal_.bad_record("a record of unknown type");
}

Status Assembler::Impl::string(std::string_view bytes) {
  const auto record = view_as<wire::StringRecord>(bytes);
  const auto text = record ? tail_of<wire::StringRecord>(bytes, record->bytes) : std::nullopt;
  if (!text) return journal_.bad_record("a string");
  return dictionary_.define_string(record->id, *text);
}

Status Assembler::Impl::stack(std::string_view bytes) {
  const auto record = view_as<wire::StackRecord>(bytes);
  if (!record || record->count > bytes.size() / sizeof(wire::StackFrame)) return journal_.bad_record("a stack");
  const auto frames = tail_of<wire::StackRecord>(bytes, record->count * sizeof(wire::StackFrame));
  if (!frames) return journal_.bad_record("a stack");
  return dictionary_.define_stack(record->id, *frames);
}

Status Assembler::Impl::clock(const wire::ClockRecord& record) {
  return add_clock_reading({record.header.tsc, record.monotonic_ns, record.real_ns});
}

Status Assembler::Impl::add_own_clock(const ClockTriple& own) {
  // In another time namespace, the recorder's monotonic clock differs from the job's.
  if (!own_clock_agrees_) own_clock_agrees_ = clock_.agrees({own.tsc, own.monotonic_ns});
  return *own_clock_agrees_ ? add_clock_reading(own) : Status{};
}

Status Assembler::Impl::add_clock_reading(const ClockTriple& reading) {
  if (reading.real_ns > static_cast<std::uint64_t>(kLargest)) return journal_.bad_record("a clock reading");
  const ClockFit::Outcome outcome = clock_.add({reading.tsc, reading.monotonic_ns});
  if (outcome == ClockFit::Outcome::kNonsense) return journal_.bad_record("a clock reading that runs backwards");
  real_offset_ns_ = static_cast<std::int64_t>(reading.real_ns - reading.monotonic_ns);
  return note_clock_change(outcome);
}

Status Assembler::Impl::note_clock_change(ClockFit::Outcome outcome) {
  const bool jumped = outcome == ClockFit::Outcome::kJumped;
  if ((!jumped && outcome != ClockFit::Outcome::kNewRate) || ++clock_changes_ > kMaxClockChanges) return {};
  if (clock_changes_ == kMaxClockChanges) return journal_.diagnose("clock", "more changes of the clock; not listed");
  return journal_.diagnose("clock", jumped ? "the cycle counter jumped by " + std::to_string(clock_.jump_ns()) +
                                                 " ns against the clock: times just before this are less sure"
                                           : "the cycle counter's rate changed by " +
                                                 std::to_string(clock_.rate_change_ppm()) + " millionths");
}

void Assembler::Impl::bytes_go(std::uint64_t storage) {
  if (marks_.has_left_bytes()) marks_.bytes_go(lifetimes_.storage(storage));
}

Status Assembler::Impl::repoint(const wire::RepointRecord& record) {
  DCMT_ASSIGN_OR_RETURN(RowId old_storage, lifetimes_.repoint(record));
  marks_.repointed(old_storage);
  return {};
}

Status Assembler::Impl::lost(const wire::LostRecord& record) {
  const std::string_view reason = loss_text(record.header.aux);
  if (reason.empty() || record.count > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) {
    return journal_.bad_record("a loss");
  }
  const std::int64_t since = std::clamp<std::int64_t>(clock_.ns(record.since_tsc), 0, journal_.now.ns);
  return write_loss(reason, static_cast<std::int64_t>(record.count), since);
}

Status Assembler::Impl::write_loss(std::string_view reason, std::int64_t count, std::optional<std::int64_t> since) {
  lost_ = saturating_sum(lost_, count);
  LossRow row;
  row.id = journal_.ids.loss++;
  row.reason = reason;
  row.count = count;
  row.from_seq = row.to_seq = journal_.now.seq;
  row.ns = journal_.now.ns;
  row.from_ns = since;
  return journal_.writer.write(row);
}

Status Assembler::Impl::note_left_out() {
  LossRow row;
  row.count = journal_.rows.left_out();
  if (row.count == 0) return {};
  if (left_out_row_ == 0) left_out_row_ = journal_.ids.loss++;
  row.id = left_out_row_;
  row.reason = "over --max-disk";
  row.from_seq = row.to_seq = journal_.now.seq;
  row.ns = journal_.now.ns;
  return journal_.writer.write(row);
}

Status Assembler::Impl::diagnostic(const wire::DiagnosticRecord& record) {
  const std::string_view code = diagnostic_text(record.header.aux);
  if (code.empty()) return journal_.bad_record("a diagnostic");
  DCMT_ASSIGN_OR_RETURN(RowId text, dictionary_.string(record.text));
  DiagnosticRow row;
  row.id = journal_.ids.diagnostic++;
  row.at = journal_.now;
  row.code = code;
  row.text = text != 0 ? text : dictionary_.unknown();
  return journal_.writer.write(row);
}

Status Assembler::Impl::note_gap(std::uint64_t from, std::uint64_t to, bool damaged) {
  if (from == 0 || to < from || to > wire::kMaxSequence) return {};
  LossRow row;
  row.id = journal_.ids.loss++;
  row.reason = damaged ? "damaged" : "in_flight";
  row.count = static_cast<std::int64_t>(to - from + 1);
  row.from_seq = static_cast<std::int64_t>(from);
  row.to_seq = static_cast<std::int64_t>(to);
  row.ns = journal_.now.ns;
  lost_ = saturating_sum(lost_, row.count);
  journal_.now.seq = std::max(journal_.now.seq, row.to_seq);
  return journal_.writer.write(row);
}

Status Assembler::Impl::note_damaged_chunks(std::uint64_t damaged, std::uint64_t all) {
  return journal_.diagnose("spool_damaged", std::to_string(damaged) + " of the " + std::to_string(all) +
                                                " chunks of the spool could not be read to their end: what they had "
                                                "is missing here");
}

Status Assembler::Impl::note_lost(std::uint64_t counted) {
  // The counter is in shared memory that the job can write to.
  if (counted > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) {
    return journal_.bad_record("the count of losses");
  }
  // Read it from the rows, which exist after any resume.
  std::int64_t declared = 0;
  DCMT_RETURN_IF_ERROR(each_row(journal_.writer.database(),
                                "SELECT coalesce(sum(count), 0) FROM loss WHERE reason = 'no_room'",
                                [&](const Statement& row) { declared = row.integer(0); }));
  const std::int64_t missing = static_cast<std::int64_t>(counted) - declared;
  return missing > 0
             ? write_loss(loss_text(static_cast<std::uint32_t>(wire::LossReason::kNoRoom)), missing, std::nullopt)
             : Status{};
}

Status Assembler::Impl::note_forked_children(std::uint32_t count) {
  if (count == 0) return {};
  const std::string who = count == 1 ? "a forked child is" : std::to_string(count) + " forked children are";
  return journal_.diagnose("note", who + " not recorded and made tensors; what starts by exec (spawn) is recorded");
}

Status Assembler::Impl::write_open_rows() {
  DCMT_RETURN_IF_ERROR(operators_.commit());
  DCMT_RETURN_IF_ERROR(phases_.commit());
  DCMT_RETURN_IF_ERROR(lifetimes_.commit());
  DCMT_RETURN_IF_ERROR(segments_.commit());
  DCMT_RETURN_IF_ERROR(marks_.commit());
  DCMT_RETURN_IF_ERROR(censuses_.commit());
  DCMT_RETURN_IF_ERROR(dictionary_.commit());
  DCMT_RETURN_IF_ERROR(journal_.writer.set_meta(meta::kLastSeq, journal_.now.seq));
  DCMT_RETURN_IF_ERROR(journal_.writer.set_meta(meta::kEndNs, journal_.now.ns));
  DCMT_RETURN_IF_ERROR(journal_.writer.set_meta(meta::kClockErrorNs, clock_.error_ns()));
  DCMT_RETURN_IF_ERROR(journal_.writer.set_meta(meta::kClockReadings, clock_.readings()));
  DCMT_RETURN_IF_ERROR(journal_.writer.set_meta(meta::kRealOffsetNs, real_offset_ns_));
  DCMT_RETURN_IF_ERROR(journal_.writer.set_meta(meta::kUnseenBirths, lifetimes_.unseen_births()));
  DCMT_RETURN_IF_ERROR(journal_.writer.set_meta(meta::kUnseenChanges, lifetimes_.unseen_changes()));
  DCMT_RETURN_IF_ERROR(journal_.writer.set_meta(meta::kLostDeaths, lifetimes_.lost_deaths()));
  return journal_.writer.set_meta(meta::kRecords, records_);
}

Status Assembler::Impl::save() {
  Status status;
  visit([&](const char* name, const auto& value) {
    if (status.ok()) status = journal_.state.set(name, static_cast<std::int64_t>(value));
  });
  return status;
}

Status Assembler::Impl::commit(std::string_view drained) {
  DCMT_RETURN_IF_ERROR(write_open_rows());
  if (records_ != 0 || has_past_) DCMT_RETURN_IF_ERROR(journal_.rows.commit(journal_.now));
  DCMT_RETURN_IF_ERROR(note_left_out());
  DCMT_RETURN_IF_ERROR(save());
  drained_ = drained;
  DCMT_RETURN_IF_ERROR(journal_.writer.set_meta(kDrained, drained));
  DCMT_RETURN_IF_ERROR(journal_.writer.commit());
  return journal_.writer.begin();
}

Status Assembler::Impl::finish() {
  DCMT_RETURN_IF_ERROR(phases_.finish());
  DCMT_RETURN_IF_ERROR(censuses_.finish());
  DCMT_RETURN_IF_ERROR(out_of_memory_.finish());
  DCMT_RETURN_IF_ERROR(write_open_rows());
  DCMT_RETURN_IF_ERROR(segments_.finish());
  if (records_ != 0 || has_past_) DCMT_RETURN_IF_ERROR(journal_.rows.finish(journal_.now));
  DCMT_RETURN_IF_ERROR(censuses_.see_sources_of_held());
  DCMT_RETURN_IF_ERROR(note_left_out());
  DCMT_RETURN_IF_ERROR(journal_.state.drop());
  DCMT_RETURN_IF_ERROR(journal_.writer.database().execute("DELETE FROM meta WHERE key = 'drained'"));
  return journal_.writer.commit();
}

Assembler::Assembler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Assembler::~Assembler() = default;

Expected<std::unique_ptr<Assembler>> Assembler::start(TraceWriter& writer, const ClockOrigin& origin,
                                                      RetentionOptions retention) {
  DCMT_ASSIGN_OR_RETURN(PrivateState state, PrivateState::create(writer.database()));
  auto impl = std::make_unique<Impl>(writer, std::move(state), origin, std::move(retention));
  DCMT_RETURN_IF_ERROR(impl->start());
  return std::unique_ptr<Assembler>(new Assembler(std::move(impl)));
}

Expected<std::unique_ptr<Assembler>> Assembler::resume(TraceWriter& writer, const ClockOrigin& origin) {
  DCMT_ASSIGN_OR_RETURN(PrivateState state, PrivateState::create(writer.database()));
  auto impl = std::make_unique<Impl>(writer, std::move(state), origin, RetentionOptions{});
  DCMT_RETURN_IF_ERROR(impl->resume());
  return std::unique_ptr<Assembler>(new Assembler(std::move(impl)));
}

Status Assembler::apply(const wire::RecordHeader& record, std::uint32_t thread) { return impl_->apply(record, thread); }

Status Assembler::begin_past(const std::vector<PastStorage>& past, const std::vector<PastGpuBlock>& gpu_blocks,
                             std::int64_t smallest, std::int64_t ns, std::int64_t room) {
  return impl_->begin_past(past, gpu_blocks, smallest, ns, room);
}

Status Assembler::past_is_unknown(std::string_view why, std::int64_t ns) { return impl_->past_is_unknown(why, ns); }

Status Assembler::note(std::string_view text) { return impl_->note(text); }

Status Assembler::note_gap(std::uint64_t from, std::uint64_t to, bool damaged) {
  return impl_->note_gap(from, to, damaged);
}

Status Assembler::note_damaged_chunks(std::uint64_t damaged, std::uint64_t all) {
  return impl_->note_damaged_chunks(damaged, all);
}

Status Assembler::note_lost(std::uint64_t counted) { return impl_->note_lost(counted); }

Status Assembler::add_own_clock(const ClockTriple& own) { return impl_->add_own_clock(own); }
Status Assembler::note_forked_children(std::uint32_t count) { return impl_->note_forked_children(count); }

GrowingBytes Assembler::growing() const { return impl_->growing(); }
SmallBlocksThen Assembler::small_blocks() const { return impl_->small_blocks(); }
void Assembler::size_is_followed(std::size_t size_class) { impl_->size_is_followed(size_class); }
std::int64_t Assembler::smallest_followed() const { return impl_->smallest_followed(); }
bool Assembler::keeps_anything() const { return impl_->keeps_anything(); }
bool Assembler::wants_cpp_holders(bool has_ended) const { return impl_->wants_cpp_holders(has_ended); }
bool Assembler::wants_reading() const { return impl_->wants_reading(); }
std::vector<std::uint64_t> Assembler::modules() const { return impl_->modules(); }
void Assembler::reading_begins(scan::Scope scope) { impl_->reading_begins(scope); }
Status Assembler::reading_ended(const MemoryReading& reading) { return impl_->reading_ended(reading); }
Status Assembler::reading_failed(std::string_view why) { return impl_->reading_failed(why); }

Status Assembler::commit(std::string_view drained) { return impl_->commit(drained); }

Status Assembler::finish() { return impl_->finish(); }

std::uint64_t Assembler::last_seq() const { return impl_->last_seq(); }

Totals Assembler::totals() const { return impl_->totals(); }
CpuBytes Assembler::cpu_bytes() const { return impl_->cpu_bytes(); }

const Gpus& Assembler::gpus() const { return impl_->gpus(); }
std::vector<BlockPlace> Assembler::cpu_blocks() const { return impl_->cpu_blocks(); }
void Assembler::begin_cpu_peak() { impl_->begin_cpu_peak(); }

std::vector<OomFacts> Assembler::drain_out_of_memory() { return impl_->drain_out_of_memory(); }

const std::string& Assembler::drained() const { return impl_->drained(); }

}  // namespace dcmt::recorder

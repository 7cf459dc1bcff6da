#include "collector/recorder/assemble/assembler.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "collector/recorder/assemble/alive_now.h"
#include "collector/recorder/assemble/census_book.h"
#include "collector/recorder/assemble/code_stacks.h"
#include "collector/recorder/assemble/growth_watch.h"
#include "collector/recorder/assemble/lifetimes.h"
#include "collector/recorder/assemble/loss_book.h"
#include "collector/recorder/assemble/marks.h"
#include "collector/recorder/assemble/module_book.h"
#include "collector/recorder/assemble/native_book.h"
#include "collector/recorder/assemble/operators.h"
#include "collector/recorder/assemble/out_of_memory.h"
#include "collector/recorder/assemble/owner_book.h"
#include "collector/recorder/assemble/past_rows.h"
#include "collector/recorder/assemble/phases.h"
#include "collector/recorder/assemble/reference_book.h"
#include "collector/recorder/assemble/segment_book.h"
#include "collector/recorder/assemble/step_ends.h"
#include "collector/recorder/assemble/threads.h"
#include "collector/recorder/decode/dictionary.h"
#include "collector/recorder/decode/record_view.h"
#include "collector/recorder/keep/journal.h"
#include "collector/recorder/keep/private_state.h"
#include "collector/recorder/unwind/code_files.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::recorder {
namespace {

constexpr char kBlockInNode[] = "a block's allocation in a node";

/// Private meta key, removed by finish().
constexpr char kDrained[] = "drained";
/// A damaged counter must not move the clock too far: no recording is silent for this long.
constexpr std::int64_t kMaxJumpNs = std::int64_t{30} * 24 * 3600 * 1'000'000'000;
/// Memory without a holder in any reading that is worth a search: in bytes, and as a share of the allocated bytes.
constexpr std::int64_t kLeastUnfound = 1 << 20;
/// A collection of this size may become a finding; bytes.
constexpr std::uint64_t kLargeCollection = 1 << 20;
constexpr double kUnfoundShare = 0.05;

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
        clock_(journal_, origin),
        dictionary_(journal_),
        phases_(journal_),
        operators_(journal_, dictionary_, phases_),
        censuses_(journal_, dictionary_, census_context()),
        owners_(journal_, modules_),
        lifetimes_(journal_, dictionary_, operators_, censuses_, owners_, streams_, growth_, modules_),
        marks_(journal_, dictionary_, lifetimes_, phases_),
        references_(journal_, code_stacks_, lifetimes_),
        out_of_memory_(journal_, operators_, lifetimes_, marks_, censuses_, places_) {}

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
  Status note_gap(std::uint64_t from, std::uint64_t to, bool damaged) { return losses_.gap(from, to, damaged); }
  Status note_damaged_chunks(std::uint64_t damaged, std::uint64_t all) { return losses_.damaged_chunks(damaged, all); }
  Status note_lost(std::uint64_t counted) { return losses_.counted(counted); }
  Status add_own_clock(const ClockTriple& own) { return clock_.read_own(own); }
  Status note_forked_children(std::uint32_t count);
  Status commit(std::string_view drained);
  Status finish();

  [[nodiscard]] std::uint64_t last_seq() const { return static_cast<std::uint64_t>(journal_.now.seq); }
  [[nodiscard]] Totals totals() const {
    return {records_,          losses_.count(),
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
  [[nodiscard]] SmallBlocksThen small_blocks() const {
    return rounds_ != 0 ? small_blocks_ : SmallBlocksThen{0, lifetimes_.small_bytes()};
  }
  void size_is_followed(std::size_t size_class) { lifetimes_.size_is_followed(size_class); }
  [[nodiscard]] std::int64_t smallest_followed() const { return lifetimes_.smallest_followed(); }
  [[nodiscard]] bool keeps_anything() const {
    const auto [from, to] = step_ends_.outlived();
    const std::int64_t latest = step_ends_.latest();
    return growth_.growing().signs > 0 ||
           (latest != 0 && (lifetimes_.lives_since(from, to) || lifetimes_.lives_since(latest, journal_.now.seq)));
  }
  [[nodiscard]] scan::InQuestion without_holder(bool has_ended) const {
    const std::int64_t until = has_ended ? journal_.now.seq : settled_until();
    scan::InQuestion in_question;
    for (const auto& [address, storage] : lifetimes_.living_storages()) {
      if (storage <= until && !owners_.has_holder(storage)) in_question.storages.push_back(address);
    }
    std::ranges::sort(in_question.storages);
    in_question.least = worth_search();
    return in_question;
  }
  [[nodiscard]] bool lacks_holders() const {
    const std::int64_t until = settled_until();
    const std::int64_t bytes =
        lifetimes_.bytes_where([&](RowId storage) { return storage <= until && !owners_.has_holder(storage); });
    return static_cast<std::uint64_t>(bytes) >= worth_search();
  }
  [[nodiscard]] bool wants_reading() const {
    const auto [from, to] = step_ends_.outlived();
    const std::int64_t until = growth_.growing().goes_on > 0 ? journal_.now.seq : to;
    return lifetimes_.lives_since(std::max(from, owners_.read_until()), until) || owners_.is_unsure_of(from, until);
  }
  [[nodiscard]] std::vector<std::uint64_t> modules() const { return modules_.addresses(); }
  [[nodiscard]] std::vector<scan::StackVariable> cpp_variables() { return code_stacks_.variables(); }
  void reading_begins(scan::Scope scope) { owners_.begin(scope, lifetimes_.living_storages()); }
  Status reading_ended(const MemoryReading& reading) {
    const auto is_large = [](const scan::Collection& each) { return each.bytes >= kLargeCollection; };
    files_.insert(reading.found.files.begin(), reading.found.files.end());
    // The code has the statement that fills it.
    if (std::ranges::any_of(reading.found.collections, is_large)) DCMT_RETURN_IF_ERROR(censuses_.see_sources(files_));
    return owners_.end(reading);
  }
  Status reading_failed(std::string_view why) {
    owners_.cancel(scan::Scope::kAll);
    owners_.cancel(scan::Scope::kVariables);
    return journal_.diagnose("owners_off", why);
  }
  std::vector<OomFacts> drain_out_of_memory() { return out_of_memory_.drain(); }
  [[nodiscard]] Expected<std::vector<AliveGroup>> alive_now(std::size_t most) {
    return recorder::alive_now(lifetimes_, owners_, places_, most);
  }
  std::int64_t take_highest() { return lifetimes_.take_highest(); }

 private:
  /// What began by this record and is alive has outlived its step, or the latest reading of everything missed it. A
  /// storage's id is the number of the record with which it began.
  [[nodiscard]] std::int64_t settled_until() const { return std::max(owners_.read_until(), step_ends_.outlived().to); }
  [[nodiscard]] std::uint64_t worth_search() const {
    const auto share = static_cast<std::int64_t>(kUnfoundShare * static_cast<double>(lifetimes_.allocated()));
    return static_cast<std::uint64_t>(std::max(kLeastUnfound, share));
  }
  CensusContext census_context();
  Status block_in_node(std::string_view bytes, std::uint32_t thread);
  Status dispatch(std::string_view bytes, const wire::RecordHeader& header);
  /// Calls `handle` with the record's fixed part if it is complete.
  template <class Record, class Handle>
  Status with(std::string_view bytes, const char* what, Handle&& handle) {
    const auto record = view_as<Record>(bytes);
    return record ? handle(*record) : journal_.bad_record(what);
  }
  /// Passes the record's fixed part to a part of the assembler.
  template <class Part, class Record>
  Status pass(Part& part, Status (Part::*handle)(const Record&), std::string_view bytes, const char* what) {
    return with<Record>(bytes, what, [&](const Record& record) { return (part.*handle)(record); });
  }
  Status string(std::string_view bytes);
  Status stack(std::string_view bytes);
  Status memory_allocated() { return operators_.running() == 0 ? phases_.memory_allocated() : Status{}; }
  /// The bytes of the storage at this address go.
  void bytes_go(std::uint64_t storage);
  Status repoint(const wire::RepointRecord& record);
  Status diagnostic(const wire::DiagnosticRecord& record);
  Status write_open_rows();
  Status save();

  /// Calls `visit(name, value)` for all state that does not follow from rows.
  template <class Visit>
  void visit(Visit&& visit) {
    visit("records", records_);
    visit("past", has_past_);
    visit("records.bad", journal_.bad_records);
    losses_.visit(visit);
    clock_.visit(visit);
    phases_.visit(visit);
    lifetimes_.visit(visit);
    segments_.visit(visit);
    censuses_.visit(visit);
    out_of_memory_.visit(visit);
  }

  Journal journal_;
  ClockBook clock_;
  LossBook losses_{journal_};
  Dictionary dictionary_;
  Phases phases_;
  Operators operators_;
  CensusBook censuses_;
  ModuleBook modules_{journal_};
  OwnerBook owners_;
  GrowthWatch growth_;
  StepEnds step_ends_;
  std::set<std::string> files_;  ///< of the program's functions and modules, by readings of its variables
  std::int64_t rounds_ = 0;      ///< ended steps that growth_ has processed
  SmallBlocksThen small_blocks_;
  StreamNumbers streams_{journal_};
  SegmentBook segments_{journal_, dictionary_, streams_};
  GpuBook gpus_{journal_};
  CodeFiles code_files_;
  CodeStacks code_stacks_{journal_, dictionary_, code_files_};
  NativeBook natives_{journal_, dictionary_, code_stacks_};
  Lifetimes lifetimes_;
  Marks marks_;
  ReferenceBook references_;
  StackPlaces places_{journal_};
  OutOfMemory out_of_memory_;
  Threads threads_{journal_};
  std::int64_t records_ = 0;
  bool has_past_ = false;
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
  natives_.resume();
  DCMT_RETURN_IF_ERROR(streams_.resume());
  DCMT_RETURN_IF_ERROR(segments_.resume());
  DCMT_RETURN_IF_ERROR(modules_.resume());
  DCMT_RETURN_IF_ERROR(lifetimes_.resume());
  DCMT_RETURN_IF_ERROR(marks_.resume());
  DCMT_RETURN_IF_ERROR(references_.resume());
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
    DCMT_RETURN_IF_ERROR(pass(clock_, &ClockBook::read, bytes, "a clock reading"));
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
  journal_.now = {0, ns};
  segments_.began_late(ns);
  return write_past(journal_, lifetimes_, past, gpu_blocks, smallest, room, has_past_);
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
      return pass(threads_, &Threads::begins, bytes, "a thread");
    case RecordType::kTensorBirth:
      DCMT_RETURN_IF_ERROR(memory_allocated());
      return pass(lifetimes_, &Lifetimes::tensor_birth, bytes, "a tensor's birth");
    case RecordType::kTensorRelease:
    case RecordType::kTensorDeath:
      return pass(lifetimes_, &Lifetimes::tensor_end, bytes, "a tensor's end");
    case RecordType::kTensorRepoint:
      return with<wire::RepointRecord>(bytes, "a tensor's change of storage",
                                       [&](const auto& r) { return repoint(r); });
    case RecordType::kStorageBirth:
      DCMT_RETURN_IF_ERROR(memory_allocated());
      return pass(lifetimes_, &Lifetimes::storage_birth, bytes, "a storage's birth");
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
      return pass(lifetimes_, &Lifetimes::block_alloc, bytes, "a block's allocation");
    case RecordType::kSmallBlocks:
      return with<wire::SmallBlocksRecord>(bytes, "a sum of small blocks", [&](const auto& r) -> Status {
        DCMT_ASSIGN_OR_RETURN(const bool more, lifetimes_.small_blocks(r));
        return more ? memory_allocated() : Status{};
      });
    case RecordType::kBlockFree:
      return pass(lifetimes_, &Lifetimes::block_free, bytes, "a block's free");
    case RecordType::kOpBegin:
      return pass(operators_, &Operators::begin, bytes, "an operator's begin");
    case RecordType::kOpEnd:
      DCMT_RETURN_IF_ERROR(pass(operators_, &Operators::end, bytes, "an operator's end"));
      return out_of_memory_.operator_ended();
    case RecordType::kMarkBegin:
      return pass(marks_, &Marks::begin, bytes, "a mark's begin");
    case RecordType::kMarkEnd:
      return pass(marks_, &Marks::end, bytes, "a mark's end");
    case RecordType::kMarkPoint:
      return pass(marks_, &Marks::point, bytes, "a mark");
    case RecordType::kGather:
      return pass(marks_, &Marks::gather, bytes, "a gather");
    case RecordType::kWait:
      return pass(marks_, &Marks::wait, bytes, "a wait");
    case RecordType::kPersist:
      return pass(marks_, &Marks::persist, bytes, "a persist");
    case RecordType::kReleaseBegin:
      return pass(marks_, &Marks::release_begin, bytes, "a release's begin");
    case RecordType::kRelease:
      return pass(marks_, &Marks::release, bytes, "a release");
    case RecordType::kReleaseSettled:
      return pass(marks_, &Marks::release_settled, bytes, "a settled release");
    case RecordType::kRead:
      return pass(marks_, &Marks::read, bytes, "a read");
    case RecordType::kLastTouch:
      return with<wire::LastTouchRecord>(bytes, "a last touch",
                                         [&](const auto& r) { return marks_.last_touch(r, clock_.ns(r.tsc)); });
    case RecordType::kFence:
      return with<wire::FenceRecord>(bytes, "a fence", [&](const auto& r) { return marks_.fence(r); });
    case RecordType::kReference:
      return pass(references_, &ReferenceBook::reference, bytes, "a reference count");
    case RecordType::kNativeStack:
      return code_stacks_.define(bytes);
    case RecordType::kLaunches:
      return pass(marks_, &Marks::launches, bytes, "a count of launches");
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
      return with<wire::LostRecord>(bytes, "a loss",
                                    [&](const auto& r) { return losses_.lost(r, clock_.ns(r.since_tsc)); });
    case RecordType::kDiagnostic:
      return with<wire::DiagnosticRecord>(bytes, "a diagnostic", [&](const auto& r) { return diagnostic(r); });
    case RecordType::kReserved:
      return with<wire::ReservedRecord>(bytes, "an allocator's reserve", [&](const auto& r) -> Status {
        DCMT_RETURN_IF_ERROR(lifetimes_.reserved(r));
        gpus_.reserved(r);
        return segments_.reserved(r);
      });
    case RecordType::kGpu:
      return pass(gpus_, &GpuBook::gpu, bytes, "a GPU");
    case RecordType::kModule:
      return pass(modules_, &ModuleBook::module, bytes, "a module");
    case RecordType::kSegment:
      return pass(segments_, &SegmentBook::segment, bytes, "a segment");
    case RecordType::kAllocator:
      return pass(segments_, &SegmentBook::allocator, bytes, "an allocator's settings");
    case RecordType::kBlockRequest:
      return pass(lifetimes_, &Lifetimes::block_request, bytes, "what a block was asked for");
    case RecordType::kBlockOwner:
      return pass(lifetimes_, &Lifetimes::block_owner, bytes, "a block's owner");
    case RecordType::kParameter:
      return pass(marks_, &Marks::parameter, bytes, "a parameter");
    case RecordType::kOperatorAlias:
      return pass(marks_, &Marks::operator_alias, bytes, "an operator's aliases");
    case RecordType::kBlockFreeDone:
      return pass(lifetimes_, &Lifetimes::block_free_done, bytes, "the end of a block's use");
    case RecordType::kBlockFound:
      return {};  // PastBook has it
    case RecordType::kNativeSample:
      return pass(natives_, &NativeBook::sample, bytes, "a sampled allocation");
    case RecordType::kNativeEnd:
      return pass(natives_, &NativeBook::end, bytes, "the end of a sampled allocation");
    case RecordType::kOutOfMemory:
      return pass(out_of_memory_, &OutOfMemory::apply, bytes, "an out-of-memory error");
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

void Assembler::Impl::bytes_go(std::uint64_t storage) {
  if (marks_.has_left_bytes()) marks_.bytes_go(lifetimes_.storage(storage));
}

Status Assembler::Impl::repoint(const wire::RepointRecord& record) {
  DCMT_ASSIGN_OR_RETURN(RowId old_storage, lifetimes_.repoint(record));
  marks_.repointed(old_storage);
  return {};
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
  DCMT_RETURN_IF_ERROR(references_.commit());
  DCMT_RETURN_IF_ERROR(dictionary_.commit());
  DCMT_RETURN_IF_ERROR(journal_.writer.set_meta(meta::kLastSeq, journal_.now.seq));
  DCMT_RETURN_IF_ERROR(journal_.writer.set_meta(meta::kEndNs, journal_.now.ns));
  DCMT_RETURN_IF_ERROR(clock_.commit());
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
  DCMT_RETURN_IF_ERROR(losses_.commit());
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
  DCMT_RETURN_IF_ERROR(natives_.finish());
  if (records_ != 0 || has_past_) DCMT_RETURN_IF_ERROR(journal_.rows.finish(journal_.now));
  DCMT_RETURN_IF_ERROR(censuses_.see_sources_of_held(files_));
  DCMT_RETURN_IF_ERROR(losses_.commit());
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
scan::InQuestion Assembler::without_holder(bool has_ended) const { return impl_->without_holder(has_ended); }
bool Assembler::lacks_holders() const { return impl_->lacks_holders(); }
bool Assembler::wants_reading() const { return impl_->wants_reading(); }
std::vector<std::uint64_t> Assembler::modules() const { return impl_->modules(); }
std::vector<scan::StackVariable> Assembler::cpp_variables() { return impl_->cpp_variables(); }
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

Expected<std::vector<AliveGroup>> Assembler::alive_now(std::size_t most) { return impl_->alive_now(most); }
std::int64_t Assembler::take_highest() { return impl_->take_highest(); }

const std::string& Assembler::drained() const { return impl_->drained(); }

}  // namespace dcmt::recorder

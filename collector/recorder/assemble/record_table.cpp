#include "collector/recorder/assemble/record_table.h"

#include <cstddef>
#include <iterator>
#include <type_traits>

#include "collector/recorder/decode/record_view.h"

namespace dcmt::recorder {
namespace {

using wire::RecordType;
using Handler = Status (*)(Books& books, std::string_view bytes, const char* name);

/// The record that a function takes as its last argument; std::string_view: it reads the bytes itself.
template <class Function>
struct RecordOf;
template <class Part, class Record>
struct RecordOf<Status (Part::*)(const Record&)> {
  using Type = Record;
};
template <class Part>
struct RecordOf<Status (Part::*)(std::string_view)> {
  using Type = std::string_view;
};
template <class Record>
struct RecordOf<Status (*)(Books&, const Record&)> {
  using Type = Record;
};

template <class Record, class Call>
Status with_record(Books& books, std::string_view bytes, const char* name, Call&& call) {
  if constexpr (std::is_same_v<Record, std::string_view>) {
    return call(bytes);
  } else {
    const auto record = view_as<Record>(bytes);
    return record ? call(*record) : books.journal.bad_record(name);
  }
}

/// Passes the record to a function of a part.
template <auto Part, auto Handle>
Status to(Books& books, std::string_view bytes, const char* name) {
  using Record = typename RecordOf<decltype(Handle)>::Type;
  return with_record<Record>(books, bytes, name, [&](const auto& record) { return (books.*Part.*Handle)(record); });
}

/// Passes it to a function below, which needs several parts.
template <auto Handle>
Status by(Books& books, std::string_view bytes, const char* name) {
  using Record = typename RecordOf<decltype(Handle)>::Type;
  return with_record<Record>(books, bytes, name, [&](const auto& record) { return Handle(books, record); });
}

/// The same for a record that says that memory was allocated: a phase may begin by it, and a program that ran out of
/// memory goes on.
template <Handler Next>
Status allocates(Books& books, std::string_view bytes, const char* name) {
  books.out_of_memory.work(books.journal.thread);
  if (books.operators.running() == 0) DCMT_RETURN_IF_ERROR(books.phases.memory_allocated());
  return Next(books, bytes, name);
}

Status nothing(Books&, std::string_view, const char*) { return {}; }

/// Too short; a valid one was split before.
Status bad(Books& books, std::string_view, const char* name) { return books.journal.bad_record(name); }

Status string(Books& books, std::string_view bytes, const char* name) {
  const auto record = view_as<wire::StringRecord>(bytes);
  const auto text = record ? tail_of<wire::StringRecord>(bytes, record->bytes) : std::nullopt;
  return text ? books.dictionary.define_string(record->id, *text) : books.journal.bad_record(name);
}

Status stack(Books& books, std::string_view bytes, const char* name) {
  const auto record = view_as<wire::StackRecord>(bytes);
  if (!record || record->count > bytes.size() / sizeof(wire::StackFrame)) return books.journal.bad_record(name);
  const auto frames = tail_of<wire::StackRecord>(bytes, record->count * sizeof(wire::StackFrame));
  return frames ? books.dictionary.define_stack(record->id, *frames) : books.journal.bad_record(name);
}

Status code(Books& books, const wire::CodeRecord& record) {
  books.censuses.code_defined(record.id);
  return books.dictionary.define_code(record);
}

void bytes_go(Books& books, std::uint64_t storage) {
  if (books.marks.has_left_bytes()) books.marks.bytes_go(books.lifetimes.storage(storage));
}

Status storage_end(Books& books, const wire::StorageRecord& record) {
  bytes_go(books, record.storage);
  return books.lifetimes.storage_end(record);
}

Status storage_resize(Books& books, const wire::ResizeRecord& record) {
  if (record.bytes == 0) bytes_go(books, record.storage);
  return books.lifetimes.storage_resize(record);
}

Status repoint(Books& books, const wire::RepointRecord& record) {
  DCMT_ASSIGN_OR_RETURN(const RowId old_storage, books.lifetimes.repoint(record));
  books.marks.repointed(old_storage);
  return {};
}

Status small_blocks(Books& books, const wire::SmallBlocksRecord& record) {
  DCMT_ASSIGN_OR_RETURN(const bool more, books.lifetimes.small_blocks(record));
  if (!more) return {};
  books.out_of_memory.work(books.journal.thread);
  return books.operators.running() == 0 ? books.phases.memory_allocated() : Status{};
}

Status operator_end(Books& books, const wire::OpRecord& record) {
  DCMT_RETURN_IF_ERROR(books.operators.end(record));
  return books.out_of_memory.operator_ended();
}

Status last_touch(Books& books, const wire::LastTouchRecord& record) {
  return books.marks.last_touch(record, books.clock.ns(record.tsc));
}

Status lost(Books& books, const wire::LostRecord& record) {
  return books.losses.lost(record, books.clock.ns(record.since_tsc));
}

Status reserved(Books& books, const wire::ReservedRecord& record) {
  DCMT_RETURN_IF_ERROR(books.lifetimes.reserved(record));
  books.gpus.reserved(record);
  return books.segments.reserved(record);
}

std::string_view diagnostic_text(std::uint32_t diagnostic) {
  switch (static_cast<wire::DiagnosticCode>(diagnostic)) {
    case wire::DiagnosticCode::kProviderOff:
      return "provider_off";
    case wire::DiagnosticCode::kKeyTableFull:
      return "key_table_full";
    case wire::DiagnosticCode::kNote:
      return "note";
  }
  return {};
}

Status diagnostic(Books& books, const wire::DiagnosticRecord& record) {
  const std::string_view text = diagnostic_text(record.header.aux);
  if (text.empty()) return books.journal.bad_record("a diagnostic");
  DCMT_ASSIGN_OR_RETURN(const RowId said, books.dictionary.string(record.text));
  DiagnosticRow row;
  row.id = books.journal.ids.diagnostic++;
  row.at = books.journal.now;
  row.code = text;
  row.text = said != 0 ? said : books.dictionary.unknown();
  return books.journal.writer.write(row);
}

struct Entry {
  RecordType type;
  const char* name;  ///< for the diagnostic of a bad one
  Handler handle;
};

/// In the order of the types' numbers.
constexpr Entry kEntries[] = {
    {RecordType::kClock, "a clock reading", nothing},  // used before its time was computed
    {RecordType::kString, "a string", string},
    {RecordType::kCode, "a code object", by<code>},
    {RecordType::kStack, "a stack", stack},
    {RecordType::kThread, "a thread", to<&Books::threads, &Threads::begins>},
    {RecordType::kTensorBirth, "a tensor's birth", allocates<to<&Books::lifetimes, &Lifetimes::tensor_birth>>},
    {RecordType::kTensorRelease, "a tensor's end", to<&Books::lifetimes, &Lifetimes::tensor_end>},
    {RecordType::kTensorDeath, "a tensor's end", to<&Books::lifetimes, &Lifetimes::tensor_end>},
    {RecordType::kTensorRepoint, "a tensor's change of storage", by<repoint>},
    {RecordType::kStorageRelease, "a storage's end", by<storage_end>},
    {RecordType::kStorageDeath, "a storage's end", by<storage_end>},
    {RecordType::kStorageResize, "a storage's change of size", by<storage_resize>},
    {RecordType::kBlockAlloc, "a block's allocation", allocates<to<&Books::lifetimes, &Lifetimes::block_alloc>>},
    {RecordType::kBlockFree, "a block's free", to<&Books::lifetimes, &Lifetimes::block_free>},
    {RecordType::kOpBegin, "an operator's begin", to<&Books::operators, &Operators::begin>},
    {RecordType::kOpEnd, "an operator's end", by<operator_end>},
    {RecordType::kMarkBegin, "a mark's begin", to<&Books::marks, &Marks::begin>},
    {RecordType::kMarkEnd, "a mark's end", to<&Books::marks, &Marks::end>},
    {RecordType::kMarkPoint, "a mark", to<&Books::marks, &Marks::point>},
    {RecordType::kGather, "a gather", to<&Books::marks, &Marks::gather>},
    {RecordType::kWait, "a wait", to<&Books::marks, &Marks::wait>},
    {RecordType::kPersist, "a persist", to<&Books::marks, &Marks::persist>},
    {RecordType::kReleaseBegin, "a release's begin", to<&Books::marks, &Marks::release_begin>},
    {RecordType::kRelease, "a release", to<&Books::marks, &Marks::release>},
    {RecordType::kReleaseSettled, "a settled release", to<&Books::marks, &Marks::release_settled>},
    {RecordType::kRead, "a read", to<&Books::marks, &Marks::read>},
    {RecordType::kCensusBegin, "a census", to<&Books::censuses, &CensusBook::begin>},
    {RecordType::kCensusTensor, "a census", to<&Books::censuses, &CensusBook::tensor>},
    {RecordType::kCensusLocal, "a census", to<&Books::censuses, &CensusBook::local>},
    {RecordType::kCensusEnd, "a census", to<&Books::censuses, &CensusBook::end>},
    {RecordType::kCodeBody, "a code object's body", to<&Books::censuses, &CensusBook::code_body>},
    {RecordType::kSourceLine, "a line of source", to<&Books::censuses, &CensusBook::source_line>},
    {RecordType::kLost, "a loss", by<lost>},
    {RecordType::kDiagnostic, "a diagnostic", by<diagnostic>},
    {RecordType::kStorageBirth, "a storage's birth", allocates<to<&Books::lifetimes, &Lifetimes::storage_birth>>},
    {RecordType::kLaunches, "a count of launches", to<&Books::marks, &Marks::launches>},
    {RecordType::kLastTouch, "a last touch", by<last_touch>},
    {RecordType::kOutOfMemory, "an out-of-memory error", to<&Books::out_of_memory, &OutOfMemory::apply>},
    {RecordType::kReserved, "an allocator's reserve", by<reserved>},
    {RecordType::kBlockRequest, "what a block was asked for", to<&Books::lifetimes, &Lifetimes::block_request>},
    {RecordType::kBlockFreeDone, "the end of a block's use", to<&Books::lifetimes, &Lifetimes::block_free_done>},
    {RecordType::kBlockOwner, "a block's owner", to<&Books::lifetimes, &Lifetimes::block_owner>},
    {RecordType::kParameter, "a parameter", to<&Books::marks, &Marks::parameter>},
    {RecordType::kOperatorAlias, "an operator's aliases", to<&Books::marks, &Marks::operator_alias>},
    {RecordType::kSmallBlocks, "a sum of small blocks", by<small_blocks>},
    {RecordType::kBlockAllocInNode, "a block's allocation in a node", bad},
    {RecordType::kBlockFound, "a block from before", nothing},  // PreAttachState has it
    {RecordType::kSegment, "a segment", to<&Books::segments, &SegmentBook::segment>},
    {RecordType::kGpu, "a GPU", to<&Books::gpus, &GpuBook::gpu>},
    {RecordType::kModule, "a module", to<&Books::modules, &ModuleBook::module>},
    {RecordType::kFence, "a fence", to<&Books::marks, &Marks::fence>},
    {RecordType::kNativeSample, "a sampled allocation", to<&Books::natives, &NativeBook::sample>},
    {RecordType::kNativeEnd, "the end of a sampled allocation", to<&Books::natives, &NativeBook::end>},
    {RecordType::kReference, "a reference count", to<&Books::references, &ReferenceBook::reference>},
    {RecordType::kNativeStack, "a C++ stack", to<&Books::code_stacks, &CodeStacks::define>},
    {RecordType::kAllocator, "an allocator's settings", to<&Books::segments, &SegmentBook::allocator>},
    {RecordType::kStreamCall, "a call with a stream", to<&Books::stream_calls, &StreamBook::call>},
    {RecordType::kGpuLaunch, "a call that gives a GPU work", to<&Books::gpu_work, &GpuWorkBook::launch>},
    {RecordType::kGpuWork, "work of a GPU", to<&Books::gpu_work, &GpuWorkBook::work>},
};

constexpr bool has_each_type_at_its_place() {
  for (std::size_t i = 0; i < std::size(kEntries); ++i) {
    if (static_cast<std::size_t>(kEntries[i].type) != i + 1) return false;
  }
  return true;
}
static_assert(has_each_type_at_its_place());

}  // namespace

Status hand_over(Books& books, RecordType type, std::string_view bytes) {
  const auto number = static_cast<std::size_t>(type);
  if (number == 0 || number > std::size(kEntries)) return books.journal.bad_record("a record of unknown type");
  const Entry& entry = kEntries[number - 1];
  return entry.handle(books, bytes, entry.name);
}

}  // namespace dcmt::recorder

// Hand-made records for tests: a stream with dense sequences, for an Assembler.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/wire/records.h"

namespace dcmt::recorder::testing {

/// One record, aligned as in the spool.
struct TestRecord {
  std::vector<std::uint64_t> words;
  std::uint32_t thread = 1;
  [[nodiscard]] const wire::RecordHeader& header() const {
    return *reinterpret_cast<const wire::RecordHeader*>(words.data());
  }
};

class TestStream {
 public:
  std::vector<TestRecord> records;
  std::uint32_t thread = 1;  ///< thread of the next records

  /// Appends a record; fills in the header's type, aux, length, sequence and counter (1000 cycles apart).
  template <class Record>
  std::uint64_t add(wire::RecordType type, std::uint32_t aux, Record record, std::string_view tail = {}) {
    const std::size_t bytes = (sizeof(Record) + tail.size() + 7) / 8 * 8;
    record.header.type = type;
    record.header.words = static_cast<std::uint16_t>(bytes / 8);
    record.header.aux = aux;
    record.header.seq = next_seq_;
    next_seq_ += wire::sequences_of(type);
    record.header.tsc = record.header.seq * 1000;
    TestRecord result;
    result.thread = thread;
    result.words.resize(bytes / 8);
    std::memcpy(result.words.data(), &record, sizeof record);
    if (!tail.empty()) {
      std::memcpy(reinterpret_cast<char*>(result.words.data()) + sizeof record, tail.data(), tail.size());
    }
    records.push_back(std::move(result));
    return record.header.seq;
  }

  /// Skips sequences.
  void skip(std::uint64_t count) { next_seq_ += count; }

  std::uint64_t clock(std::uint64_t ns) {
    wire::ClockRecord record{};
    record.monotonic_ns = ns;
    return add(wire::RecordType::kClock, 0, record);
  }
  std::uint64_t named_thread(std::uint64_t tid, const char* name) {
    wire::ThreadRecord record{};
    record.tid = tid;
    std::strncpy(record.name, name, sizeof record.name - 1);
    return add(wire::RecordType::kThread, thread, record);
  }

  /// The wire id of a text, published at first sight.
  std::uint64_t text(const std::string& content) {
    const auto [entry, is_new] = texts_.try_emplace(content, 0x1000 + texts_.size());
    if (is_new) publish_text(entry->second, content);
    return entry->second;
  }
  std::uint64_t publish_text(std::uint64_t id, const std::string& content) {
    wire::StringRecord record{};
    record.id = id;
    record.bytes = content.size();
    return add(wire::RecordType::kString, 0, record, content);
  }
  std::uint64_t code(std::uint64_t id, const std::string& file, const std::string& function, std::uint32_t line = 1) {
    wire::CodeRecord record{};
    record.id = id;
    record.file = text(file);
    record.function = text(function);
    add(wire::RecordType::kCode, line, record);
    return id;
  }
  /// @param frames  innermost first
  std::uint64_t stack(std::uint64_t id, const std::vector<wire::StackFrame>& frames) {
    wire::StackRecord record{};
    record.id = id;
    record.count = frames.size();
    add(wire::RecordType::kStack, 0, record,
        {reinterpret_cast<const char*>(frames.data()), frames.size() * sizeof(wire::StackFrame)});
    return id;
  }

  std::uint64_t tensor(wire::RecordType type, std::uint64_t tensor, std::uint64_t storage, std::uint64_t data = 0,
                       std::uint64_t bytes = 0, std::uint64_t stack = 0) {
    wire::TensorRecord record{};
    record.tensor = tensor;
    record.storage = storage;
    record.data = data;
    record.bytes = bytes;
    record.stack = stack;
    if (type == wire::RecordType::kTensorBirth) bytes_.try_emplace(storage, bytes);
    return add(type, 0, record);
  }
  std::uint64_t birth(std::uint64_t address, std::uint64_t storage, std::uint64_t data = 0, std::uint64_t bytes = 0,
                      std::uint64_t stack = 0) {
    return tensor(wire::RecordType::kTensorBirth, address, storage, data, bytes, stack);
  }
  std::uint64_t death(std::uint64_t address, std::uint64_t storage = 0) {
    return tensor(wire::RecordType::kTensorDeath, address, storage);
  }
  std::uint64_t repoint(std::uint64_t tensor, std::uint64_t old_storage, std::uint64_t storage,
                        std::uint64_t stack = 0) {
    wire::RepointRecord record{};
    record.stack = stack;
    record.tensor = tensor;
    record.old_storage = old_storage;
    record.storage = storage;
    return add(wire::RecordType::kTensorRepoint, 0, record);
  }
  std::uint64_t storage_end(wire::RecordType type, std::uint64_t storage, std::uint64_t stack = 0,
                            std::uint64_t data = 0) {
    wire::StorageRecord record{};
    record.storage = storage;
    record.data = data;
    record.stack = stack;
    record.bytes = bytes_[storage];
    bytes_.erase(storage);
    return add(type, 0, record);
  }
  std::uint64_t storage_death(std::uint64_t storage, std::uint64_t stack = 0) {
    return storage_end(wire::RecordType::kStorageDeath, storage, stack);
  }
  std::uint64_t storage_birth(std::uint64_t storage, std::uint64_t bytes, std::uint64_t stack = 0,
                              std::uint64_t data = 0) {
    wire::StorageRecord record{};
    record.storage = storage;
    record.bytes = bytes_[storage] = bytes;
    record.stack = stack;
    record.data = data;
    return add(wire::RecordType::kStorageBirth, 0, record);
  }
  std::uint64_t resize(std::uint64_t storage, std::uint64_t old_bytes, std::uint64_t bytes, std::uint64_t data,
                       std::uint64_t stack = 0) {
    wire::ResizeRecord record{};
    record.stack = stack;
    record.storage = storage;
    record.old_bytes = old_bytes;
    record.bytes = bytes_[storage] = bytes;
    record.data = data;
    return add(wire::RecordType::kStorageResize, 0, record);
  }
  std::uint64_t alloc(std::uint64_t address, std::uint64_t bytes, std::uint64_t stack = 0) {
    wire::BlockRecord record{};
    record.stack = stack;
    record.address = address;
    record.bytes = bytes;
    return add(wire::RecordType::kBlockAlloc, 0, record);
  }
  /// Allocates while an autograd node runs. Uses three sequences; returns the first.
  std::uint64_t alloc_in_node(const std::string& node, std::uint64_t ordinal, std::uint64_t address,
                              std::uint64_t bytes) {
    wire::BlockInNodeRecord record{};
    record.address = address;
    record.bytes = bytes;
    record.name = text(node);
    record.ordinal = ordinal;
    return add(wire::RecordType::kBlockAllocInNode, 0, record);
  }
  std::uint64_t free(std::uint64_t address) {
    wire::BlockRecord record{};
    record.address = address;
    return add(wire::RecordType::kBlockFree, 0, record);
  }

  std::uint64_t small_blocks(std::uint64_t bytes, std::uint32_t device = wire::kCpuDevice) {
    wire::SmallBlocksRecord record{};
    record.bytes = bytes;
    return add(wire::RecordType::kSmallBlocks, device, record);
  }

  /// Allocates on the first GPU.
  /// @param node, from_node  as in wire::ModuleRecord
  std::uint64_t module(std::uint64_t address, std::uint64_t node, std::uint64_t from_node) {
    wire::ModuleRecord record{};
    record.module = address;
    record.node = node;
    record.from_node = from_node;
    return add(wire::RecordType::kModule, 0, record);
  }
  std::uint64_t cuda_alloc(std::uint64_t address, std::uint64_t bytes, std::uint64_t stack = 0) {
    wire::BlockRecord record{};
    record.address = address;
    record.bytes = bytes;
    record.stack = stack;
    return add(wire::RecordType::kBlockAlloc, wire::cuda_device(0), record);
  }
  std::uint64_t cuda_free(std::uint64_t address, bool waits = false, std::uint64_t stack = 0) {
    wire::BlockRecord record{};
    record.stack = stack;
    record.address = address;
    record.bytes = waits ? wire::kFreeAwaitsStream : 0;
    return add(wire::RecordType::kBlockFree, wire::cuda_device(0), record);
  }
  std::uint64_t cuda_free_done(std::uint64_t address) {
    wire::BlockFreeDoneRecord record{};
    record.address = address;
    return add(wire::RecordType::kBlockFreeDone, wire::cuda_device(0), record);
  }
  std::uint64_t block_request(std::uint64_t address, std::uint64_t stream, std::uint64_t requested = 0) {
    wire::BlockRequestRecord record{};
    record.address = address;
    record.stream = stream;
    record.requested = requested;
    return add(wire::RecordType::kBlockRequest, wire::cuda_device(0), record);
  }
  std::uint64_t reserved(std::uint64_t bytes, bool traced, std::uint32_t device = wire::cuda_device(0)) {
    wire::ReservedRecord record{};
    record.reserved = bytes;
    record.traced = traced ? 1 : 0;
    return add(wire::RecordType::kReserved, device, record);
  }
  std::uint64_t gpu(const std::array<std::uint8_t, 16>& uuid, std::uint32_t device = wire::cuda_device(0)) {
    wire::GpuRecord record{};
    std::ranges::copy(uuid, record.uuid);
    return add(wire::RecordType::kGpu, device, record);
  }
  std::uint64_t segment(wire::SegmentEvent event, std::uint64_t address, std::uint64_t bytes, std::uint64_t stream = 0,
                        std::uint32_t device = wire::cuda_device(0), std::int64_t pool = 0) {
    wire::SegmentRecord record{};
    record.address = address;
    record.bytes = bytes;
    record.stream = stream;
    record.pool = pool;
    record.event = event;
    return add(wire::RecordType::kSegment, device, record);
  }
  /// @param name  empty: none
  std::uint64_t stream_call(wire::StreamCall call, std::uint64_t stream, std::uint64_t event, const std::string& name,
                            const std::vector<std::uint64_t>& addresses, std::uint32_t flags = 0) {
    wire::StreamCallRecord record{};
    record.stream = stream;
    record.event = event;
    record.name = name.empty() ? 0 : text(name);
    return add(wire::RecordType::kStreamCall, static_cast<std::uint32_t>(call) | flags, record,
               {reinterpret_cast<const char*>(addresses.data()), addresses.size() * sizeof(std::uint64_t)});
  }
  std::uint64_t gpu_launch(std::uint32_t call, std::uint64_t stream, std::uint64_t stack = 0) {
    wire::GpuLaunchRecord record{};
    record.stream = stream;
    record.stack = stack;
    return add(wire::RecordType::kGpuLaunch, call, record);
  }
  std::uint64_t gpu_work(std::uint64_t now, const std::vector<wire::GpuWorkItem>& items, std::uint64_t lost = 0) {
    wire::GpuWorkRecord record{};
    record.now = now;
    record.lost = lost;
    return add(wire::RecordType::kGpuWork, static_cast<std::uint32_t>(items.size()), record,
               {reinterpret_cast<const char*>(items.data()), items.size() * sizeof(wire::GpuWorkItem)});
  }
  std::uint64_t allocator(const std::string& settings, std::uint64_t limit = 0) {
    wire::AllocatorRecord record{};
    record.settings = text(settings);
    record.limit = limit;
    return add(wire::RecordType::kAllocator, wire::cuda_device(0), record);
  }
  std::uint64_t out_of_memory(std::uint32_t device, std::uint64_t requested, std::uint64_t allocated = 0,
                              std::uint64_t reserved = 0, std::uint64_t free = 0, std::uint64_t total = 0,
                              std::uint64_t stack = 0) {
    wire::OutOfMemoryRecord record{};
    record.requested = requested;
    record.allocated = allocated;
    record.reserved = reserved;
    record.free = free;
    record.total = total;
    record.stack = stack;
    return add(wire::RecordType::kOutOfMemory, device, record);
  }

  std::uint64_t op_begin(const std::string& name, std::uint64_t ordinal,
                         wire::OpScope scope = wire::OpScope::kFunction) {
    wire::OpRecord record{};
    record.name = text(name);
    record.ordinal = ordinal;
    return add(wire::RecordType::kOpBegin, static_cast<std::uint32_t>(scope), record);
  }
  std::uint64_t op_end(std::uint64_t ordinal) {
    wire::OpRecord record{};
    record.ordinal = ordinal;
    return add(wire::RecordType::kOpEnd, 0, record);
  }
  /// A whole operator with the thread's next ordinal; returns the sequence of its begin.
  std::uint64_t op(const std::string& name, wire::OpScope scope = wire::OpScope::kFunction) {
    const std::uint64_t ordinal = ++ordinal_;
    const std::uint64_t begin = op_begin(name, ordinal, scope);
    op_end(ordinal);
    return begin;
  }

  std::uint64_t mark(wire::RecordType type, wire::MarkKind kind, const std::string& name, std::uint64_t id = 0,
                     std::int64_t value = 0) {
    wire::MarkRecord record{};
    record.name = text(name);
    record.id = id;
    record.value = value;
    return add(type, static_cast<std::uint32_t>(kind), record);
  }
  std::uint64_t key(wire::RecordType type, std::int64_t key, std::uint64_t storage, std::uint64_t bytes,
                    std::uint32_t flags = 0, std::uint64_t tensor = 0, std::uint64_t cycle = 1,
                    std::uint64_t stack = 0) {
    wire::KeyRecord record{};
    record.stack = stack;
    record.graph = 7;
    record.key = key;
    record.op = text("zero::cycle");
    record.tensor = tensor;
    record.storage = storage;
    record.bytes = bytes;
    record.declared = 2;
    record.remaining = 0;
    record.cycle = cycle;
    record.ordinal = ordinal_;
    return add(type, flags, record);
  }
  std::uint64_t read(std::int64_t key, std::uint64_t storage, std::uint64_t tensor, std::uint64_t bytes,
                     std::uint32_t flags = 0) {
    wire::ReadRecord record{};
    record.graph = 7;
    record.key = key;
    record.storage = storage;
    record.tensor = tensor;
    record.bytes = bytes;
    record.op = text("aten::addmm");
    return add(wire::RecordType::kRead, flags, record);
  }

  std::uint64_t kernel_read(std::int64_t key, std::uint64_t storage, const std::string& kernel) {
    wire::ReadRecord record{};
    record.graph = 7;
    record.key = key;
    record.storage = storage;
    record.bytes = 4096;
    record.op = text(kernel);
    return add(wire::RecordType::kRead, wire::kReadByKernel, record);
  }
  std::uint64_t last_touch(std::int64_t key, std::uint64_t storage, const std::string& kernel, std::uint64_t touches,
                           std::uint64_t tsc) {
    wire::LastTouchRecord record{};
    record.graph = 7;
    record.key = key;
    record.storage = storage;
    record.op = text(kernel);
    record.touches = touches;
    record.tsc = tsc;
    return add(wire::RecordType::kLastTouch, 0, record);
  }
  std::uint64_t launches(bool observed, std::uint64_t calls, std::uint64_t graphs = 0, std::uint64_t nccl = 0) {
    wire::LaunchesRecord record{};
    record.calls = calls;
    record.graphs = graphs;
    record.nccl = nccl;
    return add(wire::RecordType::kLaunches, observed ? 1 : 0, record);
  }

  std::uint64_t census(wire::RecordType type, std::uint64_t id, std::uint64_t storage, std::uint64_t count,
                       std::uint32_t aux, std::uint64_t python_object = 0, std::int64_t key = 0) {
    wire::CensusRecord record{};
    record.census = id;
    record.storage = storage;
    record.bytes = 4096;
    record.graph = 7;
    record.key = key;
    record.count = count;
    record.python_object = python_object;
    return add(type, aux, record);
  }
  std::uint64_t census_tensor(std::uint64_t id, std::uint64_t tensor, std::uint64_t count, std::uint64_t object,
                              std::uint64_t object_count, std::uint64_t base = 0) {
    wire::CensusTensorRecord record{};
    record.census = id;
    record.tensor = tensor;
    record.count = count;
    record.python_object = object;
    record.python_count = object_count;
    record.base = base;
    return add(wire::RecordType::kCensusTensor, 0, record);
  }
  std::uint64_t census_local(std::uint64_t id, std::uint64_t object, std::uint64_t code, int index, int offset,
                             int line, const std::string& name, wire::LocalKind kind = wire::LocalKind::kLocal,
                             std::uint64_t tid = 100) {
    wire::CensusLocalRecord record{};
    record.census = id;
    record.object = object;
    record.code = code;
    record.offset = offset;
    record.line = line;
    record.index = index;
    record.name = name.empty() ? 0 : text(name);
    record.tid = tid;
    return add(wire::RecordType::kCensusLocal, static_cast<std::uint32_t>(kind), record);
  }
  /// One part of a code object in pieces of at most `piece` bytes.
  void body(std::uint64_t code, wire::CodeBodyPart part, const std::string& bytes, std::size_t piece = 64) {
    for (std::size_t at = 0; at == 0 || at < bytes.size(); at += piece) body_piece(code, part, bytes, at, piece);
  }
  /// Publishes one piece, which begins at `at`, of a body part whose complete content is `bytes`.
  void body_piece(std::uint64_t code, wire::CodeBodyPart part, const std::string& bytes, std::size_t at,
                  std::size_t most) {
    wire::CodeBodyRecord record{};
    record.code = code;
    record.python = (3 << 8) | 11;
    record.total = static_cast<std::uint32_t>(bytes.size());
    record.offset = static_cast<std::uint32_t>(at);
    const std::string_view data = std::string_view(bytes).substr(at, most);
    record.bytes = static_cast<std::uint32_t>(data.size());
    add(wire::RecordType::kCodeBody, static_cast<std::uint32_t>(part), record, data);
  }
  std::uint64_t source_line(const std::string& file, std::uint32_t line, const std::string& stack_text) {
    wire::SourceLineRecord record{};
    record.file = text(file);
    record.text = text(stack_text);
    return add(wire::RecordType::kSourceLine, line, record);
  }

 private:
  std::uint64_t next_seq_ = 1;
  std::uint64_t ordinal_ = 0;
  std::map<std::string, std::uint64_t> texts_;
  std::map<std::uint64_t, std::uint64_t> bytes_;  ///< of storages, as last recorded
};

}  // namespace dcmt::recorder::testing

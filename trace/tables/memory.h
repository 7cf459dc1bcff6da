// Memory beside torch's allocations: of the process, of GPUs, and of torch's caching allocator.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/tables/column.h"
#include "trace/tables/point.h"

namespace dcmt {

/// The kernel's figures of the process's memory at one time; bytes.
struct ResidentRow {
  RowId id = 0;
  Point at;
  std::int64_t anonymous = 0, file = 0, shared = 0;
  std::int64_t torch = 0;
  std::optional<std::int64_t> cgroup = {};

  static constexpr Table kTable{
      .name = "resident", .meaning = "What the kernel counts of the process's memory.", .since = 9};
  static constexpr void describe(auto&& column) {
    column(&ResidentRow::id, Cell{"id", "id", ""});
    column(&ResidentRow::at, At{"", "of the latest record then"});
    column(&ResidentRow::anonymous, Cell{"anonymous", "bytes", "in memory or in swap that belong to no file"});
    column(&ResidentRow::file, Cell{"file", "bytes", "in memory of files that are mapped"});
    column(&ResidentRow::shared, Cell{"shared", "bytes", "in memory of shared memory"});
    column(&ResidentRow::torch, Cell{"torch", "bytes", "that torch's allocator of the CPU had handed out"});
    column(&ResidentRow::cgroup, Cell{"cgroup", "bytes", "in use by its control group; NULL: not known"});
  }
};

/// The same figures, by the purpose of the mappings.
struct MappedRow {
  RowId sample = 0;
  std::string_view class_name;  ///< static text
  std::int64_t bytes = 0, torch = 0, size = 0;
  std::int64_t mappings = 0;
  RowId name = 0;
  std::optional<std::int64_t> free = {};

  static constexpr Table kTable{.name = "mapped",
                                .meaning = "At some of these samples the same, by what the pages are mapped for.",
                                .since = 9,
                                .key = "sample, class"};
  static constexpr void describe(auto&& column) {
    column(&MappedRow::sample, Cell{"sample", "resident", ""});
    column(&MappedRow::class_name,
           Cell{"class", "text",
                "`libraries`, `files`, `shared tensors`, `shared memory`, `driver`, `malloc`, `python`, `stacks`, "
                "`recorder` or `other`"});
    column(&MappedRow::bytes, Cell{"bytes", "bytes", "in memory or in swap"});
    column(&MappedRow::torch, Cell{"torch", "bytes", "of these, in blocks of torch's allocator"});
    column(&MappedRow::size, Cell{"size", "bytes", "of the mappings, used or not"});
    column(&MappedRow::mappings, Cell{"mappings", "number", ""});
    column(&MappedRow::name, OrNull{"name", "string", "the file of the largest one"});
    column(&MappedRow::free, Cell{"free", "bytes",
                                  "of `malloc`: what it has free in its heaps, at least; NULL: not read, which it is "
                                  "while memory that is not torch's grows",
                                  18});
  }
};

/// The kernel's figures of a forked child's memory at one time; bytes.
struct ForkedRow {
  RowId id = 0;
  Point at;
  std::int64_t pid = 0, start = 0;
  RowId name = 0;
  std::int64_t resident = 0, unshared = 0;

  static constexpr Table kTable{.name = "forked",
                                .meaning =
                                    "What the kernel counts of the memory of a child that the process has "
                                    "forked, without an exec. Children are sampled together.",
                                .since = 14};
  static constexpr void describe(auto&& column) {
    column(&ForkedRow::id, Cell{"id", "id", ""});
    column(&ForkedRow::at, At{"", "of the latest record of the process then"});
    column(&ForkedRow::pid, Cell{"pid", "number", "in the recorder's namespace"});
    column(&ForkedRow::start, Cell{"start", "number", "when it was forked; clock ticks since boot"});
    column(&ForkedRow::name, Cell{"name", "string", "of its main thread"});
    column(&ForkedRow::resident, Cell{"resident", "bytes", ""});
    column(&ForkedRow::unshared, Cell{"unshared", "bytes", "changed, and in no other process, or swapped out"});
  }
};

/// A collection in the memory of a forked child.
struct ForkedCollectionRow {
  RowId reading = 0;
  std::int64_t position = 0;
  Point at;
  std::int64_t pid = 0;
  RowId path = 0, place = 0, type = 0;
  std::int64_t entries = 0, bytes = 0, unshared = 0;
  RowId entry_type = 0;
  bool inherited = false;

  static constexpr Table kTable{.name = "forked_collection",
                                .meaning =
                                    "Lists, dictionaries and other collections that a reading of a forked child "
                                    "found.",
                                .since = 14,
                                .key = "reading, position"};
  static constexpr void describe(auto&& column) {
    column(&ForkedCollectionRow::reading, Cell{"reading", "number", "from 1"});
    column(&ForkedCollectionRow::position, Cell{"position", "number", "0: most bytes"});
    column(&ForkedCollectionRow::at, At{"", "of the latest record of the process at the end of the reading"});
    column(&ForkedCollectionRow::pid, Cell{"pid", "number", "as of `forked`"});
    column(&ForkedCollectionRow::path, Cell{"path", "string", "as of a `collection`"});
    column(&ForkedCollectionRow::place, OrNull{"place", "string", "as of an owner"});
    column(&ForkedCollectionRow::type, Cell{"type", "string", "`list`"});
    column(&ForkedCollectionRow::entries, Cell{"entries", "number", ""});
    column(&ForkedCollectionRow::bytes,
           Cell{"bytes", "bytes", "with what they hold, estimated from a sample of the entries"});
    column(&ForkedCollectionRow::unshared, Cell{"unshared", "bytes", "of them, on pages that no other process has"});
    column(&ForkedCollectionRow::entry_type, OrNull{"entry_type", "string", "type of most entries"});
    column(&ForkedCollectionRow::inherited, Cell{"inherited", "flag", "1: the parent had the same one then"});
  }
};

/// What is in use of a GPU's memory at one time; bytes.
struct GpuMemoryRow {
  RowId id = 0;
  std::int64_t ns = 0;
  std::int64_t gpu = 0;
  std::int64_t used = 0, total = 0;
  std::optional<std::int64_t> process = {};
  std::int64_t reserved = 0;

  static constexpr Table kTable{
      .name = "gpu_memory", .meaning = "What is in use of a GPU's memory, as its driver counts it.", .since = 11};
  static constexpr void describe(auto&& column) {
    column(&GpuMemoryRow::id, Cell{"id", "id", ""});
    column(&GpuMemoryRow::ns, Cell{"ns", "ns", ""});
    column(&GpuMemoryRow::gpu, Gpu{"the number that torch has for it"});
    column(&GpuMemoryRow::used, Cell{"used", "bytes", "by all processes"});
    column(&GpuMemoryRow::total, Cell{"total", "bytes", "that the GPU has for programs"});
    column(&GpuMemoryRow::process, Cell{"process", "bytes", "used by this process; NULL: not known"});
    column(&GpuMemoryRow::reserved, Cell{"reserved", "bytes", "that torch's allocator of this process had reserved"});
  }
};

/// Addresses that CUDA's caching allocator reserved together. A begin with sequence 0: before the first record.
struct SegmentRow {
  RowId id = 0;
  std::int64_t gpu = 0;
  std::int64_t address = 0;
  std::int64_t bytes = 0;
  std::int64_t stream = 0;
  bool expandable = false;
  Span span;
  std::optional<std::int64_t> pool = {};  ///< a private one; 0: none

  static constexpr Table kTable{
      .name = "segment", .meaning = "Addresses that CUDA's caching allocator had reserved together.", .since = 10};
  static constexpr void describe(auto&& column) {
    column(&SegmentRow::id, Cell{"id", "id", ""});
    column(&SegmentRow::gpu, Gpu{"the number that torch has for it"});
    column(&SegmentRow::address, Cell{"address", "address", ""});
    column(&SegmentRow::bytes, Cell{"bytes", "bytes", ""});
    column(&SegmentRow::stream, Cell{"stream", "number", "as of a block"});
    column(&SegmentRow::expandable,
           Cell{"expandable", "flag", "1: a part of an expandable segment that was mapped at once"});
    column(&SegmentRow::span, FromTo{});
    column(&SegmentRow::pool, Cell{"pool", "number",
                                   "the private pool whose requests alone it serves: N has the id (0, N) for torch, -N "
                                   "has (N, 0); 0: none; NULL: not known",
                                   15});
  }
};

/// How torch's allocator of a GPU was set.
struct AllocatorRow {
  RowId id = 0;
  std::int64_t gpu = 0;
  Point at;
  RowId settings = 0;
  std::optional<std::int64_t> limit = {};

  static constexpr Table kTable{.name = "allocator", .meaning = "How torch's allocator of a GPU was set.", .since = 15};
  static constexpr void describe(auto&& column) {
    column(&AllocatorRow::id, Cell{"id", "id", ""});
    column(&AllocatorRow::gpu, Gpu{"the number that torch has for it"});
    column(&AllocatorRow::at, At{"", "when its segments were listed"});
    column(&AllocatorRow::settings, Cell{"settings", "string", "the text of `PYTORCH_ALLOC_CONF`, as torch has it"});
    column(
        &AllocatorRow::limit,
        Cell{"limit_bytes", "bytes", "the most that it may reserve, by the process's memory fraction; NULL: no limit"});
  }
};

/// A request that an allocator could not satisfy. Its id is its sequence.
struct OutOfMemoryRow {
  RowId id = 0;
  std::optional<std::int64_t> gpu;  ///< nullopt: a request for the CPU
  std::int64_t requested = 0;
  std::optional<std::int64_t> allocated, reserved, free, total;
  Place where;
  std::int64_t ns = 0;

  static constexpr Table kTable{
      .name = "oom", .meaning = "A request that torch's allocator could not satisfy.", .since = 2};
  static constexpr void describe(auto&& column) {
    column(&OutOfMemoryRow::id, Cell{"id", "seq", ""});
    column(&OutOfMemoryRow::gpu, Gpu{"NULL: the CPU"});
    column(&OutOfMemoryRow::requested, Cell{"requested", "bytes", "CUDA: rounded as the allocator does"});
    column(&OutOfMemoryRow::allocated, Cell{"allocated", "bytes", "by torch's own count; NULL for the CPU"});
    column(&OutOfMemoryRow::reserved, Cell{"reserved", "bytes", "by torch's own count; NULL for the CPU"});
    column(&OutOfMemoryRow::free, Cell{"free", "bytes", "of the device, by CUDA; NULL: not known"});
    column(&OutOfMemoryRow::total, Cell{"total", "bytes", "of the device, by CUDA; NULL: not known"});
    column(&OutOfMemoryRow::where, WholePlace{});
    column(&OutOfMemoryRow::ns, Cell{"ns", "ns", ""});
  }
};

}  // namespace dcmt

// What the kernel counted of the process's memory, besides torch's (trace/sql/0009.sql).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/owners.h"
#include "trace/base/status.h"
#include "trace/base/typed_id.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

/// One sample. Bytes are those in memory or in swap.
struct Resident {
  std::int64_t id = 0;
  Sequence seq;  ///< the latest record at that time
  TimeNs ns;
  Bytes anonymous;  ///< mapped from no file
  Bytes file;       ///< mapped from files
  Bytes shared;     ///< shared memory
  Bytes torch;      ///< handed out by torch's CPU allocator, touched or not
  std::optional<Bytes> cgroup;

  [[nodiscard]] Bytes all() const { return Bytes(anonymous.value + file.value + shared.value); }
};

/// The memory of a sample that is mapped for one purpose.
struct Mapped {
  std::int64_t sample = 0;
  std::string kind;  ///< the class: "malloc"
  Bytes bytes;       ///< in memory or in swap
  Bytes torch;       ///< the part of `bytes` in blocks of torch's allocator
  Bytes size;        ///< size of the mappings, used or not
  std::int64_t mappings = 0;
  StringId name;              ///< the file of the largest mapping; zero: it has none
  std::optional<Bytes> free;  ///< of malloc: what it has free in its heaps, at least

  [[nodiscard]] Bytes outside() const { return Bytes(bytes.value - torch.value); }
};

/// The holder of numpy arrays at a reading of the memory.
struct ArrayHolder {
  ScanId scan;
  StringId path, place, type;
  std::int64_t arrays = 0;
  Bytes bytes;
};

struct ProcessMemory {
  std::vector<Resident> samples;     ///< ascending by id
  std::vector<Mapped> mapped;        ///< ascending by sample
  std::vector<ArrayHolder> holders;  ///< ascending by scan, most bytes first

  /// Loads nothing from a trace before schema 9.
  static Expected<ProcessMemory> load(Database& database);

  [[nodiscard]] std::span<const Mapped> classes_of(const Resident& sample) const;
  /// The samples that have classes (`mapped`), in order.
  [[nodiscard]] std::vector<const Resident*> with_classes() const;
};

}  // namespace dcmt::analyzer

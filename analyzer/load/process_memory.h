// What the kernel counted of the process's memory, beside torch's (trace/sql/0009.sql).
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

/// One sample; bytes in memory or in swap.
struct Resident {
  std::int64_t id = 0;
  Sequence seq;  ///< of the latest record then
  TimeNs ns;
  Bytes anonymous;  ///< that belong to no file
  Bytes file;       ///< of files that it has mapped
  Bytes shared;     ///< of shared memory
  Bytes torch;      ///< that torch's allocator of the CPU had handed out, touched or not
  std::optional<Bytes> cgroup;

  [[nodiscard]] Bytes all() const { return Bytes(anonymous.value + file.value + shared.value); }
};

/// What of a sample is mapped for one purpose.
struct Mapped {
  std::int64_t sample = 0;
  std::string kind;  ///< the class: "malloc"
  Bytes bytes;       ///< in memory or in swap
  Bytes torch;       ///< of these, in blocks of torch's allocator
  Bytes size;        ///< of the mappings, used or not
  std::int64_t mappings = 0;
  StringId name;  ///< the file of the largest; zero: it has none

  [[nodiscard]] Bytes outside() const { return Bytes(bytes.value - torch.value); }
};

/// Who held arrays of numpy at a reading of the memory.
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

  /// Of a trace before schema 9: nothing.
  static Expected<ProcessMemory> load(Database& database);

  [[nodiscard]] std::span<const Mapped> classes_of(const Resident& sample) const;
  /// The samples that have classes, in order.
  [[nodiscard]] std::vector<const Resident*> with_classes() const;
};

}  // namespace dcmt::analyzer

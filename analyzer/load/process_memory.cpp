#include "analyzer/load/process_memory.h"

#include <algorithm>

#include "analyzer/load/row_cursor.h"
#include "trace/base/printable.h"

namespace dcmt::analyzer {

Expected<ProcessMemory> ProcessMemory::load(Database& database) {
  ProcessMemory memory;
  DCMT_ASSIGN_OR_RETURN(const bool known, has_table(database, "resident"));
  if (!known) return memory;  // from schema 9
  DCMT_RETURN_IF_ERROR(read_rows(database,
                                 "SELECT id, seq, ns, anonymous, file, shared, torch, cgroup FROM resident ORDER BY id",
                                 [&](Cursor& in) {
                                   Resident sample;
                                   sample.id = in.any();
                                   sample.seq = in.id<Sequence>();
                                   sample.ns = in.id<TimeNs>();
                                   for (Bytes* bytes : {&sample.anonymous, &sample.file, &sample.shared, &sample.torch})
                                     *bytes = in.bytes();
                                   sample.cgroup = in.optional_bytes();
                                   memory.samples.push_back(sample);
                                 }));
  DCMT_RETURN_IF_ERROR(
      read_rows(database, "SELECT sample, class, bytes, torch, size, mappings, name FROM mapped ORDER BY sample, class",
                [&](Cursor& in) {
                  Mapped mapped;
                  mapped.sample = in.any();
                  mapped.kind = printable(in.text());
                  mapped.bytes = in.bytes();
                  mapped.torch = in.bytes();
                  mapped.size = in.bytes();
                  mapped.mappings = in.integer();
                  mapped.name = in.id<StringId>();
                  memory.mapped.push_back(std::move(mapped));
                }));
  DCMT_RETURN_IF_ERROR(
      read_rows(database, "SELECT scan, path, place, type, arrays, bytes FROM array_holder ORDER BY scan, position",
                [&](Cursor& in) {
                  ArrayHolder holder;
                  holder.scan = in.id<ScanId>();
                  holder.path = in.id<StringId>();
                  holder.place = in.id<StringId>();
                  holder.type = in.id<StringId>();
                  holder.arrays = in.integer();
                  holder.bytes = in.bytes();
                  memory.holders.push_back(holder);
                }));
  return memory;
}

std::span<const Mapped> ProcessMemory::classes_of(const Resident& sample) const {
  const auto found = std::ranges::equal_range(mapped, sample.id, {}, &Mapped::sample);
  return {found.begin(), found.end()};
}

std::vector<const Resident*> ProcessMemory::with_classes() const {
  std::vector<const Resident*> result;
  for (const Resident& sample : samples) {
    if (!classes_of(sample).empty()) result.push_back(&sample);
  }
  return result;
}

}  // namespace dcmt::analyzer

#include "analyzer/load/process_memory.h"

#include <algorithm>

#include "analyzer/load/table_reader.h"
#include "trace/base/printable.h"

namespace dcmt::analyzer {

Expected<ProcessMemory> ProcessMemory::load(Database& database) {
  ProcessMemory memory;
  DCMT_RETURN_IF_ERROR(read_rows<Resident>(
      database, "ORDER BY id", [&](const Resident& sample) { memory.samples.push_back(sample); },
      column<&ResidentRow::id>([](Resident& sample, Any id) { sample.id = id.value; }),
      column<&ResidentRow::at>([](Resident& sample, const PointInTime& at) {
        sample.seq = at.seq;
        sample.ns = at.ns;
      }),
      column<&ResidentRow::anonymous, &Resident::anonymous>(), column<&ResidentRow::file, &Resident::file>(),
      column<&ResidentRow::shared, &Resident::shared>(), column<&ResidentRow::torch, &Resident::torch>(),
      column<&ResidentRow::cgroup, &Resident::cgroup>()));
  DCMT_RETURN_IF_ERROR(read_rows<Mapped>(
      database, "ORDER BY sample, class", [&](const Mapped& mapped) { memory.mapped.push_back(mapped); },
      column<&MappedRow::sample>([](Mapped& mapped, Any sample) { mapped.sample = sample.value; }),
      column<&MappedRow::class_name>([](Mapped& mapped, std::string_view text) { mapped.kind = printable(text); }),
      column<&MappedRow::bytes, &Mapped::bytes>(), column<&MappedRow::torch, &Mapped::torch>(),
      column<&MappedRow::size, &Mapped::size>(), column<&MappedRow::mappings, &Mapped::mappings>(),
      column<&MappedRow::name, &Mapped::name>(), column<&MappedRow::free, &Mapped::free>()));
  DCMT_RETURN_IF_ERROR(read_rows<ArrayHolder>(
      database, "ORDER BY scan, position", [&](const ArrayHolder& holder) { memory.holders.push_back(holder); },
      column<&ArrayHolderRow::scan, &ArrayHolder::scan>(), column<&ArrayHolderRow::path, &ArrayHolder::path>(),
      column<&ArrayHolderRow::place, &ArrayHolder::place>(), column<&ArrayHolderRow::type, &ArrayHolder::type>(),
      column<&ArrayHolderRow::arrays, &ArrayHolder::arrays>(), column<&ArrayHolderRow::bytes, &ArrayHolder::bytes>()));
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

#include "analyzer/load/forked_memory.h"

#include "analyzer/load/table_reader.h"

namespace dcmt::analyzer {

Expected<ForkedMemory> ForkedMemory::load(Database& database) {
  ForkedMemory memory;
  DCMT_RETURN_IF_ERROR(read_rows<ForkedSample>(
      database, "ORDER BY id", [&](const ForkedSample& sample) { memory.samples.push_back(sample); },
      column<&ForkedRow::at>([](ForkedSample& sample, const PointInTime& at) { sample.ns = at.ns; }),
      column<&ForkedRow::pid, &ForkedSample::pid>(), column<&ForkedRow::start, &ForkedSample::start>(),
      column<&ForkedRow::name, &ForkedSample::name>(), column<&ForkedRow::resident, &ForkedSample::resident>(),
      column<&ForkedRow::unshared, &ForkedSample::unshared>()));
  DCMT_RETURN_IF_ERROR(read_rows<ForkedCollection>(
      database, "ORDER BY reading, position", [&](const ForkedCollection& each) { memory.collections.push_back(each); },
      column<&ForkedCollectionRow::reading, &ForkedCollection::reading>(),
      column<&ForkedCollectionRow::at>([](ForkedCollection& each, const PointInTime& at) { each.ns = at.ns; }),
      column<&ForkedCollectionRow::pid, &ForkedCollection::pid>(),
      column<&ForkedCollectionRow::path, &ForkedCollection::path>(),
      column<&ForkedCollectionRow::place, &ForkedCollection::place>(),
      column<&ForkedCollectionRow::type, &ForkedCollection::type>(),
      column<&ForkedCollectionRow::entry_type, &ForkedCollection::entry_type>(),
      column<&ForkedCollectionRow::entries, &ForkedCollection::entries>(),
      column<&ForkedCollectionRow::bytes, &ForkedCollection::bytes>(),
      column<&ForkedCollectionRow::unshared, &ForkedCollection::unshared>(),
      column<&ForkedCollectionRow::inherited, &ForkedCollection::inherited>()));
  return memory;
}

}  // namespace dcmt::analyzer

#include "collector/recorder/assemble/census_facts.h"

#include <set>
#include <tuple>

#include "collector/recorder/decode/record_view.h"

namespace dcmt::recorder {

RowId CensusFacts::tensor_of(std::uint64_t object) const {
  RowId tensor = 0;
  for (const CensusTensor& seen : tensors) {
    if (seen.record.python_object == object) tensor = seen.row;
  }
  return tensor;
}

CensusFacts facts_of(std::span<const CensusPiece> pieces) {
  CensusFacts facts;
  std::set<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, std::int32_t, std::uint64_t>> slots;
  std::set<std::uint64_t> addresses;
  for (const CensusPiece& piece : pieces) {
    const auto header = view_as<wire::RecordHeader>(piece.bytes);
    if (header->type == wire::RecordType::kCensusTensor) {
      const auto record = view_as<wire::CensusTensorRecord>(piece.bytes);
      if (addresses.insert(record->tensor).second) facts.tensors.push_back({*record, piece.resolved});
    } else if (header->type == wire::RecordType::kCensusLocal) {
      const auto record = view_as<wire::CensusLocalRecord>(piece.bytes);
      const std::tuple slot(record->tid, record->depth, record->header.aux, record->index, record->object);
      if (slots.insert(slot).second) facts.locals.push_back({*record, &piece});
    }
  }
  for (CensusTensor& tensor : facts.tensors) {
    for (const CensusTensor& view : facts.tensors) tensor.views += view.record.base == tensor.record.tensor ? 1 : 0;
    for (const CensusLocal& local : facts.locals) {
      if (tensor.record.python_object == local.record.object) ++tensor.names;
    }
  }
  return facts;
}

std::vector<CensusEquation> equations_of(const wire::CensusRecord& begin, const CensusFacts& facts) {
  std::vector<CensusEquation> equations;
  const std::uint64_t objects = begin.python_object != 0 ? 1 : 0;
  equations.push_back({"storage", 0, begin.count, facts.tensors.size() + objects});
  for (const CensusTensor& tensor : facts.tensors) {
    const bool has_object = tensor.record.python_object != 0;
    equations.push_back({"tensor", tensor.row, tensor.record.count, tensor.views + (has_object ? 1 : 0)});
    if (has_object && tensor.record.python_count != 0) {
      equations.push_back(
          {"object", tensor.row, tensor.record.python_count, tensor.names + (tensor.record.count > 1 ? 1 : 0)});
    }
  }
  return equations;
}

}  // namespace dcmt::recorder

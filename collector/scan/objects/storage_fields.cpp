#include "collector/scan/objects/storage_fields.h"

namespace dcmt::scan {
namespace {

constexpr Address kReferenceCount = 8;  // in an intrusive_ptr_target; the low half counts strong references
constexpr std::uint32_t kMostReferences = 100'000'000;

// In c10::DataPtr, after the data.
constexpr Address kDeleter = 8;
constexpr Address kContext = 16;
constexpr Address kDevice = 24;

/// More than any device has.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;

bool is_mapped(Range range, Mirror& memory) {
  while (range.begin < range.end) {
    const Region* region = memory.region_of(range.begin);
    if (region == nullptr) return false;
    range.begin = region->end;
  }
  return true;
}

bool is_code(Address address, Mirror& memory) {
  const Region* region = memory.region_of(address);
  return region != nullptr && region->executable;
}

}  // namespace

StorageFields storage_fields(Address storage, Mirror& memory, const TorchLayout& torch) {
  const Address data = storage + torch.storage_data;
  StorageFields fields;
  fields.storage = storage;
  fields.data = memory.word(data);
  fields.bytes = memory.word(storage + torch.storage_bytes);
  fields.references = memory.value<std::uint32_t>(storage + kReferenceCount);
  fields.context = memory.word(data + kContext);
  fields.deleter = memory.word(data + kDeleter);
  fields.on_host = memory.value<std::uint8_t>(data + kDevice) == 0;
  return fields;
}

bool is_plausible(const StorageFields& fields, Mirror& memory) {
  const bool counted = fields.references > 0 && fields.references < kMostReferences;
  if (fields.data == 0 || !counted || fields.bytes > kMostBytes) return false;
  if (fields.deleter != 0 && !is_code(fields.deleter, memory)) return false;
  return !fields.on_host || is_mapped({fields.data, fields.data + fields.bytes}, memory);
}

bool is_cpu_block(const StorageFields& fields) { return fields.on_host && fields.context == fields.data; }

bool still_lives(const StorageFields& earlier, Mirror& fresh, const TorchLayout& torch) {
  const StorageFields now = storage_fields(earlier.storage, fresh, torch);
  return now.data == earlier.data && now.bytes == earlier.bytes && is_plausible(now, fresh);
}

}  // namespace dcmt::scan

// Records of tensors and storages.
#pragma once

#include <cstdint>

#include "trace/wire/record_header.h"

namespace dcmt::wire {

/// A tensor object and the storage it refers to (both addresses). `storage` 0: none.
struct TensorRecord {
  RecordHeader header;
  std::uint64_t tensor;
  std::uint64_t storage;
  std::uint64_t data;   ///< data pointer of the storage, 0 if none
  std::uint64_t bytes;  ///< bytes of the storage
  std::uint64_t stack;  ///< StackRecord id or 0
};
static_assert(sizeof(TensorRecord) == 64);

struct RepointRecord {
  RecordHeader header;
  std::uint64_t tensor;
  std::uint64_t old_storage;
  std::uint64_t storage;
  std::uint64_t data;
  std::uint64_t bytes;
  std::uint64_t stack;
};
static_assert(sizeof(RepointRecord) == 72);

struct StorageRecord {
  RecordHeader header;  ///< aux: operators begun on this thread so far (its low 32 bits)
  std::uint64_t storage;
  std::uint64_t data;
  std::uint64_t bytes;
  std::uint64_t stack;
};
static_assert(sizeof(StorageRecord) == 56);

struct ResizeRecord {
  RecordHeader header;
  std::uint64_t storage;
  std::uint64_t old_bytes;
  std::uint64_t bytes;
  std::uint64_t data;
  std::uint64_t stack;
};
static_assert(sizeof(ResizeRecord) == 64);

}  // namespace dcmt::wire

// Records the events of gathered parameters: gather, wait, release, and what the release left.
//
// A key is (graph, parameter). Its storage is the output of its latest gather or wait. A release operator's tensor
// argument is an activation and is ignored. The rules of a cycle are in key_cycle.h, the keys in key_table.h, their
// storages in storage_watch.h, and reads after a release in key_reads.h.
#pragma once

#include <atomic>
#include <cstdint>

#include "collector/torch/records/key_reads.h"
#include "collector/torch/state/key_table.h"
#include "collector/torch/state/storage_watch.h"
#include "trace/wire/records.h"

namespace dcmt::torch_provider {

/// False without memory. Call it once, before all other functions.
bool make_release_keys() noexcept;
/// Forgets all keys. The caller has emptied the memory of arena().
void forget_release_keys() noexcept;

/// The result of a gather or wait: a tensor, or (`tensor` nullptr) a storage.
struct Gathered {
  const void* tensor;
  const void* storage;
};

/// `op` is the string id of the operator, function or mark. `flags` may contain wire::kKeyExplicit, kKeyFunction and
/// kKeyUnwound.
void key_gathered(KeyName name, Gathered what, std::uint64_t op, std::uint32_t flags) noexcept;
void key_waited(KeyName name, Gathered what, std::uint64_t op, std::uint32_t flags) noexcept;
void key_persistent(KeyName name, std::uint64_t op, std::uint32_t flags) noexcept;
void key_release_begins(KeyName name, std::int32_t declared, std::uint64_t op, std::uint32_t flags) noexcept;
void key_release_ends(KeyName name, std::int32_t declared, std::uint64_t op, std::uint32_t flags) noexcept;

/// True if a cycle of this key is open.
bool key_is_gathered(KeyName name) noexcept;

enum class Settling {
  kWithCensus,
  kNoCensus,  ///< no census is possible here; the thread's next activity that allows one makes it
};
/// The calling thread continues (an operator begins, a block was allocated, a kernel is launched): its final releases
/// get their verdict and, if bytes remain, a census.
void settle_releases(Settling where) noexcept;
/// Under `prove --by free`: what the calling thread's releases have left is freed, before they are settled. Call it
/// outside of the guard.
void free_released(bool (*empty)(const void* storage) noexcept) noexcept;

/// Makes a census of the storages that outlived their release; of the largest ones if there are many.
void inspect_released(wire::CensusTrigger trigger) noexcept;

// The hooks of tensors and storages call these. Cheap if nothing is watched.
void watched_storage_ends(const void* storage) noexcept;
/// The storage has no bytes any more.
void watched_storage_empties(const void* storage) noexcept;

}  // namespace dcmt::torch_provider

// What happens to gathered parameters, as records: gather, wait, release, and what the release left.
//
// A key is (graph, parameter). Its storage is the output of its latest gather or wait; a release operator's tensor
// argument is an activation and says nothing. The rules of a cycle are key_cycle.h, the keys key_table.h, their
// storages storage_watch.h, and reads after a release key_reads.h.
#pragma once

#include <atomic>
#include <cstdint>

#include "collector/torch/key_reads.h"
#include "collector/torch/key_table.h"
#include "collector/torch/storage_watch.h"
#include "trace/wire/records.h"

namespace dcmt::torch_provider {

/// False without memory. Once, before all else.
bool make_release_keys() noexcept;
/// There are no keys any more. The caller has emptied the memory of arena().
void forget_release_keys() noexcept;

/// What a gather or wait gives: a tensor, or (`tensor` nullptr) a storage.
struct Gathered {
  const void* tensor;
  const void* storage;
};

/// `op` is the string id of the operator, function or mark. `flags` may carry wire::kKeyExplicit, kKeyFunction and
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
  kNoCensus,  ///< here nobody can be asked: the census comes with the thread's next activity where it can
};
/// The calling thread goes on (an operator begins, a block was allocated, a kernel is launched): its final releases get
/// their verdict and, where bytes remain, a census.
void settle_releases(Settling where) noexcept;

/// A census of the storages that outlived their release: of the largest, if there are many.
void look_at_released(wire::CensusTrigger trigger) noexcept;

/// True once something has been gathered.
bool keys_exist() noexcept;

// Told by the lifetime hooks. Cheap where nothing is watched.
void watched_storage_ends(const void* storage) noexcept;
/// It has no bytes any more.
void watched_storage_empties(const void* storage) noexcept;

}  // namespace dcmt::torch_provider

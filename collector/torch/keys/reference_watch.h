// Watches reference counts under `run --watch`: of one storage at a time, its own count, those of its tensors and of
// their Python objects, as far as there are watchpoints. Each change is recorded by the thread that makes it
// (docs/decisions/watching.md). Where there are no watchpoints, the counts are read at operators.
//
// Thread-safety: any thread may call these functions at any time, inside the guard. If another thread is setting
// watchpoints, a call leaves that to a later one.
#pragma once

#include <cstdint>

#include "collector/torch/state/key_table.h"

namespace dcmt::torch_provider {

extern constinit bool g_watching_counts;  ///< written in reference_watch.cpp only, before the first hook is installed
inline bool watching_counts() noexcept { return g_watching_counts; }
/// Requires watching_counts(). True if counts are read at operators.
bool counts_are_read() noexcept;

/// Reads what is to be watched. Call it once in a recording, before the hooks are installed.
void prepare_reference_watch() noexcept;
/// Clears all watchpoints. The hooks are restored.
void leave_reference_watch() noexcept;

/// The first tensor was born on a storage. The storage is watched if the birth is at a chosen place, and no other one
/// is watched.
/// @param stack  id of the Python stack
void counted_storage_born(const void* tensor, const void* storage, std::uint64_t stack) noexcept;
/// A parameter was gathered into the storage. It is watched if the parameter is chosen, and no other one is watched.
void counted_key_gathered(KeyName name, const void* storage) noexcept;
/// Another tensor refers to the storage.
void counted_tensor_joins(const void* storage) noexcept;
/// The tensor ends, or leaves its storage.
void counted_tensor_ends(const void* tensor) noexcept;
void counted_storage_ends(const void* storage) noexcept;

/// Where counts are read: records those that have changed.
void read_counts() noexcept;
/// Records what the counts are now.
void check_counts() noexcept;

}  // namespace dcmt::torch_provider

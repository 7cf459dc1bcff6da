// Proves that nobody uses what a release has left: the storages of chosen parameters are fenced from the end of their
// release on (docs/decisions/proving.md). Only under `dc-memtrace prove`.
#pragma once

#include "collector/torch/state/key_table.h"
#include "collector/torch/state/storage_copy.h"

namespace dcmt::torch_provider {

enum class ProveBy : std::uint8_t { kFence, kPoison, kFree, kCompare };

extern constinit bool g_proving;  ///< written in proof.cpp only, before the first hook is installed
inline bool proving() noexcept { return g_proving; }
/// Requires proving().
ProveBy prove_by() noexcept;

/// Reads which parameters are chosen. Call it once, before the hooks are installed.
void prepare_proof() noexcept;
/// Opens all fences. The hooks are restored.
void leave_proof() noexcept;

/// A key of this graph is gathered, perhaps for the first time. A chosen key is recognized in a run in which its graph
/// has another number.
void see_graph(std::int64_t graph) noexcept;
/// The final release of the key has ended: its storage is fenced if the key is chosen. Its KeyGuard is owned.
void fence_released(KeyIndex key) noexcept;
/// That release is settled and has left the storage, of which `copy` is a copy: what is fenced is recorded, or it is
/// overwritten. Likewise.
void prove_left(KeyIndex key, const void* storage, const StorageCopy& copy) noexcept;
/// A key was gathered into the storage.
void unfence_gathered(const void* storage) noexcept;
/// True if the storage of the key is to be freed now.
bool is_to_free(KeyIndex key) noexcept;
/// The program has computed a gradient, or read a number, by the operator or node with this name.
void write_result(const char* name, const void* data, std::uint64_t bytes) noexcept;
/// Writes how many touches could not be recorded when they happened. Call it inside the guard.
void write_unseen_touches() noexcept;

}  // namespace dcmt::torch_provider

// Identities of code objects. A code object is identified by (address, generation), never by a reference: a reference
// would keep alive what the program has dropped, and could not be dropped without the GIL.
#pragma once

#include <Python.h>

#include <cstdint>

namespace dcmt::python_provider {

struct CodeIdentity {
  std::uint64_t id = 0;
  bool sure = false;           ///< published, and the address identifies this code object until code_epoch() grows
  std::uint32_t function = 0;  ///< its row in the table of functions, see function_table.h
};

/// The code object's id; publishes its CodeRecord at first sight. Does not need the GIL: a frame of the caller, or the
/// GIL, keeps `code` alive.
CodeIdentity identify(const PyCodeObject* code) noexcept;

/// The source line of an instruction; 0 if it has none. Conditions are those of identify(), which returned `id`.
/// `offset` is in bytes; negative: the frame has not started.
int line_of(const PyCodeObject* code, std::uint64_t id, std::int32_t offset) noexcept;

/// The code of torch.nn.Module's __call__, whose first variable is the module; nullptr until it was identified. Only to
/// compare identity.
const PyCodeObject* module_call() noexcept;

/// Grows when an identified code object dies: identities from addresses are not sure any more.
std::uint64_t code_epoch() noexcept;

/// Maps the table and begins to observe deaths of code objects. Call it once, with the GIL. False if there is no
/// memory: identities then come from fingerprints and are never sure.
bool watch_codes() noexcept;

/// Stops observing, unless another tool has replaced the destructor since. The next watch_codes() forgets all
/// identities, because deaths are missed meanwhile.
void unwatch_codes() noexcept;

}  // namespace dcmt::python_provider

// Identities of code objects. A code object is named by (address, generation), never by a reference: holding one would
// keep alive what the program has dropped, and could not be given back without the GIL.
#pragma once

#include <Python.h>

#include <cstdint>

namespace dcmt::python_provider {

struct CodeIdentity {
  std::uint64_t id = 0;
  bool sure = false;           ///< it is published, and the address names this code object until code_epoch() grows
  std::uint32_t function = 0;  ///< its row in the table of functions, see functions.h
};

/// The code object's id; its CodeRecord is published at first sight. The GIL is not needed: a frame of the caller, or
/// the GIL, keeps `code` alive.
CodeIdentity identify(const PyCodeObject* code) noexcept;

/// The source line of an instruction, 0 if it has none. Like identify(), which gave `id`. `offset` in bytes, negative:
/// the frame has not started.
int line_of(const PyCodeObject* code, std::uint64_t id, std::int32_t offset) noexcept;

/// Grows whenever a code object dies that was identified: what was known by addresses before is no longer sure.
std::uint64_t code_epoch() noexcept;

/// Maps the table and begins to watch the deaths of code objects. Called once, with the GIL. False if there is no
/// memory: identities then come from fingerprints and are never sure.
bool watch_codes() noexcept;

/// Does not any more, where nobody else has replaced the destructor since. What is known is forgotten by the next
/// watch_codes(): code objects die unseen meanwhile.
void unwatch_codes() noexcept;

}  // namespace dcmt::python_provider

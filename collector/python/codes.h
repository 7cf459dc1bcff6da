// Identities of code objects. A code object is named by (address, generation), never by a reference: holding one would
// keep alive what the program has dropped, and could not be given back without the GIL.
#pragma once

#include <Python.h>

#include <cstdint>

namespace dcmt::python_provider {

struct CodeIdentity {
  std::uint64_t id = 0;
  bool armed = false;  ///< the death of this code object will be noticed, so its address is a sure name until then
};

/// The code object's id; its CodeRecord is published at first sight.
/// @param code      kept alive by a frame of the caller, or by the GIL
/// @param have_gil  the caller holds the GIL: the code object can be armed
CodeIdentity identify(PyCodeObject* code, bool have_gil) noexcept;

/// What tells a code object that is not armed from another at the same address: nothing of it changes in its life.
std::uint64_t fingerprint(const PyCodeObject* code) noexcept;

/// False once CPython has refused to tell about deaths: no code object will ever be armed.
bool arming_possible() noexcept;

/// Grows whenever an armed code object dies: what was known by addresses before is no longer sure.
std::uint64_t code_epoch() noexcept;

/// Maps the table. False if there is no memory: identities then come from fingerprints.
bool make_code_table() noexcept;

}  // namespace dcmt::python_provider

// Functions that stand in a slot for a moment, to see whether it is called and with what. A witness keeps its first two
// arguments and jumps on with stack and registers as they came: whatever function the slot holds, of any arguments, is
// called as before. A hook could not be tried out like this: in the wrong slot it would itself do the harm.
#pragma once

#include <cstddef>

namespace dcmt::elf {

inline constexpr std::size_t kWitnesses = 32;

/// The witness of a number below kWitnesses, and from now on `real` is what it passes on to.
void* witness(std::size_t number, void* real) noexcept;

/// The first two arguments of the last call by the thread that made the witness.
struct Witnessed {
  const void* first;
  const void* second;
};
Witnessed witnessed(std::size_t number) noexcept;

/// Forgets all calls so far.
void forget_witnessed() noexcept;

}  // namespace dcmt::elf

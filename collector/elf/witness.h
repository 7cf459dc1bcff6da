// Functions that are put into a slot for a short time, to see whether it is called and with which arguments. A witness
// records its first two arguments and jumps to the real function with unchanged stack and registers. So any function,
// with any arguments, can be behind it. A hook could not be tested in this way: in a wrong slot it would do the damage
// itself.
#pragma once

#include <cstddef>

namespace dcmt::elf {

inline constexpr std::size_t kWitnesses = 32;

/// The witness with this number, which is below kWitnesses. From now on it jumps to `real`.
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

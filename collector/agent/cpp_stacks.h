// Stacks of C++ functions: of births in a program without Python, of sampled allocations, of writes to watched counts.
//
// A frame is left by the unwinding information of its object. What it says is kept for each instruction, so that a
// known frame costs a few loads; a new one costs about a microsecond. Nothing allocates or takes a lock.
#pragma once

namespace dcmt::agent {

/// Births have such stacks from here on. Takes the loader's lock.
void begin_cpp_stacks() noexcept;
void end_cpp_stacks() noexcept;

}  // namespace dcmt::agent

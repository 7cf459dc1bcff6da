// The second check, before any hook is installed. Short-lived objects run through every hooked function that the CPU
// can reach, called by torch's own functions, while witnesses (collector/elf/witness.h) are in the slots.
#pragma once

namespace dcmt::torch_provider {

struct Rehearsed {
  const char* refusal;  ///< nullptr, or one line: which slots this torch does not call as expected
  bool functional;      ///< functional storages can be tracked
};

/// Afterwards every slot has its earlier value. A diagnostic reports missing events that are not essential. Call it
/// inside the guard, after the self-check. Exceptions of torch pass through, with the slots restored.
Rehearsed rehearse();

}  // namespace dcmt::torch_provider

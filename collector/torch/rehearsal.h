// The second gate, before any hook is installed: objects that live for a moment go through all that the CPU can reach,
// by torch's own functions, while witnesses (collector/elf/witness.h) stand in the slots that are to be hooked.
#pragma once

namespace dcmt::torch_provider {

struct Rehearsed {
  const char* refusal;  ///< nullptr, or one line: which slots this torch does not call where they are expected
  bool functional;      ///< functional storages can be followed
};

/// Afterwards every slot is as it was. What can be done without is said by a diagnostic. Call inside the guard, after
/// the self-check. What torch throws passes through, with the slots as they were.
Rehearsed rehearse();

}  // namespace dcmt::torch_provider

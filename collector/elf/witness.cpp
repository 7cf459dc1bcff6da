#include "collector/elf/witness.h"

#include <string.h>

extern "C" {
// Read and written by witness.*.S.
__attribute__((visibility("hidden"))) void* dcmt_witness_real[dcmt::elf::kWitnesses] = {};
__attribute__((visibility("hidden"))) dcmt::elf::Witnessed dcmt_witness_seen[dcmt::elf::kWitnesses] = {};
__attribute__((visibility("hidden"))) const void* dcmt_witness_thread = nullptr;
__attribute__((visibility("hidden"))) extern const char dcmt_witness_code[];
}

namespace dcmt::elf {

void* witness(std::size_t number, void* real) noexcept {
  constexpr std::size_t kCodeBytes = 64;
  dcmt_witness_thread = __builtin_thread_pointer();
  dcmt_witness_real[number] = real;
  return const_cast<char*>(dcmt_witness_code + kCodeBytes * number);
}

Witnessed witnessed(std::size_t number) noexcept {
  const Witnessed& seen = dcmt_witness_seen[number];
  return {__atomic_load_n(&seen.first, __ATOMIC_RELAXED), __atomic_load_n(&seen.second, __ATOMIC_RELAXED)};
}

void forget_witnessed() noexcept { memset(dcmt_witness_seen, 0, sizeof dcmt_witness_seen); }

}  // namespace dcmt::elf

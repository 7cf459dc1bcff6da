#include "collector/torch/facts/version_gate.h"

#include <stdio.h>
#include <torch/headeronly/version.h>

#include <cstdint>

#include "collector/agent/remedy.h"
#include "collector/elf/elf_patch.h"

namespace dcmt::torch_provider {

const char* other_torch_version() noexcept {
  static char text[256];
  void* cpu = elf::loaded_library("libtorch_cpu.so");
  if (cpu == nullptr) return "libtorch_cpu.so is not loaded under its usual name: nothing is recorded in this process";
  // One byte for each part, major part first: major, minor, patch. A torch without the function is older than all
  // supported versions.
  const auto version = reinterpret_cast<std::uint64_t (*)()>(elf::symbol_in_use(cpu, "aoti_torch_abi_version"));
  const std::uint64_t runs = version != nullptr ? version() : 0;
  constexpr unsigned kMajor = TORCH_VERSION_MAJOR;
  constexpr unsigned kMinor = TORCH_VERSION_MINOR;
  const auto major = static_cast<unsigned>(runs >> 56 & 0xff);
  const auto minor = static_cast<unsigned>(runs >> 48 & 0xff);
  if (major == kMajor && minor == kMinor) return nullptr;
  snprintf(text, sizeof text,
           "built for torch %u.%u, but torch %u.%u runs here: nothing is recorded in this process. %s", kMajor, kMinor,
           major, minor, agent::kPrepareProvider);
  return text;
}

}  // namespace dcmt::torch_provider

#include "collector/cuda/kernel_parameters.h"

#include <string.h>

#include <atomic>

#include "collector/agent/provider.h"

namespace dcmt::cuda_provider {
namespace {

constexpr std::uint32_t kKernels = 1u << 14;
constexpr std::uint32_t kProbes = 16;
constexpr std::uint32_t kSizes = 1u << 19;  ///< for all kernels together
constexpr std::uint64_t kClaimed = 1;
/// A handle is an address of the lower half, so the generation is in the bits above it.
constexpr int kHandleBits = 48;
constexpr std::uint32_t kLastGeneration = 0xffff;

struct Kernel {
  std::atomic<std::uint64_t> key;  ///< handle and generation; 0: free, kClaimed: being written
  std::uint32_t first;             ///< index into g_sizes
  std::uint16_t count;
  bool known;
  bool nccl;
};

constinit Kernel* g_kernels = nullptr;
constinit std::uint16_t* g_sizes = nullptr;
constinit std::atomic<std::uint32_t> g_sizes_used{0};
constinit std::atomic<std::uint32_t> g_generation{0};
constinit std::atomic<decltype(Driver::function_parameter)> g_function_parameter{nullptr};
constinit std::atomic<decltype(Driver::kernel_parameter)> g_kernel_parameter{nullptr};

/// Calls `parameter(index, offset, size)` until it fails. Returns the number of parameters; 0 if the first call fails.
template <class Parameter>
std::uint32_t ask(Parameter parameter, std::uint16_t (&sizes)[kMostParameters]) noexcept {
  std::uint32_t count = 0;
  for (; count < kMostParameters; ++count) {
    size_t offset = 0;
    size_t size = 0;
    if (parameter(count, &offset, &size) != CUDA_SUCCESS || size > 0xffff) break;
    sizes[count] = static_cast<std::uint16_t>(size);
  }
  return count;
}

KernelParameters ask_driver(CUfunction kernel, const char* name, std::uint16_t (&sizes)[kMostParameters]) noexcept {
  std::uint32_t count = 0;
  if (const auto known = g_function_parameter.load(std::memory_order_relaxed); known != nullptr) {
    count = ask([=](size_t i, size_t* offset, size_t* size) { return known(kernel, i, offset, size); }, sizes);
  }
  if (const auto known = g_kernel_parameter.load(std::memory_order_relaxed); count == 0 && known != nullptr) {
    const auto handle = reinterpret_cast<CUkernel>(kernel);
    count = ask([=](size_t i, size_t* offset, size_t* size) { return known(handle, i, offset, size); }, sizes);
  }
  return {sizes, count, count > 0 && count < kMostParameters,
          name != nullptr && strstr(name, "ncclDevKernel") != nullptr};
}

}  // namespace

bool make_kernel_table() noexcept {
  // After an earlier recording the tables exist and are empty.
  if (g_kernels == nullptr) g_kernels = static_cast<Kernel*>(agent::arena(kKernels * sizeof(Kernel)));
  if (g_sizes == nullptr) g_sizes = static_cast<std::uint16_t*>(agent::arena(kSizes * sizeof(std::uint16_t)));
  g_sizes_used.store(0, std::memory_order_relaxed);
  return g_kernels != nullptr && g_sizes != nullptr;
}

void set_driver(const Driver& driver) noexcept {
  g_function_parameter.store(driver.function_parameter, std::memory_order_relaxed);
  g_kernel_parameter.store(driver.kernel_parameter, std::memory_order_relaxed);
}

void forget_kernels() noexcept {
  const std::uint32_t generation = g_generation.load(std::memory_order_relaxed);
  // In the last generation, the driver is asked at each launch.
  if (generation < kLastGeneration) g_generation.store(generation + 1, std::memory_order_relaxed);
}

KernelParameters parameters_of(CUfunction kernel, const char* name,
                               std::uint16_t (&scratch)[kMostParameters]) noexcept {
  const std::uint64_t generation = g_generation.load(std::memory_order_relaxed);
  const auto handle = reinterpret_cast<std::uint64_t>(kernel);
  const std::uint64_t key = handle | generation << kHandleBits;
  const std::uint64_t hash = (key >> 4) * 0x9E3779B97F4A7C15u >> 40;
  const bool can_be_kept = generation < kLastGeneration && handle >> kHandleBits == 0 && handle > kClaimed;
  for (std::uint32_t probe = 0; can_be_kept && probe < kProbes; ++probe) {
    Kernel& entry = g_kernels[(hash + probe) % kKernels];
    std::uint64_t present = entry.key.load(std::memory_order_acquire);
    if (present == key) return {g_sizes + entry.first, entry.count, entry.known, entry.nccl};
    if (present != 0 || !entry.key.compare_exchange_strong(present, kClaimed, std::memory_order_acquire)) continue;
    const KernelParameters asked = ask_driver(kernel, name, scratch);
    const std::uint32_t first = g_sizes_used.fetch_add(asked.count, std::memory_order_relaxed);
    if (first + asked.count > kSizes) {
      g_sizes_used.fetch_sub(asked.count, std::memory_order_relaxed);
      entry.key.store(0, std::memory_order_release);
      return asked;
    }
    memcpy(g_sizes + first, asked.sizes, asked.count * sizeof(std::uint16_t));
    entry.first = first;
    entry.count = static_cast<std::uint16_t>(asked.count);
    entry.known = asked.known;
    entry.nccl = asked.nccl;
    entry.key.store(key, std::memory_order_release);
    return asked;
  }
  return ask_driver(kernel, name, scratch);
}

}  // namespace dcmt::cuda_provider

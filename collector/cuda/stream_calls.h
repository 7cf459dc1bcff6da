// Records work on streams and what orders it (`run --streams`).
#pragma once

#include <cupti.h>

#include <cstdint>
#include <span>

#include "collector/cuda/libraries.h"
#include "trace/wire/records.h"

namespace dcmt::cuda_provider {

/// Callback ids of the driver functions that order work.
std::span<const CUpti_CallbackId> ordering_calls() noexcept;

/// A stream as records have it, by CUDA's handle: the default stream has the handles 0 and CU_STREAM_LEGACY, and is 0.
std::uint64_t number_of(std::uint64_t handle) noexcept;

/// Sets the driver that is asked about streams and addresses.
void set_stream_driver(const Driver& driver) noexcept;

/// The addresses that a call uses, as far as is known. Call it inside the guard.
class UsedAddresses {
 public:
  void add(std::uint64_t address) noexcept;
  /// Adds a word of a kernel's arguments if the kernel may work with it.
  /// @param is_parameter  the word is all of a parameter, not a part of a structure
  void add_argument(std::uint64_t word, bool is_parameter) noexcept;
  [[nodiscard]] std::span<const std::uint64_t> all() const noexcept { return {addresses_, count_}; }

 private:
  static constexpr std::uint32_t kMost = 512;
  std::uint32_t count_ = 0;
  std::uint64_t addresses_[kMost];
};

/// Gives a stream work. Call it inside the guard.
void write_work(wire::StreamCall call, CUstream stream, const char* name,
                std::span<const std::uint64_t> addresses) noexcept;

/// A call of ordering_calls() begins or ends. Call it inside the guard.
void see_ordering_call(CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;

/// A copy or fill has ended, and the host has waited for it.
void write_host_waited(CUstream stream) noexcept;

/// True if this memory is not registered with CUDA: a copy there is over when its call ends.
bool is_pageable(std::uint64_t address) noexcept;

}  // namespace dcmt::cuda_provider

// Torch as the life safety programs need it; only tensors.cpp pays for its headers.
#pragma once

#include <cstdint>

/// Bytes of every tensor made here: followed by both details.
inline constexpr std::int64_t kTensorBytes = 100'000;

/// A tensor that lives as long as this object.
class HeldTensor {
 public:
  HeldTensor();
  ~HeldTensor();
  HeldTensor(const HeldTensor&) = delete;
  HeldTensor& operator=(const HeldTensor&) = delete;

  /// Its TensorImpl, as marks want it.
  [[nodiscard]] void* address() const;

 private:
  void* tensor_;
};

/// Makes `count` tensors, computes with each and drops it. Returns the sum of what was computed.
double make_tensors(int count);

/// Allocates a block of torch's CPU allocator and frees it, `count` times, through the calling object's own imports.
void make_blocks(int count, std::int64_t bytes = kTensorBytes);

// Reads of a live tensor that need torch's own accessors; defined in the part that includes torch.
#pragma once

#include <cstdint>

namespace dcmt::torch_provider {

struct TensorShape {
  std::uint64_t elements;  ///< 0 where the shape is symbolic
  std::uint64_t offset;    ///< storage offset in elements
};

/// Takes no reference. `tensor` is a live c10::TensorImpl.
TensorShape tensor_shape(const void* tensor) noexcept;

}  // namespace dcmt::torch_provider

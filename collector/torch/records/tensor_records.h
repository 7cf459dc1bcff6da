// Records of tensors. Call these functions inside the guard.
#pragma once

#include <cstdint>

#include "trace/wire/records.h"

namespace dcmt::torch_provider {

/// @param type  a birth or an end  @param storage  nullptr: none
void write_tensor(wire::RecordType type, const void* tensor, const void* storage, std::uint64_t stack) noexcept;

/// A storage belongs to a key from now on, and is watched. In `lifetimes`, its views, and all tensors of a small
/// storage, have no records so far: this writes their missing births.
void follow_from_now(const void* storage) noexcept;

}  // namespace dcmt::torch_provider

// Births, deaths, moves and sizes of tensors and storages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dcmt::torch_provider {

/// In `lifetimes`, storages below this size are not followed unless they belong to a key, and blocks below it count for
/// the curve only.
inline constexpr std::uint64_t kFollowedBytes = 64 * 1024;

/// Installs all hooks, those of the allocators included. False, with the reason in `why`, if torch does not export what
/// they need; nothing is hooked then.
bool install_lifetime_hooks(const char** why) noexcept;

/// Redirects the imports of objects that were loaded since. Returns how many slots were written.
std::size_t patch_new_objects() noexcept;

/// A storage of a key has just begun to be watched. If it is smaller than what `lifetimes` follows, its tensors so far
/// made no record: this writes their births now. Call inside the guard.
void follow_from_now(const void* storage) noexcept;

}  // namespace dcmt::torch_provider

// Redirects the calls of allocators in loaded objects.
#pragma once

namespace dcmt::native_provider {

/// Redirects the calls in all loaded objects; nullptr, or why no call was redirected.
const char* hook_allocators() noexcept;

/// The same in objects that were loaded since. Any thread may call it; the loader's lock is taken.
void hook_new_objects() noexcept;

/// Restores all slots, except where another tool has replaced our hook.
void unhook_allocators() noexcept;

}  // namespace dcmt::native_provider

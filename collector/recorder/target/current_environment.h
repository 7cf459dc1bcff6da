// The environment of a process as it is now, read in its memory; /proc has only the one that it was started with.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace dcmt::recorder {

/// Calls visit for each variable, "NAME=VALUE". Longer ones are left out. False if the process cannot be read.
bool for_each_variable(pid_t pid, std::size_t longest, const std::function<void(std::string_view)>& visit);

/// The variables that set torch's allocators, or are meant to: "NAME=VALUE;NAME=VALUE", in alphabetical order. Empty if
/// there are none, or the process cannot be read.
std::string allocator_variables(pid_t pid);

}  // namespace dcmt::recorder

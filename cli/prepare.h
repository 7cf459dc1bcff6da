// `doctor --prepare` and `doctor --clean`: torch providers built on the user's machine.
#pragma once

#include <string>

#include "trace/base/status.h"

namespace dcmt::cli {

/// Builds the torch provider for the torch of `python`, unless that torch can be recorded already. Moves it into
/// preparation_folder() (installation.h) after it has recorded a first program. One process does this at a time; others
/// wait, and use the result. Returns one line: what existed, or what was built. Otherwise fails with kCannotRecord and
/// one line; then only the compiler's log is left, if the line names it.
[[nodiscard]] Expected<std::string> prepare_provider(const std::string& python);

/// Removes cache_folder() with its contents, after a running preparation has ended. Returns one line.
[[nodiscard]] Expected<std::string> clean_cache();

}  // namespace dcmt::cli

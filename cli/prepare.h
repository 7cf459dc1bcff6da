// `doctor --prepare` and `doctor --clean`: torch providers that are built on the user's machine.
#pragma once

#include <string>

#include "trace/base/status.h"

namespace dcmt::cli {

/// Builds the torch provider for the torch of `python`, unless that torch can be recorded as it is, and puts it into
/// preparation_folder() (installation.h) once it has recorded a first program. One process does it at a time; others
/// wait, and find it done. Returns one line: what there was, or what was made. Fails with kCannotRecord and one line
/// otherwise; nothing is left then but the compiler's log where that is named.
[[nodiscard]] Expected<std::string> prepare_provider(const std::string& python);

/// Removes cache_folder() and all in it, after a preparation that is under way. Returns one line.
[[nodiscard]] Expected<std::string> clean_cache();

}  // namespace dcmt::cli

// Changes to a trace file, of its bytes and of its rows.
#pragma once

#include <string>

#include "tests/fuzz/random.h"

namespace dcmt::fuzz {

/// A few changes of one or both kinds. What SQLite refuses to do to the file is left undone.
void mutate_trace(const std::string& path, Random& random);

}  // namespace dcmt::fuzz

// What threads of the viewer do with a trace while its window draws it. For the thread sanitizer.
#pragma once

#include "render/load/session.h"
#include "tests/fuzz/random.h"

namespace dcmt::fuzz {

/// Draws and stacks the area anew, as the window's thread does, while others find what would be without a finding,
/// compare the trace with another one, arrange by address. Returns when all are through.
void use_beside_window(const load::Session& session, const load::Session& before, Random& random);

}  // namespace dcmt::fuzz

// Proof at load that this torch is the one we know: versions, and every offset of layout.h on live objects.
#pragma once

namespace dcmt::torch_provider {

/// nullptr if everything holds, else one line: what does not, and what to do.
const char* self_check();

}  // namespace dcmt::torch_provider

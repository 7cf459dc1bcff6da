// Remarks in words.
#pragma once

#include <string>

#include "analyzer/rules/remarks.h"

namespace dcmt::cli {

/// One sentence, without a full stop.
[[nodiscard]] std::string remark_text(const analyzer::Remark& remark);

}  // namespace dcmt::cli

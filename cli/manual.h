// Manual pages and completion, generated from the commands of the parser.
#pragma once

#include <string>

#include "trace/base/status.h"

namespace CLI {
class App;
}

namespace dcmt::cli {

/// Writes below `folder`, a "share" folder: man/man1/dc-memtrace.1, one page for each command, and the completion of
/// bash and zsh in their folders.
Status write_manual(const CLI::App& app, const std::string& folder);

}  // namespace dcmt::cli

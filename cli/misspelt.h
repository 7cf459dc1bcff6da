// What of a command line is no name of ours, and which name may be meant.
#pragma once

#include <optional>
#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace dcmt::cli {

/// "unknown option --jsno. Did you mean --json?", if there is such a word; nullopt if each word has a meaning. The word
/// may be the cause of another error: what follows it is taken for something else.
/// @param called  the command, after its words were read
[[nodiscard]] std::optional<std::string> misspelt(const CLI::App& called);

}  // namespace dcmt::cli

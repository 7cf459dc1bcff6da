// Who holds a storage, and how its bytes were freed, as lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analyzer/model/holders.h"
#include "cli/text.h"

namespace dcmt::cli {

/// Lines "held by …" from the result of one census.
[[nodiscard]] std::string holder_lines(const analyzer::Holders& holders, std::string_view suffix, const Style& style);
/// "main (train.py:31): probe.seen[3]": a path with the position of the frame that is its root.
[[nodiscard]] std::string placed(std::string_view path, std::optional<std::string_view> place);
/// placed() with the type: "main (train.py:41): probe.seen [list]".
[[nodiscard]] std::string held_text(std::string_view path, std::optional<std::string_view> place,
                                    std::optional<std::string_view> type);
/// "storage 1 = 1 explained + 0 unexplained · tensors …".
[[nodiscard]] std::string count_text(const analyzer::Holders& holders);
/// "by the last reference, at the return of Runner.call".
[[nodiscard]] std::string gone_text(const model::Gone& gone);

}  // namespace dcmt::cli

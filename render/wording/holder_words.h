// Who holds a storage, and how its bytes were freed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analyzer/model/holders.h"
#include "render/wording/words.h"

namespace dcmt::wording {

/// "held by": the result of one census. `suffix` follows the first holder.
[[nodiscard]] LabelledLines holder_facts(const analyzer::Holders& holders, std::string_view suffix, const Form& form);
/// "forward: buf5, x (one object) (unproven)".
[[nodiscard]] std::string holder_head(const analyzer::HolderPath& path);
/// "main (train.py:31): probe.seen[3]": a path with the position of the frame that is its root.
[[nodiscard]] std::string placed(std::string_view path, std::optional<std::string_view> place);
/// placed() with the type: "main (train.py:41): probe.seen [list]".
[[nodiscard]] std::string held_text(std::string_view path, std::optional<std::string_view> place,
                                    std::optional<std::string_view> type);
/// "storage 1 = 1 explained + 0 unexplained · tensors …".
[[nodiscard]] std::string count_text(const analyzer::Holders& holders);
/// "by the last reference, at the return of Runner.call".
[[nodiscard]] std::string gone_text(const model::Gone& gone);

}  // namespace dcmt::wording

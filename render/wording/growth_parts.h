// Parts of the words of growth that findings of several kinds share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/growth.h"
#include "render/wording/words.h"

namespace dcmt::wording {

/// "probe.seen": the name that people use, without the function that has it.
[[nodiscard]] std::string short_name(std::string_view holder);

/// Adds the statements that filled a container. They are found by text: a single one is probably the right one; of
/// several, nothing shows which one it was.
void add_stored_by(const std::vector<analyzer::StoringStatement>& stored_by,
                   const std::vector<analyzer::StoringStatement>& called_at, const Form& form, LabelledLines& facts);

/// Adds the statements that use a container's entries. What these need stays in a program that is mended.
void add_used_at(const std::vector<analyzer::StoringStatement>& used_at, const std::optional<Bytes>& predicted_peak,
                 const std::optional<Bytes>& predicted_if_used, const Form& form, LabelledLines& facts);

}  // namespace dcmt::wording

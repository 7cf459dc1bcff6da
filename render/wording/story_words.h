// The life of a storage and the results of releases, in words.
#pragma once

#include <string>

#include "analyzer/model/holders_view.h"
#include "analyzer/model/views.h"
#include "render/wording/words.h"

namespace dcmt::wording {

/// "released id 3 (final): 1,024 → 0 B".
[[nodiscard]] std::string event_text(const model::StoryEvent& event, const Form& form);
/// "released (final)": without the parameter and the bytes.
[[nodiscard]] std::string short_event_text(const model::StoryEvent& event);
/// The originator of an event: "in aten::mul, at model.py:41 forward".
[[nodiscard]] std::string event_by(const model::StoryEvent& event);
/// "aten::mul at model.py:41 forward".
[[nodiscard]] std::string by_text(const model::Actor& by);
/// The innermost frames of the user's own files, one a line.
[[nodiscard]] LabelledLines stack_facts(const model::Actor& by, const Form& form);
/// "Freed by its last reference.": how the storage's bytes ended.
[[nodiscard]] std::string end_text(const model::StorageView& view);

/// "≥ 5 ops, 1.2 ms": how long after its release the bytes were freed.
[[nodiscard]] std::string gone_after(const model::Release& release);
/// "no gather".
[[nodiscard]] std::string verdict_text(analyzer::Verdict verdict);
/// "step 3, 1.2 s": when the memory was read.
[[nodiscard]] std::string reading_text(const model::Reading& reading);

}  // namespace dcmt::wording

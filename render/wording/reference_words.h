// Who took each reference, and who gave it back, in words.
#pragma once

#include <string>

#include "analyzer/model/reference_story.h"
#include "render/wording/words.h"

namespace dcmt::wording {

/// "Python object of tensor 12".
[[nodiscard]] std::string count_name(const model::CountStory& story);
/// "0 → 1 in 9 changes, of which none is missing".
[[nodiscard]] std::string count_history(const model::CountStory& story);
/// "train.py:18 main   losses.append(loss)"; of a return "the return of main, to train.py:40 <module>". Threads but the
/// first are named.
[[nodiscard]] std::string reference_place(const model::ReferencePlace& place);
/// The C++ function, or "the interpreter".
[[nodiscard]] std::string reference_function(const model::CountStory& story, const model::ReferencePlace& place);
/// "del box, list_dealloc", "the return of main", "left".
[[nodiscard]] std::string reference_end(const model::CountStory& story, const model::ReferenceRow& row);
/// True if the references were taken and given back within one line.
[[nodiscard]] bool is_within_a_line(const model::ReferenceRow& row);
/// "Watched: 12 storages, 5,200 changes of their reference counts. References to storage 7 were left, …".
[[nodiscard]] std::string watched_text(const model::WatchedStorages& watched);

}  // namespace dcmt::wording

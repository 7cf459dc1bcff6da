// Reserved memory of a GPU that was not in use, in words: what it was, and what would make it less.
#pragma once

#include <string>

#include "render/wording/finding_title.h"

namespace dcmt::wording {

[[nodiscard]] FindingWords fragmented_words(const model::ReportedFinding& finding, const Form& form);

/// "Of 3.0 GiB reserved on cuda:0, 1.2 GiB were never active at once; with expandable_segments:True it is 1.9 GiB. "
[[nodiscard]] std::string fragmented_sentence(const analyzer::Fragmentation& found, const Form& form);

/// Of one that helps: "expandable_segments:True: at most 1.9 GiB reserved, 1.1 GiB less".
[[nodiscard]] std::string remedy_text(const analyzer::Remedy& remedy, const Form& form);

}  // namespace dcmt::wording

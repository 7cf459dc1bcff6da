// What C and C++ allocate, in words.
#pragma once

#include <string>

#include "analyzer/model/native_view.h"
#include "analyzer/model/report.h"
#include "render/wording/finding_title.h"

namespace dcmt::wording {

/// "keep_record, cache.c:12 (libcache.so)"; without debug information "keep_record+0x1c (libcache.so)".
[[nodiscard]] std::string native_place_text(const analyzer::NativePlace& place);

/// "Memory of C and C++ grows by 1.2 MiB a step, from keep_record. "; empty if none does.
[[nodiscard]] std::string native_sentence(const model::Report& report, const Form& form);

[[nodiscard]] FindingWords native_words(const model::ReportedFinding& finding, const Form& form);

}  // namespace dcmt::wording

// Values of the report model as texts. Texts of a trace are data: they are shown only as plain text.
#pragma once

#include <QString>

#include <cstdint>
#include <string_view>

#include "analyzer/model/findings.h"

namespace dcmt::gui::words {

[[nodiscard]] QString text(std::string_view text);
/// "12,655,108"
[[nodiscard]] QString number(std::int64_t number);
/// "12.1 MiB"
[[nodiscard]] QString bytes(std::int64_t bytes);
/// "12,655,108 B"
[[nodiscard]] QString exact_bytes(std::int64_t bytes);
/// "1.250 ms"
[[nodiscard]] QString time(std::int64_t ns);
/// "1 RELEASE KEEPS STORAGE"
[[nodiscard]] QString title(const model::Finding& finding);

}  // namespace dcmt::gui::words

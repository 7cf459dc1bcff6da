// Which part of a trace gets a record, by the record's type.
#pragma once

#include <string_view>

#include "collector/recorder/assemble/books.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Gives the record to the part of `books` that its type is for. A record that is too short, has impossible numbers or
/// an unknown type becomes a diagnostic. Fails only if the trace cannot be written.
Status hand_over(Books& books, wire::RecordType type, std::string_view bytes);

}  // namespace dcmt::recorder

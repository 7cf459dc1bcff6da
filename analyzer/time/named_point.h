// Finds points of a trace by name, or makes the error for an unknown name.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// The result of find_point; kUsage if there is no such point.
/// @param options  the start of the message: "--at takes", "--from and --to take"
[[nodiscard]] Expected<Sequence> named_point(const TraceData& data, const std::string& path, std::string_view name,
                                             Sequence peak, const std::string& options);

/// The error for a name that no point has.
/// @param accepts  "--at takes a sequence number or step:N"
[[nodiscard]] Error no_point(const std::string& path, std::string_view name, const std::string& accepts);

}  // namespace dcmt::analyzer

// Points of a trace by name, or the error that no point has the name.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// What find_point finds; kUsage where it finds nothing.
/// @param options  who asks: "--at takes", "--from and --to take"
[[nodiscard]] Expected<Sequence> named_point(const TraceData& data, const std::string& path, std::string_view name,
                                             Sequence peak, const std::string& options);

/// What is said of a name that nothing has.
/// @param takes  "--at takes a sequence number or step:N"
[[nodiscard]] Error no_point(const std::string& path, std::string_view name, const std::string& takes);

}  // namespace dcmt::analyzer

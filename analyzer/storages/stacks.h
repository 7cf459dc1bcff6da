// Python stacks: which frame a person calls the place where something happened.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// One frame, texts taken from the trace (they live as long as it does).
struct FrameText {
  std::string_view file, function;
  std::int64_t line = 0;
};

/// True for code that a compiler wrote: it has a map to the model's source in the trace, or lies where torch keeps
/// such.
[[nodiscard]] bool is_generated_file(const TraceData& data, StringId file);

/// A file by a name that it has on every machine: within its package, else without its folders; "generated code" for
/// what a compiler wrote.
[[nodiscard]] std::string portable_name(const TraceData& data, StringId file);

/// Innermost frame first; empty for the zero id.
[[nodiscard]] std::vector<FrameText> frames_of(const TraceData& data, StackId stack);

/// The innermost frame of the user's (or generated) code, else the innermost frame, else the zero id.
[[nodiscard]] FrameId site_of(const TraceData& data, StackId stack);

/// The innermost frame of the user's own files, where the site lies in an installed package that they called; invalid
/// if the site is such a frame, or there is none.
[[nodiscard]] FrameId caller_of_package(const TraceData& data, StackId stack);

/// "file:line function" of a frame; "(no Python frame)" for the zero id.
[[nodiscard]] std::string describe_frame(const TraceData& data, FrameId frame);
/// describe_frame of the stack's site.
[[nodiscard]] std::string describe_site(const TraceData& data, StackId stack);
}  // namespace dcmt::analyzer

// Stacks, and the frame that people would name as the place of an event.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "trace/base/code_path.h"

namespace dcmt::analyzer {

/// One frame. Its texts belong to the trace and live as long as it does.
struct FrameText {
  std::string_view file, function;
  std::int64_t line = 0;

  static constexpr std::string_view kShape = "frame";
  static void describe(auto&& field) {
    field("file", &FrameText::file, "");
    field("line", &FrameText::line, "");
    field("function", &FrameText::function, "");
  }

  /// True for a file of an installed library: not the user's code.
  [[nodiscard]] bool library() const { return is_library_file(file); }
};

/// True for code that a compiler wrote: the trace has a map from it to the model's source, or it lies where torch puts
/// such code.
[[nodiscard]] bool is_generated_file(const TraceData& data, StringId file);

/// The name of a file that is the same on every machine: its path within its package, else its name without folders.
/// "generated code" for a compiler's output.
[[nodiscard]] std::string portable_name(const TraceData& data, StringId file);

/// The innermost frame first. Empty for the zero id.
[[nodiscard]] std::vector<FrameText> frames_of(const TraceData& data, StackId stack);

/// The innermost frame of the user's (or generated) code; if there is none, the innermost frame; for no stack the zero
/// id.
[[nodiscard]] FrameId site_of(const TraceData& data, StackId stack);

/// What called the function of the innermost frame of the user's code. Invalid if none of the user's frames did.
[[nodiscard]] StackId caller_of_site(const TraceData& data, StackId stack);

/// The innermost frame of the user's own files if the site lies in an installed package that they called. Invalid if
/// the site is such a frame itself, or if there is none.
[[nodiscard]] FrameId caller_of_package(const TraceData& data, StackId stack);

/// True for the trace of a program without Python: its stacks are of C++.
[[nodiscard]] bool has_cpp_stacks(const TraceData& data);

/// "file:line function" of a frame; "(no Python frame)" for the zero id, "(no frame of the program)" in C++.
[[nodiscard]] std::string describe_frame(const TraceData& data, FrameId frame);
/// describe_frame of the stack's site.
[[nodiscard]] std::string describe_site(const TraceData& data, StackId stack);
}  // namespace dcmt::analyzer

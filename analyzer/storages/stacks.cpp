#include "analyzer/storages/stacks.h"

#include <algorithm>

#include "trace/base/code_path.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {

bool is_generated_file(const TraceData& data, StringId file) {
  if (std::binary_search(data.generated_files.begin(), data.generated_files.end(), file)) return true;
  return is_compiler_output(data.text(file));
}

std::string portable_name(const TraceData& data, StringId file) {
  if (is_generated_file(data, file)) return "generated code";
  const std::string_view path = data.text(file);
  constexpr std::string_view kPackages = "-packages/";
  const std::size_t package = path.find(kPackages);
  return std::string(package != std::string_view::npos ? path.substr(package + kPackages.size()) : short_path(path, 1));
}

std::vector<FrameText> frames_of(const TraceData& data, StackId stack) {
  std::vector<FrameText> frames;
  const Stack* at = data.stacks.find(stack);
  for (; at != nullptr; at = data.stacks.find(at->parent)) {
    if (const Frame* frame = data.frames.find(at->frame)) {
      frames.push_back({data.text(frame->file), data.text(frame->function), frame->line});
    }
  }
  return frames;
}

FrameId site_of(const TraceData& data, StackId stack) {
  FrameId innermost;
  const Stack* at = data.stacks.find(stack);
  for (; at != nullptr; at = data.stacks.find(at->parent)) {
    const Frame* frame = data.frames.find(at->frame);
    if (frame == nullptr) continue;
    if (!innermost.valid()) innermost = frame->id;
    if (!is_library_file(data.text(frame->file)) || is_generated_file(data, frame->file)) return frame->id;
  }
  return innermost;
}

StackId caller_of_site(const TraceData& data, StackId stack) {
  StackId caller;
  for (const Stack* at = data.stacks.find(stack); at != nullptr; at = data.stacks.find(at->parent)) {
    const Frame* frame = data.frames.find(at->frame);
    if (frame == nullptr || is_library_file(data.text(frame->file))) continue;
    if (caller.valid()) return caller;
    caller = at->parent;
  }
  return {};
}

FrameId caller_of_package(const TraceData& data, StackId stack) {
  const Frame* site = data.frames.find(site_of(data, stack));
  if (site == nullptr || !is_package_file(data.text(site->file))) return {};
  for (const Stack* at = data.stacks.find(stack); at != nullptr; at = data.stacks.find(at->parent)) {
    const Frame* frame = data.frames.find(at->frame);
    if (frame == nullptr || is_generated_file(data, frame->file)) continue;
    const std::string_view file = data.text(frame->file);
    if (!is_library_file(file) && !is_package_file(file)) return frame->id;
  }
  return {};
}

bool has_cpp_stacks(const TraceData& data) { return data.meta_text(meta::kStacks) == meta::kCppStacks; }

std::string describe_frame(const TraceData& data, FrameId id) {
  const Frame* frame = data.frames.find(id);
  if (frame == nullptr) return has_cpp_stacks(data) ? "(no frame of the program)" : "(no Python frame)";
  std::string text(short_path(data.text(frame->file)));
  // Frames of C++ without debug information.
  if (frame->line == 0) {
    const std::string function(data.text(frame->function));
    return text.ends_with("??") && !function.empty() ? function : text + ": " + function;
  }
  text += ":" + std::to_string(frame->line);
  if (const std::string_view function = data.text(frame->function); !function.empty()) {
    text += " ";
    text += function;
  }
  return text;
}

std::string describe_site(const TraceData& data, StackId stack) { return describe_frame(data, site_of(data, stack)); }

}  // namespace dcmt::analyzer

#include "analyzer/stacks.h"

#include <algorithm>

namespace dcmt::analyzer {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

bool is_library_file(std::string_view path) {
  if (path.empty() || path.starts_with("<")) return true;
  if (path.ends_with("/dc_memtrace/__init__.py")) return true;  // a mark is where the program makes it
  if (contains(path, "-packages/")) return contains(path, "-packages/torch/") || contains(path, "-packages/functorch/");
  return contains(path, "/lib/python3.");
}

bool is_generated_file(const TraceData& data, StringId file) {
  if (std::binary_search(data.generated_files.begin(), data.generated_files.end(), file)) return true;
  const std::string_view path = data.text(file);
  return contains(path, "/torchinductor_") || contains(path, "/inductor_cache/") || path.starts_with("<eval_with_key>");
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
    if (is_generated_file(data, frame->file) || !is_library_file(data.text(frame->file))) return frame->id;
  }
  return innermost;
}

std::string describe_frame(const TraceData& data, FrameId id) {
  const Frame* frame = data.frames.find(id);
  if (frame == nullptr) return "(no Python frame)";
  std::string text(short_path(data.text(frame->file)));
  text += ":" + std::to_string(frame->line);
  if (const std::string_view function = data.text(frame->function); !function.empty()) {
    text += " ";
    text += function;
  }
  return text;
}

std::string describe_site(const TraceData& data, StackId stack) { return describe_frame(data, site_of(data, stack)); }

std::string_view short_path(std::string_view path, int parts) {
  std::size_t cut = path.size();
  for (; parts > 0 && cut != std::string_view::npos && cut != 0; --parts) cut = path.rfind('/', cut - 1);
  return cut == std::string_view::npos || cut == 0 ? path : path.substr(cut + 1);
}

}  // namespace dcmt::analyzer

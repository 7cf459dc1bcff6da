#include "analyzer/source/user_files.h"

#include <algorithm>
#include <utility>

#include "trace/base/code_path.h"

namespace dcmt::analyzer {

template <class Visit>
void UserFiles::each_frame(Visit visit) const {
  for (const StackId id : made_at_) {
    for (const Stack* stack = data_.stacks.find(id); stack != nullptr; stack = data_.stacks.find(stack->parent)) {
      if (const Frame* frame = data_.frames.find(stack->frame)) visit(*frame, id);
    }
  }
}

UserFiles::UserFiles(const TraceData& data, const std::vector<StackId>& made_at) : data_(data), made_at_(made_at) {
  std::map<StringId, std::set<std::size_t>> lines;
  each_frame([&](const Frame& frame, StackId) { lines[frame.file].insert(static_cast<std::size_t>(frame.line)); });
  for (const SourceFile& source : data.sources) {
    if (const auto made = lines.find(source.path); made != lines.end()) {
      add(source, made->second, files_);
    } else {
      add(source, {}, others_);
    }
  }
  note_innermost();
}

void UserFiles::note_innermost() {
  StackId last;
  each_frame([&](const Frame& frame, StackId stack) {
    const auto file = by_path_.find(frame.file);
    if (file != by_path_.end() && std::exchange(last, stack) != stack)
      file->second->innermost.insert(static_cast<std::size_t>(frame.line));
  });
}

UserFiles::UserFiles(const TraceData& data) : data_(data) {
  for (const SourceFile& source : data.sources) add(source, {}, files_);
}

FoundLines UserFiles::callers_of(const std::set<std::string_view>& functions) const {
  FoundLines callers;
  bool is_called = false;
  StackId last;
  each_frame([&](const Frame& frame, StackId stack) {
    const FoundLine at = line_of(frame);
    if (std::exchange(last, stack) != stack) is_called = false;
    if (at.line == nullptr) return;
    const auto same = [&](const FoundLine& each) { return each.line == at.line; };
    if (is_called && std::ranges::none_of(callers, same)) callers.push_back(at);
    is_called = functions.contains(at.file->source.function_of(*at.line));
  });
  return callers;
}

void UserFiles::add(const SourceFile& source, const std::set<std::size_t>& made_at, std::deque<UserFile>& to) {
  const std::string_view path = data_.text(source.path);
  if (is_library_file(path) || is_compiler_output(path)) return;
  by_path_[source.path] = &to.emplace_back(short_path(path, 1), source.text, made_at, source.path);
}

FoundLine UserFiles::line_of(const Frame& frame) const {
  const auto file = by_path_.find(frame.file);
  const auto number = static_cast<std::size_t>(frame.line);
  if (file == by_path_.end() || number == 0 || number > file->second->source.lines().size()) return {};
  return {file->second, &file->second->source.lines()[number - 1]};
}

}  // namespace dcmt::analyzer

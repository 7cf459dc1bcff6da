#include "collector/recorder/assemble/code_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "collector/recorder/decode/record_view.h"
#include "trace/base/code_path.h"
#include "trace/base/demangled.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::recorder {
namespace {

/// A limit for a program whose stacks differ without end.
constexpr std::size_t kMostStacks = 1 << 16;

/// Where Python's interpreter calls C: what is below is on the Python stack.
bool is_interpreter(const CodePlace& frame) { return frame.function.starts_with("_PyEval_EvalFrame"); }

/// Functions of torch's and of the standard library's headers are compiled into the program.
bool is_library(const CodePlace& frame) {
  return frame.line != 0 ? is_library_file(frame.file) : is_library_function(without_brackets(frame.function));
}

}  // namespace

Status CodeStacks::define(std::string_view bytes) {
  const auto record = view_as<wire::NativeStackRecord>(bytes);
  if (!record || record->id == 0 || record->count > bytes.size() / sizeof(wire::ReturnAddress)) {
    return journal_.bad_record("a C++ stack");
  }
  const auto tail = tail_of<wire::NativeStackRecord>(bytes, record->count * sizeof(wire::ReturnAddress));
  if (!tail) return journal_.bad_record("a C++ stack");
  std::vector<wire::ReturnAddress> calls(record->count);
  std::memcpy(calls.data(), tail->data(), tail->size());
  if ((record->header.aux & wire::kOfProgram) != 0) return define_program(record->id, calls);
  if (calls_.size() < kMostStacks) calls_.emplace(record->id, std::move(calls));
  return {};
}

/// In a function that was compiled into another one, and in that one.
std::vector<CodePlace> CodeStacks::places(const wire::ReturnAddress& frame) {
  // A return address can be one past the end of a function that does not return.
  return files_.places(std::string(dictionary_.text(frame.object)), frame.offset - 1);
}

Status CodeStacks::define_program(std::uint64_t id, const std::vector<wire::ReturnAddress>& calls) {
  if (dictionary_.is_defined(id)) return {};
  if (!std::exchange(is_noted_, true)) DCMT_RETURN_IF_ERROR(journal_.writer.set_meta(meta::kStacks, meta::kCppStacks));
  for (const wire::ReturnAddress& call : calls) {
    if (frames_.size() < kMostStacks && call.end != 0) frames_[{call.end, call.object, call.offset}] = call;
  }
  Frames frames;
  for (std::size_t i = 0; i < calls.size() && !journal_.rows.full(); ++i) {
    const Frames here = places(calls[i]);
    frames.insert(frames.end(), here.begin(), here.end());
  }
  std::vector<RowId> rows;
  for (const CodePlace& frame : of_program(std::move(frames))) {
    DCMT_ASSIGN_OR_RETURN(const RowId row, row_in_program(frame));
    rows.push_back(row);
  }
  return dictionary_.define_stack(id, rows);
}

CodeStacks::Frames CodeStacks::frames(std::uint64_t stack) {
  Frames frames;
  const auto known = calls_.find(stack);
  if (known == calls_.end()) return frames;
  for (const wire::ReturnAddress& call : known->second) {
    frames.push_back(places(call).back());
    if (!is_interpreter(frames.back())) continue;
    frames.pop_back();
    break;
  }
  return frames;
}

Expected<RowId> CodeStacks::row(std::uint64_t stack) {
  if (journal_.rows.full()) return RowId{0};
  const auto [known, is_new] = rows_.try_emplace(stack, RowId{0});
  if (!is_new) return known->second;
  const Frames frames = this->frames(stack);
  RowId row = 0;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    DCMT_ASSIGN_OR_RETURN(const RowId id, row_in_object(*frame));
    DCMT_ASSIGN_OR_RETURN(row, journal_.writer.stack(row, id));
  }
  known->second = row;
  return row;
}

std::vector<scan::CppVariable> CodeStacks::variables(scan::MemorySource& source) {
  scan::Mirror memory(source);
  std::vector<scan::CppVariable> found;
  std::map<std::uint64_t, std::uint64_t> loaded;  // by object
  for (const auto& [place, frame] : frames_) loaded.try_emplace(frame.object, 0);
  for (auto& [object, at] : loaded) {
    const std::string path(dictionary_.text(object));
    const auto region = std::ranges::find(source.regions(), path, &scan::Region::path);
    if (path.empty() || region == source.regions().end() || region->file_offset != 0) continue;
    at = region->begin - files_.file(path).elf.first_page();
    files_.add_functors(path, at);
    for (const CodeVariable& each : files_.statics(path)) {
      const std::uint64_t begin = at + static_cast<std::uint64_t>(each.offset);
      found.push_back({.range = {begin, begin + each.bytes},
                       .path = each.path,
                       .place = each.place,
                       .shape = each.shape,
                       .address = begin});
    }
  }
  std::set<std::pair<std::uint64_t, std::uint64_t>> met;  // the same function at the same place
  for (const auto& [place, frame] : frames_) {
    if (loaded[frame.object] == 0 || memory.word(frame.end - sizeof(std::uint64_t)) != frame.returns) continue;
    if (met.emplace(frame.end, memory.word(frame.begin - sizeof(std::uint64_t))).second)
      add_of_frame(frame, loaded[frame.object], memory, found);
  }
  return found;
}

/// The function has called another one from where it is now, which may not be where it was when its stack was seen.
void CodeStacks::add_of_frame(const wire::ReturnAddress& frame, std::uint64_t loaded_at, scan::Mirror& memory,
                              std::vector<scan::CppVariable>& found) {
  const std::uint64_t calls_at = frame.begin - sizeof(std::uint64_t), calls = memory.word(calls_at);
  const std::string path(dictionary_.text(frame.object));
  const scan::FileFunction* const then = files_.file(path).function_at(frame.offset - 1);
  const scan::FileFunction* const now = files_.file(path).function_at(calls - 1 - loaded_at);
  if (then == nullptr || then != now) return;
  const auto [known, is_new] = variables_.try_emplace({frame.object, calls - loaded_at});
  if (is_new) known->second = files_.variables(path, calls - 1 - loaded_at);
  for (const CodeVariable& variable : known->second) {
    const std::uint64_t begin = frame.end + static_cast<std::uint64_t>(variable.offset);
    if (begin < frame.begin || begin + variable.bytes > frame.end) continue;
    found.push_back({.range = {begin, begin + variable.bytes},
                     .path = variable.path,
                     .place = variable.place,
                     .is_tensor = variable.bytes == sizeof(std::uint64_t),
                     .returns_at = frame.end - sizeof(std::uint64_t),
                     .returns = frame.returns,
                     .calls_at = variable.is_in_block ? calls_at : 0,
                     .calls = calls,
                     .shape = variable.shape,
                     .address = begin});
  }
}

/// Without the frames of libraries, if there are others.
CodeStacks::Frames CodeStacks::of_program(Frames frames) {
  if (std::ranges::all_of(frames, is_library)) return frames;
  std::erase_if(frames, is_library);
  return frames;
}

Expected<RowId> CodeStacks::row_of(const std::string& file, const std::string& function, std::int64_t line) {
  DCMT_ASSIGN_OR_RETURN(const RowId path, journal_.writer.intern(file.empty() ? "(unknown)" : file));
  DCMT_ASSIGN_OR_RETURN(const RowId name, journal_.writer.intern(function));
  return journal_.writer.frame(path, name, line);
}

/// A frame without a line has its object as the file, and says where in the function it is.
Expected<RowId> CodeStacks::row_in_program(const CodePlace& frame) {
  const std::string function = frame.function.empty() ? std::string() : short_function(frame.function);
  if (frame.line != 0) return row_of(frame.file, function, frame.line);
  return row_of(frame.object, fmt::format("{}{}+{:#x}", function, function.empty() ? "" : " ", frame.offset), 0);
}

Expected<RowId> CodeStacks::row_in_object(const CodePlace& frame) {
  return row_of(frame.object,
                frame.function.empty() ? fmt::format("+{:#x}", frame.offset) : without_brackets(frame.function), 0);
}

}  // namespace dcmt::recorder

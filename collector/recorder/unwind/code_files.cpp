#include "collector/recorder/unwind/code_files.h"

#include <fmt/format.h>

#include <string_view>

#include "trace/base/code_path.h"
#include "trace/base/demangled.h"

namespace dcmt::recorder {
namespace {

std::string readable(std::string_view name) {
  std::string text(name);
  return demangled(text).value_or(text);
}

}  // namespace

const scan::FileFunction* CodeFile::function_at(std::uint64_t value) {
  if (!functions_) functions_ = elf.functions();
  return scan::function_at(*functions_, value);
}

const SourceLines& CodeFile::lines() {
  if (!lines_) lines_.emplace(elf);
  return *lines_;
}

DebugInfo& CodeFile::info() {
  if (!info_) info_.emplace(elf);
  return *info_;
}

CodeFile& CodeFiles::file(const std::string& path) {
  std::unique_ptr<CodeFile>& file = files_[path];
  if (file == nullptr) file = std::make_unique<CodeFile>(path);
  return *file;
}

std::vector<CodePlace> CodeFiles::places(const std::string& path, std::uint64_t offset) {
  CodePlace whole;  // in the function that has the code
  whole.object = path;
  whole.offset = offset;
  CodeFile& code = file(path);
  if (const scan::FileFunction* function = code.function_at(offset)) {
    whole.offset = offset - function->begin;
    whole.function = readable(function->name);
  }
  std::vector<CodePlace> places = {whole};
  const std::optional<SourceLine> line = code.lines().at(offset);
  if (!line) return places;
  places.back().file = line->file;
  places.back().line = line->line;
  for (const InlinedCall& call : code.info().inlined_at(offset)) {
    places.back().function = readable(call.function);
    places.push_back(whole);
    places.back().file = code.lines().file(call.unit, call.file).value_or("");
    places.back().line = places.back().file.empty() ? 0 : call.line;
  }
  return places;
}

std::vector<CodeVariable> CodeFiles::variables(const std::string& path, std::uint64_t offset) {
  std::vector<CodeVariable> variables;
  CodeFile& code = file(path);
  const scan::FileFunction* const whole = code.function_at(offset);
  for (const FrameVariable& each : code.info().variables_at(offset)) {
    const std::string function = !each.function.empty() ? readable(each.function)
                                 : whole != nullptr     ? readable(whole->name)
                                                        : std::string();
    const std::string declared = code.lines().file(each.unit, each.file).value_or("");
    variables.push_back({fmt::format("{}: {}", short_function(function), each.name),
                         declared.empty() ? "" : fmt::format("{}:{}", short_path(declared, 1), each.line), each.offset,
                         each.bytes});
  }
  return variables;
}

}  // namespace dcmt::recorder

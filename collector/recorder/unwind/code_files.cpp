#include "collector/recorder/unwind/code_files.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

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

CodeVariable CodeFiles::variable(CodeFile& code, const FrameVariable& found, std::string path) {
  const std::string declared = code.lines().file(found.unit, found.file).value_or("");
  const bool has_place = !declared.empty() && found.line != 0;  // what a lambda captures is declared nowhere
  return {std::move(path),   !has_place ? "" : fmt::format("{}:{}", short_path(declared, 1), found.line),
          found.offset,      found.bytes,
          found.is_in_block, shapes_.of(code.info(), found.type)};
}

std::vector<CodeVariable> CodeFiles::variables(const std::string& path, std::uint64_t offset) {
  std::vector<CodeVariable> variables;
  CodeFile& code = file(path);
  const std::vector<FrameVariable> found = code.info().variables_at(offset);
  if (found.empty()) return variables;
  const std::vector<CodePlace> places = this->places(path, offset);  // innermost first
  for (const FrameVariable& each : found) {
    const CodePlace* const place = each.level < places.size() ? &places[places.size() - 1 - each.level] : nullptr;
    if (place == nullptr || (!each.is_argument && place->line <= each.line)) continue;
    variables.push_back(variable(code, each, fmt::format("{}: {}", short_function(place->function), each.name)));
  }
  return variables;
}

void CodeFiles::add_functors(const std::string& path, std::uint64_t loaded_at) {
  if (!with_functors_.insert(path).second) return;
  DebugInfo& info = file(path).info();
  for (const auto& [manager, type] : info.functors()) shapes_.add_functor(info, type, loaded_at + manager);
}

const std::vector<CodeVariable>& CodeFiles::statics(const std::string& path) {
  const auto [known, is_new] = statics_.try_emplace(path);
  if (!is_new) return known->second;
  CodeFile& code = file(path);
  for (const FrameVariable& each : code.info().statics()) {
    const auto at = static_cast<std::uint64_t>(each.offset);
    const std::string name = readable(code.elf.variable_at(at).value_or(each.name));
    CodeVariable found = variable(code, each, fmt::format("{}: {}", path.substr(path.rfind('/') + 1), name));
    if (found.shape != 0) known->second.push_back(std::move(found));
  }
  return known->second;
}

}  // namespace dcmt::recorder

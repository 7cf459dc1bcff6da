#include "analyzer/rules/unnamed.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/growth/rounds.h"
#include "analyzer/source/python_source.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/storages/stacks.h"
#include "trace/base/code_path.h"

namespace dcmt::analyzer {
namespace {

constexpr double kLeastUnnamed = 0.01;  ///< of the peak
constexpr std::size_t kMostUnnamed = 3;
constexpr std::string_view kMain = "main.";
constexpr std::string_view kModule = "<module>";

struct Variable {
  std::string_view scope, name;  ///< of a function as in frames; kModule for a global
};

/// Of "main.state" and "train: state".
std::optional<Variable> variable_of(std::string_view path) {
  const std::size_t colon = path.find(": ");
  Variable variable;
  if (colon != std::string_view::npos) {
    variable = {path.substr(0, colon), path.substr(colon + 2)};
  } else if (path.starts_with(kMain)) {
    variable = {kModule, path.substr(kMain.size())};
  }
  return is_name(variable.name) ? std::optional(variable) : std::nullopt;
}

std::size_t indent_of(const PythonSource::Line& line) { return line.bare.find_first_not_of(" \t\r"); }

/// The lines at which functions stand while later steps make storages.
class LaterLines {
 public:
  LaterLines(const TraceData& data, const Rounds& rounds) : data_(data) {
    std::set<StackId> stacks;
    for (const Storage& storage : data.storages) {
      if (rounds.at(storage.span.from_seq) > 0) stacks.insert(storage.birth.stack);
    }
    for (const StackId stack : stacks) {
      for (const Stack* at = data.stacks.find(stack); at != nullptr; at = data.stacks.find(at->parent)) {
        const Frame* frame = data.frames.find(at->frame);
        if (frame == nullptr || is_library_file(data.text(frame->file))) continue;
        const auto line = static_cast<std::size_t>(frame->line);
        const auto [known, is_new] = first_.try_emplace({frame->file, data.text(frame->function)}, line);
        if (!is_new) known->second = std::min(known->second, line);
      }
    }
  }

  /// True if the variable's function stands at a later line in one file, and no such line can use the variable.
  [[nodiscard]] bool never_name(const Variable& variable) const {
    const std::pair<const std::pair<StringId, std::string_view>, std::size_t>* found = nullptr;
    for (const auto& each : first_) {
      if (each.first.second != variable.scope) continue;
      if (found != nullptr) return false;
      found = &each;
    }
    if (found == nullptr) return false;
    const auto source = std::ranges::find(data_.sources, found->first.first, &SourceFile::path);
    return source != data_.sources.end() && !names_later(PythonSource(source->text), variable, found->second);
  }

 private:
  static bool names_later(const PythonSource& source, const Variable& variable, std::size_t later) {
    const std::vector<PythonSource::Line>& lines = source.lines();
    if (later == 0 || later > lines.size()) return true;
    const std::size_t function = lines[later - 1].function;
    if ((function == 0) != (variable.scope == kModule)) return true;
    const auto is_in_body = [&](const PythonSource::Line& line) {
      return line.function == function && indent_of(line) != std::string_view::npos;
    };
    const auto first = std::ranges::find_if(lines, is_in_body);
    const auto body = std::find_if(first, lines.end(), [&](const PythonSource::Line& line) {
      return is_in_body(line) && (function == 0 || line.statement != first->statement);
    });
    if (body == lines.end()) return true;
    // The loop that the later line is in begins at the function's own indentation.
    std::size_t begin = later;
    while (begin > 1 && (lines[begin - 1].function != function || indent_of(lines[begin - 1]) != indent_of(*body)))
      --begin;
    return std::ranges::any_of(lines, [&](const PythonSource::Line& line) {
      const bool uses = function == 0 || source.is_within(line, source.function_of(lines[later - 1]));
      return uses && (line.function != function || line.number >= begin) && has_name(line.text, variable.name);
    });
  }

  const TraceData& data_;
  std::map<std::pair<StringId, std::string_view>, std::size_t> first_;
};

/// The container that alone holds a storage.
const Container* only_container(const TraceData& data, StorageId storage) {
  const Held* held = data.owners.of(storage);
  if (held == nullptr || held->otherwise || !held->role.empty() || held->containers.size() != 1) return nullptr;
  return data.owners.container(held->containers.front());
}

}  // namespace

std::vector<Remark> unnamed(const TraceData& data, const std::vector<Peak>& peaks) {
  const Rounds rounds = Rounds::steps(data);
  if (data.owners.held.empty() || rounds.size() < 2) return {};
  const Sequence end = rounds.end(rounds.size() - 1);
  std::optional<LaterLines> later;
  std::vector<Remark> remarks;
  for (const Peak& peak : peaks) {
    if (!peak.seq.valid()) continue;
    std::map<std::string_view, Remark> by_path;
    std::map<std::string_view, StackId> made;
    for (const Block* block : live_blocks(data, peak.device, peak.seq)) {
      const Storage* storage = data.storages.find(block->storage);
      if (storage == nullptr || rounds.at(storage->span.from_seq) > 0 || !storage->span.covers(end)) continue;
      const Container* container = only_container(data, storage->id);
      if (container == nullptr) continue;
      const std::string_view path = data.text(container->path);
      Remark& remark = by_path[path];
      ++remark.count;
      remark.bytes.value += block->bytes.value;
      made.try_emplace(path, storage->birth.stack);
    }
    for (auto& [path, remark] : by_path) {
      if (static_cast<double>(remark.bytes.value) < kLeastUnnamed * static_cast<double>(peak.bytes.value)) continue;
      const std::optional<Variable> variable = variable_of(path);
      if (!later) later.emplace(data, rounds);
      if (!variable || !later->never_name(*variable)) continue;
      remark.kind = RemarkKind::kKept;
      remark.unnamed = true;
      remark.holder = path;
      remark.place = describe_site(data, made.at(path));
      remarks.push_back(std::move(remark));
    }
  }
  std::ranges::stable_sort(remarks, std::greater(), &Remark::bytes);
  if (remarks.size() > kMostUnnamed) remarks.resize(kMostUnnamed);
  return remarks;
}

}  // namespace dcmt::analyzer

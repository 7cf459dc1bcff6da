#include "analyzer/references/statement_names.h"

#include <algorithm>

namespace dcmt::analyzer {
namespace {

constexpr std::string_view kDelete = "del ";

/// What is behind the last `=` that gives a value.
std::string_view given_value(std::string_view statement) {
  std::size_t equal = equal_sign(statement, 0);
  while (equal != npos) {
    statement = statement.substr(equal + 1);
    equal = equal_sign(statement, 0);
  }
  return trimmed(statement);
}

void add_statement(std::string_view statement, StatementNames& names) {
  if (statement.starts_with(kDelete)) {
    for (const std::string_view each : parts_of(statement.substr(kDelete.size()), ",")) {
      if (is_name(each)) names.given_up.insert(each);
    }
    return;
  }
  const std::set<std::string_view> given = names_given_by(statement);
  names.given_up.insert(given.begin(), given.end());
  const bool is_copy = equal_sign(statement, 0) != npos && is_name(given_value(statement));
  (is_copy ? names.copied : names.made).insert(given.begin(), given.end());
}

}  // namespace

const PythonSource* StatementReader::source_of(StringId file) {
  const auto [entry, is_new] = sources_.try_emplace(file);
  if (is_new) {
    const auto found = std::ranges::find(data_.sources, file, &SourceFile::path);
    if (found != data_.sources.end()) entry->second = std::make_unique<PythonSource>(found->text);
  }
  return entry->second.get();
}

const StatementNames& StatementReader::at(FrameId id) {
  const auto [entry, is_new] = known_.try_emplace(id);
  StatementNames& names = entry->second;
  const Frame* frame = data_.frames.find(id);
  if (!is_new || frame == nullptr || frame->line <= 0) return names;
  const PythonSource* source = source_of(frame->file);
  const auto number = static_cast<std::size_t>(frame->line);
  if (source == nullptr || number > source->lines().size()) return names;
  names.known = true;
  const std::string_view code = source->statement_of(source->lines()[number - 1]);
  for (const std::string_view statement : parts_of(code, ";")) add_statement(trimmed(statement), names);
  return names;
}

}  // namespace dcmt::analyzer

#include "analyzer/storages/origins.h"

#include <fnmatch.h>

#include <sstream>

#include "analyzer/storages/stacks.h"
#include "trace/base/path_end.h"
#include "trace/base/printable.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {
namespace {

bool matches(const std::string& pattern, std::string_view text) {
  return fnmatch(pattern.c_str(), std::string(text).c_str(), 0) == 0;
}

}  // namespace

bool OriginRow::names_frame(std::string_view path, std::string_view function) const {
  if (file.empty() || !ends_with_path(path, file)) return false;
  return function_pattern.empty() || matches(function_pattern, function);
}

bool OriginRow::names_operator(std::string_view name) const {
  return !operator_pattern.empty() && matches(operator_pattern, name);
}

std::vector<OriginRow> origin_rows(const std::string& text) {
  std::vector<OriginRow> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    OriginRow& row = rows.emplace_back();
    for (std::string* field : {&row.origin, &row.operator_pattern, &row.file, &row.function_pattern, &row.purpose}) {
      std::getline(fields, *field, '\t');
    }
  }
  return rows;
}

Origins::Origins(const TraceData& data) : data_(data), rows_(origin_rows(data.meta_text(meta::kOrigins))) {}

const std::string& Origins::of(const Mark& gather) { return find(gather).name; }

bool Origins::is_trial(const Mark& mark) { return find(mark).trial; }

const Origins::Origin& Origins::find(const Mark& mark) {
  const auto [at, fresh] = known_.try_emplace({mark.name, mark.by.stack});
  if (fresh) at->second = look_up(mark);
  return at->second;
}

Origins::Origin Origins::look_up(const Mark& mark) const {
  const auto origin_of = [](const OriginRow& row) { return Origin{printable(row.origin), row.purpose == "trial"}; };
  for (const FrameText& frame : frames_of(data_, mark.by.stack)) {
    for (const OriginRow& row : rows_) {
      if (row.names_frame(frame.file, frame.function)) return origin_of(row);
    }
  }
  const std::string_view by = data_.text(mark.name);
  for (const OriginRow& row : rows_) {
    if (row.names_operator(by)) return origin_of(row);
  }
  return {std::string(by), false};
}

}  // namespace dcmt::analyzer

// The variables that a line's statement gives values to, and whose values it gives up.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string_view>

#include "analyzer/load/trace_data.h"
#include "analyzer/source/python_source.h"

namespace dcmt::analyzer {

struct StatementNames {
  bool known = false;                   ///< the trace has the file
  std::set<std::string_view> made;      ///< get what a call of the statement returns
  std::set<std::string_view> copied;    ///< get the value of another variable, `a = b`
  std::set<std::string_view> given_up;  ///< are deleted, or get another value
};

/// Reads each file of a trace once. Thread-safety: none.
class StatementReader {
 public:
  explicit StatementReader(const TraceData& data) : data_(data) {}

  [[nodiscard]] const StatementNames& at(FrameId frame);

 private:
  [[nodiscard]] const PythonSource* source_of(StringId file);

  const TraceData& data_;
  std::map<StringId, std::unique_ptr<PythonSource>> sources_;
  std::map<FrameId, StatementNames> known_;
};

}  // namespace dcmt::analyzer

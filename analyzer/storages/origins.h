// The origins of gathers: compiled code, a hook of the framework, an eager fallback, a user's context. The table of the
// recording decides which is which (docs/operators.md).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// A row of the table of origins. It matches frames or an operator.
struct OriginRow {
  std::string origin;
  std::string operator_pattern;  ///< empty: the row matches frames
  std::string file;              ///< the end of the path
  std::string function_pattern;  ///< empty: any
  std::string purpose;           ///< "trial" or empty

  [[nodiscard]] bool names_frame(std::string_view path, std::string_view function) const;
  [[nodiscard]] bool names_operator(std::string_view name) const;
};

/// The rows stored in a trace, see meta::kOrigins.
[[nodiscard]] std::vector<OriginRow> origin_rows(const std::string& text);

/// Belongs to one TraceData, which must outlive this object.
class Origins {
 public:
  explicit Origins(const TraceData& data);

  /// The origin of a gather: from the innermost frame of its stack that matches a row; else from its operator; else the
  /// name of the gathering operator or function.
  [[nodiscard]] const std::string& of(const Mark& gather);

  /// True for marks of a trial of the program, such as a profiler of graphs, which is not the training. For reads as
  /// well as gathers.
  [[nodiscard]] bool is_trial(const Mark& mark);

 private:
  struct Origin {
    std::string name;
    bool trial = false;
  };

  const Origin& find(const Mark& mark);
  [[nodiscard]] Origin look_up(const Mark& mark) const;

  const TraceData& data_;
  std::vector<OriginRow> rows_;
  std::map<std::pair<StringId, StackId>, Origin> known_;
};

}  // namespace dcmt::analyzer

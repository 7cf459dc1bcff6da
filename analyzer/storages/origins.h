// Where gathers come from: compiled code, a hook of the framework, an eager fallback, a user's context. Which is which
// says the table that the run was recorded with (docs/operators.md).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// A row of the table of origins, which is about frames or about an operator.
struct OriginRow {
  std::string origin;
  std::string operator_pattern;  ///< empty: the row is about frames
  std::string file;              ///< how the path ends
  std::string function_pattern;  ///< empty: any
  std::string purpose;           ///< "trial", or empty

  [[nodiscard]] bool names_frame(std::string_view path, std::string_view function) const;
  [[nodiscard]] bool names_operator(std::string_view name) const;
};

/// The rows as a trace has them, see meta::kOrigins.
[[nodiscard]] std::vector<OriginRow> origin_rows(const std::string& text);

/// Belongs to one TraceData, which must outlive it.
class Origins {
 public:
  explicit Origins(const TraceData& data);

  /// The origin of a gather: by the innermost frame of its stack that a row knows, else by its operator, else the
  /// gathering operator or function itself.
  [[nodiscard]] const std::string& of(const Mark& gather);

  /// True where the program is tried out, as a profiler of graphs does: it is not the training. For reads as for
  /// gathers.
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

#include "analyzer/time/named_point.h"

#include "analyzer/time/timeline.h"
#include "trace/base/printable.h"

namespace dcmt::analyzer {

Error no_point(const std::string& path, std::string_view name, const std::string& accepts) {
  return {ErrorCode::kUsage, path + ": '" + printable(name) + "' names no point in this trace. " + accepts + "."};
}

Expected<Sequence> named_point(const TraceData& data, const std::string& path, std::string_view name, Sequence peak,
                               const std::string& options) {
  if (const std::optional<Sequence> found = find_point(data, name, peak)) return *found;
  return no_point(path, name,
                  options + " peak, end, exit, oom, step:N, mark:NAME or a sequence number up to " +
                      std::to_string(last_sequence(data).value));
}

}  // namespace dcmt::analyzer

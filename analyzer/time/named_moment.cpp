#include "analyzer/time/named_moment.h"

#include "analyzer/time/timeline.h"
#include "trace/base/printable.h"

namespace dcmt::analyzer {

Error no_moment(const std::string& path, std::string_view name, const std::string& takes) {
  return {ErrorCode::kUsage, path + ": no moment '" + printable(name) + "'. " + takes + "."};
}

Expected<Sequence> named_moment(const TraceData& data, const std::string& path, std::string_view name, Sequence peak,
                                const std::string& options) {
  if (const std::optional<Sequence> found = find_moment(data, name, peak)) return *found;
  return no_moment(path, name,
                   options + " a sequence number up to " + std::to_string(last_sequence(data).value) +
                       ", peak, end, step:N, oom or the name of a mark");
}

}  // namespace dcmt::analyzer

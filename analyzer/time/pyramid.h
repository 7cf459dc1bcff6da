// The allocated curve of a trace without loading the trace: from its pyramid (trace/sql/pyramid.h), on the level that a
// stretch of it needs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/status.h"
#include "trace/base/typed_id.h"
#include "trace/sql/database.h"
#include "trace/sql/pyramid.h"

namespace dcmt::analyzer {

/// What the curve does from one change of it until right before another, or until the end of the trace.
struct CurveStretch {
  Sequence from, to;  ///< `to` is excluded
  TimeNs from_ns, to_ns;
  Bytes lowest, highest, last;  ///< allocated after changes in it
  Sequence highest_seq;         ///< first reached there
  TimeNs highest_ns;
  bool only_peaks = false;  ///< has intervals of which only sums were kept: it may have been below `lowest`
};

struct DeviceCurve {
  std::string device;
  CurveStretch whole;
  std::int64_t top = 0;  ///< level of the one row that is the whole
};

/// Thread-safety: that of the database.
class Pyramid {
 public:
  /// Takes the pyramid of an opened trace, or makes a temporary one where there is none: it is still recorded, or its
  /// recorder could not finish it. `database` must outlive the result.
  static Expected<Pyramid> open(Database& database);

  /// False: open() would have to make one.
  static Expected<bool> is_stored(Database& database);

  /// Those on which something was allocated: GPUs before the CPU, of several the one with the highest peak first.
  [[nodiscard]] const std::vector<DeviceCurve>& devices() const { return devices_; }
  /// False: made just now, of the rows.
  [[nodiscard]] bool stored() const { return stored_; }

  [[nodiscard]] TimeNs start() const { return start_; }  ///< of the trace

  /// At most `most` stretches, one after the other, of which the first has `from` in it and the last has `to`, as far
  /// as there are changes. As fine as `most` and level 0 allow: a stretch has 64 changes or more, the last one the
  /// rest.
  [[nodiscard]] Expected<std::vector<CurveStretch>> stretches(const DeviceCurve& device, Sequence from, Sequence to,
                                                              std::size_t most) const;

 private:
  explicit Pyramid(Database& database) : database_(&database) {}
  Status load_devices();
  /// The rows of a level that touch the stretch, and the begin of what follows them.
  struct Rows {
    std::vector<PyramidRow> rows;
    Moment end;
  };
  [[nodiscard]] Expected<Rows> read(std::string_view device, std::int64_t level, Sequence from, Sequence to) const;
  [[nodiscard]] Error damaged() const;

  Database* database_;
  bool stored_ = false;
  TimeNs start_;
  Moment end_;  ///< of the trace
  std::vector<DeviceCurve> devices_;
};

}  // namespace dcmt::analyzer

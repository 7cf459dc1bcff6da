// The allocated curve of a trace without loading the trace: from its pyramid (trace/sql/pyramid.h), on the level that
// the requested stretch needs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/run_point.h"
#include "trace/base/status.h"
#include "trace/base/typed_id.h"
#include "trace/sql/database.h"
#include "trace/sql/pyramid.h"
#include "trace/tables/point.h"
#include "trace/tables/sums.h"

namespace dcmt::analyzer {

/// The curve from one of its changes up to another, or to the end of the trace.
struct CurveStretch {
  Sequence from, to;  ///< `to` is excluded
  TimeNs from_ns, to_ns;
  Bytes lowest, highest, last;  ///< allocated bytes after the changes in the stretch
  Sequence highest_seq;         ///< where `highest` is reached first
  TimeNs highest_ns;
  bool only_peaks = false;  ///< it has intervals with sums only, so the curve may have been below `lowest`
};

struct DeviceCurve {
  std::string device;
  CurveStretch whole;
  std::int64_t top = 0;  ///< the level whose only row covers everything

  static constexpr std::string_view kShape = "curve_device";
  static void describe(auto&& field) {
    field("device", &DeviceCurve::device, "");
    field("peak_bytes", &DeviceCurve::peak, "of the whole run");
    field("peak_at", &DeviceCurve::peak_at, "first reached there");
  }

  [[nodiscard]] Bytes peak() const { return whole.highest; }
  [[nodiscard]] RunPoint peak_at() const { return {whole.highest_seq, whole.highest_ns}; }
};

/// Thread-safety: that of the database.
class Pyramid {
 public:
  /// Opens the pyramid of an opened trace. If there is none, makes a temporary one: the trace is still being recorded,
  /// or its recorder could not finish it. `database` must outlive the result.
  static Expected<Pyramid> open(Database& database);

  /// False if open() would have to make one.
  static Expected<bool> is_stored(Database& database);

  /// The devices with allocations: GPUs before the CPU; of several GPUs the one with the highest peak first.
  [[nodiscard]] const std::vector<DeviceCurve>& devices() const { return devices_; }
  /// False if open() made the pyramid from the rows.
  [[nodiscard]] bool stored() const { return stored_; }

  [[nodiscard]] TimeNs start() const { return start_; }  ///< of the trace

  /// At most `most` consecutive stretches. The first contains `from` and the last contains `to`, if there are changes.
  /// They are as fine as `most` and level 0 allow: a stretch has at least 64 changes; the last one has the rest.
  [[nodiscard]] Expected<std::vector<CurveStretch>> stretches(const DeviceCurve& device, Sequence from, Sequence to,
                                                              std::size_t most) const;

 private:
  explicit Pyramid(Database& database) : database_(&database) {}
  Status load_devices();
  /// The rows of a level that overlap the stretch, and the begin of the row after them.
  struct Rows {
    std::vector<PyramidRow> rows;
    Point end;
  };
  [[nodiscard]] Expected<Rows> read(std::string_view device, std::int64_t level, Sequence from, Sequence to) const;
  [[nodiscard]] Error damaged() const;

  Database* database_;
  bool stored_ = false;
  TimeNs start_;
  Point end_;  ///< of the trace
  std::vector<DeviceCurve> devices_;
};

}  // namespace dcmt::analyzer

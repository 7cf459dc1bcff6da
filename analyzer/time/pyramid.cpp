#include "analyzer/time/pyramid.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "analyzer/time/curve.h"
#include "trace/base/printable.h"
#include "trace/sql/limits.h"
#include "trace/sql/meta_keys.h"
#include "trace/sql/read_meta.h"
#include "trace/sql/row_io.h"

namespace dcmt::analyzer {
namespace {

/// 64 changes on level 0: more levels would contain more changes than there are numbers.
constexpr std::int64_t kMostLevels = 11;

/// The integer result of a query; nullopt: no row, or NULL.
Expected<std::optional<std::int64_t>> integer_of(Statement& query) {
  DCMT_ASSIGN_OR_RETURN(bool row, query.step());
  const std::optional<std::int64_t> value = row ? query.optional_integer(0) : std::nullopt;
  query.reset();
  return value;
}

Expected<std::int64_t> number_of_meta(Database& database, std::string_view key) {
  DCMT_ASSIGN_OR_RETURN(const std::optional<std::int64_t> value, meta_integer(database, key));
  return std::clamp<std::int64_t>(value.value_or(0), 0, kLargest);
}

bool makes_sense(const PyramidRow& row) {
  const auto fits = [](std::int64_t value) { return value >= -kLargest && value <= kLargest; };
  return fits(row.lowest) && fits(row.highest) && row.lowest <= row.last && row.last <= row.highest &&
         row.from.seq > 0 && fits(row.from.seq) && row.from.ns >= 0 && fits(row.from.ns) &&
         row.highest_at.seq >= row.from.seq && fits(row.highest_at.seq) && row.highest_at.ns >= row.from.ns &&
         fits(row.highest_at.ns) && row.sums_only >= 0 && fits(row.sums_only);
}

CurveStretch stretch_of(const PyramidRow& row, const Point& end) {
  CurveStretch stretch;
  stretch.from = Sequence(row.from.seq);
  stretch.from_ns = TimeNs(row.from.ns);
  stretch.to = Sequence(end.seq);
  stretch.to_ns = TimeNs(end.ns);
  stretch.lowest = Bytes(row.lowest);
  stretch.highest = Bytes(row.highest);
  stretch.last = Bytes(row.last);
  stretch.highest_seq = Sequence(row.highest_at.seq);
  stretch.highest_ns = TimeNs(row.highest_at.ns);
  stretch.only_peaks = row.sums_only > 0;
  return stretch;
}

}  // namespace

Expected<bool> Pyramid::is_stored(Database& database) {
  DCMT_ASSIGN_OR_RETURN(Statement find, database.prepare("SELECT 1 FROM main.sqlite_schema WHERE name = 'pyramid'"));
  DCMT_ASSIGN_OR_RETURN(const std::optional<std::int64_t> found, integer_of(find));
  return found.has_value();
}

Expected<Pyramid> Pyramid::open(Database& database) {
  Pyramid pyramid(database);
  DCMT_ASSIGN_OR_RETURN(pyramid.stored_, is_stored(database));
  if (!pyramid.stored_) DCMT_RETURN_IF_ERROR(build_pyramid(database, "temp"));

  DCMT_ASSIGN_OR_RETURN(std::int64_t last, number_of_meta(database, meta::kLastSeq));
  DCMT_ASSIGN_OR_RETURN(std::int64_t end, number_of_meta(database, meta::kEndNs));
  DCMT_ASSIGN_OR_RETURN(std::int64_t start, number_of_meta(database, meta::kStartNs));
  pyramid.start_ = TimeNs(start);
  pyramid.end_ = {last + 1, end};
  DCMT_RETURN_IF_ERROR(pyramid.load_devices());
  return pyramid;
}

Error Pyramid::damaged() const {
  return {ErrorCode::kBadInput, database_->path() + ": damaged: the pyramid of its curve makes no sense."};
}

Status Pyramid::load_devices() {
  // One search per device: the purpose of a pyramid is to avoid reading all rows.
  DCMT_ASSIGN_OR_RETURN(Statement next,
                        database_->prepare("SELECT device FROM pyramid WHERE device > ? ORDER BY device LIMIT 1"));
  DCMT_ASSIGN_OR_RETURN(Statement top, database_->prepare("SELECT max(level) FROM pyramid WHERE device = ?"));
  for (std::string after;;) {
    next.bind(1, std::string_view(after));
    DCMT_ASSIGN_OR_RETURN(bool more, next.step());
    if (!more) break;
    DeviceCurve curve;
    curve.device = next.text(0);
    next.reset();
    // A name that is no text, such as a blob, would be found again and again.
    if (curve.device <= after || printable(curve.device) != curve.device) return damaged();
    after = curve.device;
    top.bind(1, std::string_view(curve.device));
    DCMT_ASSIGN_OR_RETURN(std::optional<std::int64_t> level, integer_of(top));
    curve.top = level.value_or(-1);
    if (curve.top < 0 || curve.top > kMostLevels) return damaged();
    DCMT_ASSIGN_OR_RETURN(Rows whole, read(curve.device, curve.top, Sequence(1), Sequence(kLargest)));
    if (whole.rows.size() != 1) return damaged();
    curve.whole = stretch_of(whole.rows.front(), whole.end);
    devices_.push_back(std::move(curve));
  }
  std::stable_sort(devices_.begin(), devices_.end(), [](const DeviceCurve& a, const DeviceCurve& b) {
    return std::pair(is_gpu(a.device), a.whole.highest) > std::pair(is_gpu(b.device), b.whole.highest);
  });
  return {};
}

Expected<Pyramid::Rows> Pyramid::read(std::string_view device, std::int64_t level, Sequence from, Sequence to) const {
  DCMT_ASSIGN_OR_RETURN(
      Statement query,
      database_->prepare(select_rows_sql<PyramidRow>(
          "WHERE device = ?1 AND level = ?2 AND from_seq >= coalesce("
          "  (SELECT max(from_seq) FROM pyramid WHERE device = ?1 AND level = ?2 AND from_seq <= ?3), 0)"
          " ORDER BY from_seq")));
  query.bind(1, device);
  query.bind(2, level);
  query.bind(3, from.value);
  Rows read;
  while (true) {
    DCMT_ASSIGN_OR_RETURN(bool more, query.step());
    if (!more) {
      if (read.rows.empty()) return read;
      const Point& latest = read.rows.back().highest_at;
      read.end = {std::max(end_.seq, latest.seq + 1), std::max(end_.ns, latest.ns)};
      return read;
    }
    auto row = read_row<PyramidRow>(query);
    row.device = device;  // the text of a statement does not last
    if (!makes_sense(row)) return damaged();
    if (!read.rows.empty()) {
      const PyramidRow& before = read.rows.back();
      if (before.highest_at.seq >= row.from.seq || before.highest_at.ns > row.from.ns) return damaged();
    }
    if (row.from.seq > to.value) {
      read.end = row.from;
      return read;
    }
    read.rows.push_back(row);
  }
}

Expected<std::vector<CurveStretch>> Pyramid::stretches(const DeviceCurve& device, Sequence from, Sequence to,
                                                       std::size_t most) const {
  most = std::max<std::size_t>(most, 1);
  Rows found;
  for (std::int64_t level = device.top; level >= 0; --level) {
    DCMT_ASSIGN_OR_RETURN(Rows rows, read(device.device, level, from, to));
    // All levels have the same curve.
    if (level != device.top && rows.rows.empty() != found.rows.empty()) return damaged();
    found = std::move(rows);
    if (found.rows.size() >= most) break;
  }
  std::vector<CurveStretch> stretches;
  const std::size_t together = (found.rows.size() + most - 1) / most;
  for (std::size_t first = 0; first < found.rows.size(); first += together) {
    const std::size_t end = std::min(first + together, found.rows.size());
    PyramidRow row = found.rows[first];
    for (std::size_t i = first + 1; i < end; ++i) row.merge(found.rows[i]);
    if (row.highest > device.whole.highest.value || row.lowest < device.whole.lowest.value) return damaged();
    stretches.push_back(stretch_of(row, end < found.rows.size() ? found.rows[end].from : found.end));
  }
  return stretches;
}

}  // namespace dcmt::analyzer

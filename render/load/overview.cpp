#include "render/load/overview.h"

#include "analyzer/time/curve_overview.h"
#include "analyzer/time/pyramid.h"
#include "trace/sql/trace_file.h"

namespace dcmt::load {

Expected<scene::Overview> read_overview(const std::string& path, std::size_t most) {
  scene::Overview overview;
  DCMT_ASSIGN_OR_RETURN(Database database, open_trace(path));
  DCMT_ASSIGN_OR_RETURN(const bool stored, analyzer::Pyramid::is_stored(database));
  if (!stored) return overview;
  analyzer::CurveQuestion question;
  question.rows = most;
  DCMT_ASSIGN_OR_RETURN(const analyzer::CurveOverview curve, analyzer::curve_overview(database, question));
  overview.device = curve.device.device;
  overview.peak = curve.device.whole.highest.value;
  for (const analyzer::CurveRow& row : curve.rows) {
    const analyzer::CurveStretch& of = row.stretch;
    overview.stretches.push_back({of.from_ns.value, of.to_ns.value, of.highest.value});
  }
  return overview;
}

}  // namespace dcmt::load

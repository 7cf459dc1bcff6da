// `show curve`: allocated bytes over the run.
#include "analyzer/model/curve_view.h"
#include "cli/curve_text.h"
#include "cli/show_view.h"

namespace dcmt::cli {
namespace {

Status show_curve(OpenedTrace& trace, const ShowOptions& options, const Style& style, ShowOutput& output) {
  DCMT_ASSIGN_OR_RETURN(analyzer::CurveOverview curve, analyzer::curve_overview(trace.database, options.curve));
  output.add(model::CurveView{trace.path, trace.rank, std::move(curve)},
             [&](const auto& view) { return curve_text(view, style); });
  return {};
}

}  // namespace

void add_curve_view(Parser show, int& exit_code) {
  auto options = std::make_shared<ShowOptions>();
  options->curve.rows = 24;
  Parser view = add_view(show, "curve", "Allocated bytes over the run", options, of_opened(show_curve), exit_code);
  view.add_option("--from", options->curve.from, "A sequence number, or step:N for its begin");
  view.add_option("--to", options->curve.to, "A sequence number, or step:N for its end");
  view.add_option("--rows", options->curve.rows, "Most rows").range(1, 100'000).capture_default_str();
  view.add_option("--device", options->curve.device, kDeviceHelp);
  view.footer(
      "Each row has the lowest and the highest point up to the row below it: no peak is lost, however few rows. A row\n"
      "stands for 64 changes of the curve or more.\n\n"
      "Examples:\n"
      "  dc-memtrace show curve out/\n"
      "  dc-memtrace show curve out/rank0.dcmt --from step:10 --to step:12 --rows 60");
}

}  // namespace dcmt::cli

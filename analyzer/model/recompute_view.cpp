#include "analyzer/model/recompute_view.h"

#include "analyzer/storages/group_names.h"

namespace dcmt::model {

RecomputeView recompute_view(const std::string& path, const analyzer::Analysis& analysis) {
  const TraceData& data = *analysis.data;
  const analyzer::DeviceAnalysis& device = analysis.main();
  RecomputeView view;
  view.path = path;
  view.rank = analysis.facts.rank;
  view.device = text_of(data, device.device);
  view.peak = device.what_if.measured.bytes;
  view.step = number_of(device.peak_step);
  if (device.peak_phase != nullptr) view.phase = text_of(data, device.peak_phase->name);
  if (const analyzer::Step* step = device.peak_step; step != nullptr && step->to.valid()) {
    view.step_time = TimeNs(step->to_ns.value - step->from_ns.value);
  }
  for (const analyzer::Block& block : data.blocks) {
    const bool counts = block.device == device.device && block.span.covers(device.what_if.measured.seq);
    if (counts && analyzer::is_sum_of_small_blocks(data, block)) view.small.value += block.bytes.value;
  }
  view.choices = analyzer::recomputes(data, analysis.phases, analysis.releases.steps, device.device);
  return view;
}

}  // namespace dcmt::model

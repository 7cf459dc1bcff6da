#include "analyzer/model/memory_view.h"

#include <algorithm>
#include <functional>

#include "analyzer/growth/outside_growth.h"
#include "analyzer/load/optional_text.h"
#include "analyzer/storages/holder_names.h"
#include "analyzer/time/timeline.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::model {
namespace {

using analyzer::Resident;

MemoryOfStep at(const Resident& sample, const std::vector<analyzer::Step>& steps, TimeNs begin) {
  return {analyzer::last_ended(steps, sample.seq, &analyzer::Step::to),
          TimeNs(sample.ns.value - begin.value),
          sample.all(),
          sample.torch,
          sample.anonymous,
          sample.file,
          sample.shared,
          sample.cgroup};
}

}  // namespace

MemoryView memory_view(const std::string& path, const analyzer::Analysis& analysis) {
  const TraceData& data = *analysis.data;
  const analyzer::ProcessMemory& memory = data.memory;
  MemoryView view;
  view.path = path;
  view.rank = analysis.facts.rank;
  view.samples = static_cast<std::int64_t>(memory.samples.size());
  view.kills = data.meta_integer(meta::kCgroupKills);
  if (const auto limit = data.meta_integer(meta::kCgroupLimit)) view.limit = Bytes(*limit);
  const std::vector<analyzer::Step> steps = analyzer::steps_of(data);
  const TimeNs begin(data.meta_integer(meta::kStartNs).value_or(0));
  for (const Resident& sample : memory.samples) {
    view.highest = std::max(view.highest.value_or(Bytes()), sample.all());
    const MemoryOfStep now = at(sample, steps, begin);
    // Without steps, each sample is a row.
    const bool replaces = !steps.empty() && !view.steps.empty() && view.steps.back().step == now.step;
    if (replaces) view.steps.pop_back();
    view.steps.push_back(now);
  }
  const std::vector<const Resident*> with_classes = memory.with_classes();
  if (!with_classes.empty()) {
    view.classes_at = at(*with_classes.back(), steps, begin);
    const auto before = memory.classes_of(*with_classes.front());
    for (const analyzer::Mapped& mapped : memory.classes_of(*with_classes.back())) {
      const auto then = std::ranges::find(before, mapped.kind, &analyzer::Mapped::kind);
      MemoryClass row{mapped.kind, mapped.bytes, mapped.torch, mapped.size, {}, mapped.mappings, {}};
      if (then != before.end()) row.before = then->bytes;
      if (mapped.name.valid()) row.largest = std::string(data.text(mapped.name));
      view.classes.push_back(std::move(row));
    }
    std::ranges::stable_sort(view.classes, std::greater(), &MemoryClass::bytes);
  }
  for (const analyzer::ArrayHolder& holder : memory.holders) {
    if (holder.scan != memory.holders.back().scan || analyzer::is_graph(data.text(holder.type))) continue;
    view.arrays.push_back({data.text(holder.path), analyzer::unless_empty(data.text(holder.place)),
                           analyzer::unless_empty(data.text(holder.type)), holder.arrays, holder.bytes});
  }
  view.forked = analyzer::forked_children(data);
  view.gpus = gpu_memory(data, steps, begin);
  if (std::string why = data.meta_text(meta::kGpuMemoryUnknown); !why.empty()) view.gpus_unknown = std::move(why);
  return view;
}

}  // namespace dcmt::model

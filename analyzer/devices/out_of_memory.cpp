#include "analyzer/devices/out_of_memory.h"

#include <algorithm>
#include <map>

#include "analyzer/storages/live_set.h"
#include "trace/base/oom_figures.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {
namespace {

OomFigures figures_of(const OutOfMemory& oom, Bytes allocated) {
  const auto known = [](const std::optional<Bytes>& bytes) {
    return bytes ? std::optional(bytes->value) : std::nullopt;
  };
  return {oom.requested.value, allocated.value, known(oom.reserved), known(oom.free)};
}

/// The last time each thread was seen at work. With detail `lifetimes`, few operators are observed, and none before the
/// first gather, so allocations count, too. Ends do not count: an error on its way out ends things, too.
std::map<ThreadId, Sequence> last_work(const TraceData& data) {
  std::map<ThreadId, Sequence> last;
  const auto see = [&last](ThreadId thread, Sequence at) {
    Sequence& latest = last[thread];
    latest = std::max(latest, at);
  };
  for (const Operator& op : data.operators) see(op.thread, op.span.from_seq);
  for (const Block& block : data.blocks) see(block.birth.thread, block.span.from_seq);
  for (const Storage& storage : data.storages) {
    if (!storage.first_seen) see(storage.birth.thread, storage.span.from_seq);  // else this may be its end
  }
  return last;
}

Bytes bytes_alive(const TraceData& data, StringId device, Sequence at) {
  Bytes bytes;
  for (const Block* block : live_blocks(data, device, at)) bytes.value += block->bytes.value;
  return bytes;
}

OomCause cause_of(const OomVerdict& verdict, const OomFigures& figures) {
  if (verdict.fits_without_dead) return OomCause::kHeld;
  if (figures.is_fragmented()) return OomCause::kFragmented;
  return figures.is_limited() ? OomCause::kLimited : OomCause::kNeeded;
}

}  // namespace

std::vector<OomVerdict> judge_out_of_memory(const TraceData& data, const Releases& releases) {
  std::vector<OomVerdict> verdicts;
  if (data.out_of_memory.empty()) return verdicts;
  const std::vector<Gap> gaps = gaps_at_release(data, releases.residual());
  const std::map<ThreadId, Sequence> last = last_work(data);
  const bool ended_well = data.meta_text(meta::kExit) == "exit 0";
  for (const OutOfMemory& oom : data.out_of_memory) {
    OomVerdict& verdict = verdicts.emplace_back();
    verdict.oom = &oom;
    verdict.allocated = oom.allocated ? *oom.allocated : bytes_alive(data, oom.device, oom.seq);
    verdict.dead = bytes_in_gaps(gaps, oom.device, oom.seq);
    const OomFigures figures = figures_of(oom, verdict.allocated);
    verdict.missing = Bytes(figures.missing());
    verdict.fits_without_dead = verdict.dead.value > 0 && verdict.dead >= verdict.missing;
    verdict.cause = cause_of(verdict, figures);
    const auto after = last.find(oom.by.thread);
    verdict.went_on = ended_well || (after != last.end() && after->second > oom.seq);
    verdict.step = step_at(releases.steps, oom.seq);
  }
  return verdicts;
}

std::string_view name_of(OomCause cause) {
  switch (cause) {
    case OomCause::kHeld:
      return "held";
    case OomCause::kFragmented:
      return "fragmented";
    case OomCause::kLimited:
      return "limited";
    case OomCause::kNeeded:
      break;
  }
  return "needed";
}

}  // namespace dcmt::analyzer

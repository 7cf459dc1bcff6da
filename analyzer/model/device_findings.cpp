#include "analyzer/model/device_findings.h"

#include <algorithm>

#include "trace/base/detail.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::model {
namespace {

using analyzer::Analysis;

std::optional<std::string_view> phase_at(const Analysis& analysis, Sequence at) {
  const analyzer::Mark* phase = analysis.phases.at(at);
  return phase != nullptr ? std::optional(analysis.data->text(phase->name)) : std::nullopt;
}

/// True if the finding is about a release whose storage was held at the error.
bool points_at(const analyzer::Finding& finding, const analyzer::Finding& error) {
  return finding.number != error.number && std::ranges::any_of(finding.items, [&](const auto& item) {
           return item.row != nullptr &&
                  std::ranges::any_of(error.items, [&](const auto& held) { return held.row == item.row; });
         });
}

}  // namespace

std::vector<OutOfMemory> errors_of(const Analysis& analysis, const analyzer::Finding& finding) {
  const TraceData& data = *analysis.data;
  std::vector<OutOfMemory> errors;
  for (const analyzer::OomVerdict& verdict : finding.out_of_memory) {
    const analyzer::OutOfMemory& oom = *verdict.oom;
    OutOfMemory error;
    error.at = {oom.seq, oom.ns};
    error.step = number_of(verdict.step);
    error.device = data.text(oom.device);
    error.requested = oom.requested;
    error.allocated = verdict.allocated;
    error.reserved = oom.reserved;
    error.free = oom.free;
    error.total = oom.total;
    error.dead = verdict.dead;
    error.missing = verdict.missing;
    error.cause = verdict.cause;
    error.fits_without_dead = verdict.fits_without_dead;
    error.went_on = verdict.went_on;
    error.by = actor_of(data, oom.by);
    error.phase = phase_at(analysis, oom.seq);
    error.index = &oom - data.out_of_memory.data() + 1;
    error.without_dead = Bytes(verdict.allocated.value - verdict.dead.value);
    errors.push_back(std::move(error));
  }
  return errors;
}

std::optional<OutOfMemoryStory> story_of_errors(const Analysis& analysis, const analyzer::Finding& finding) {
  if (finding.out_of_memory.empty()) return std::nullopt;
  OutOfMemoryStory story;
  const analyzer::OutOfMemory& oom = *finding.out_of_memory.front().oom;
  if (analysis.data->sums_only_at(oom.seq) == nullptr) {
    const LiveSet alive(analysis.data, &analysis.phases, oom.device, oom.seq);
    story.alive = alive.by(analyzer::GroupBy::kSite);
    story.held = alive.by(analyzer::GroupBy::kHolder);
    std::erase_if(story.held.groups, [](const analyzer::Group& each) {
      return !each.largest_storage || each.name.starts_with(analyzer::kNotRead);
    });
  }
  for (const analyzer::Finding& other : analysis.findings) {
    if (points_at(other, finding)) story.findings.push_back(other.number);
  }
  if (analysis.data->meta_text(meta::kDetail) != kSnapshotDetail)
    story.all_went_on = std::ranges::all_of(finding.out_of_memory, &analyzer::OomVerdict::went_on);
  return story;
}

}  // namespace dcmt::model

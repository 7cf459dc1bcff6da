#include "analyzer/devices/out_of_memory.h"

#include <algorithm>
#include <tuple>

#include "analyzer/releases/holders.h"
#include "analyzer/rules/rules.h"
#include "analyzer/storages/stacks.h"

namespace dcmt::analyzer::rules {
namespace {

/// Repeated errors of the same request.
bool alike(const TraceData& data, const OomVerdict& a, const OomVerdict& b) {
  const auto place = [&](const OomVerdict& verdict) {
    const OutOfMemory& oom = *verdict.oom;
    const Operator* op = named_operator(data, oom.by.op);
    return std::tuple(oom.device, op != nullptr ? op->name : StringId(), site_of(data, oom.by.stack), verdict.cause);
  };
  return place(a) == place(b);
}

/// The releases whose storages were still held at the error.
std::vector<FindingItem> held_at(const TraceData& data, const Releases& releases, const OutOfMemory& oom) {
  std::vector<FindingItem> items;
  for (const ReleaseRow* row : releases.residual()) {
    const Bytes bytes = bytes_in_gaps(gaps_at_release(data, *row), oom.device, oom.seq);
    if (bytes.value == 0) continue;
    FindingItem item = item_of_release(*row);
    item.bytes = bytes;
    items.push_back(std::move(item));
  }
  return items;
}

/// The holder of the largest storage at the error. It can differ from the holder at the release.
std::optional<Holders> holders_then(const TraceData& data, const Finding& finding, const OutOfMemory& oom) {
  const auto largest = std::max_element(finding.items.begin(), finding.items.end(),
                                        [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  return largest != finding.items.end() ? holders_at_error(data, largest->storage, oom.seq) : std::nullopt;
}

std::string why_of(OomCause cause) {
  switch (cause) {
    case OomCause::kHeld:
      return "storages that were released were still held; without them the request fits";
    case OomCause::kFragmented:
      return "the reserved memory had the bytes free, but not in one piece";
    case OomCause::kLimited:
      return "the device had the bytes free, but a limit kept the process from them";
    case OomCause::kNeeded:
      break;
  }
  return "what was alive had not been released, or too little of it had: the program needs more than there is";
}

std::string fix_of(OomCause cause) {
  switch (cause) {
    case OomCause::kHeld:
      return "free them at their release: the findings of the releases below say who holds them";
    case OomCause::kFragmented:
      return "fewer sizes that differ. Whether a setting of the allocator lets it fit is known with --detail full";
    case OomCause::kLimited:
      return "raise the limit (torch.cuda.set_per_process_memory_fraction), or need less";
    case OomCause::kNeeded:
      break;
  }
  return "keep less of what was alive, ask for less at once (a smaller batch), or give the program more memory";
}

}  // namespace

std::vector<Finding> out_of_memory(const TraceData& data, const Releases& releases) {
  std::vector<Finding> findings;
  for (const OomVerdict& verdict : judge_out_of_memory(data, releases)) {
    const OutOfMemory& oom = *verdict.oom;
    const auto same = std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) {
      return alike(data, finding.out_of_memory.front(), verdict);
    });
    if (same != findings.end()) {
      same->out_of_memory.push_back(verdict);
      continue;
    }
    Finding& finding = findings.emplace_back();
    finding.rule = "out_of_memory";
    finding.title = "out of memory";
    finding.confidence = Confidence::kCertain;
    finding.items = held_at(data, releases, oom);
    complete_from_items(data, finding);
    finding.trial = false;  // memory ran out, whoever held it
    finding.holders = holders_then(data, finding, oom);
    finding.why = why_of(verdict.cause);
    finding.fix = fix_of(verdict.cause);
    finding.out_of_memory.push_back(verdict);
  }
  return findings;
}

}  // namespace dcmt::analyzer::rules

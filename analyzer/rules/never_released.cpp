#include <algorithm>
#include <map>
#include <string>

#include "analyzer/rules/left_gathered.h"
#include "analyzer/rules/rules.h"
#include "analyzer/storages/origins.h"
#include "analyzer/storages/stacks.h"

namespace dcmt::analyzer::rules {
namespace {

/// Gathers with equal values are one finding.
struct UnreleasedKey {
  std::string origin;
  StringId device, gather_operator;
  FrameId site;
  bool counted = false;                                                           ///< has releases, but no final one
  friend auto operator<=>(const UnreleasedKey&, const UnreleasedKey&) = default;  // NOLINT(modernize-use-nullptr)
};

}  // namespace

std::vector<Finding> never_released(const TraceData& data, const Releases& releases) {
  std::map<UnreleasedKey, Finding> groups;
  Origins origins(data);
  for (LeftGathered& left : left_gathered(data, releases)) {
    if (left.because != LeftBecause::kNoRelease) continue;
    const Mark& gather = *left.item.gather;
    const UnreleasedKey key{origins.of(gather), device_of(data, left.item.storage), gather.name,
                            site_of(data, gather.by.stack), left.item.release != nullptr};
    groups[key].items.push_back(std::move(left.item));
  }
  std::vector<Finding> findings;
  for (auto& [key, finding] : groups) {
    std::stable_sort(finding.items.begin(), finding.items.end(),
                     [](const FindingItem& a, const FindingItem& b) { return a.since < b.since; });
    finding.rule = "never_released";
    finding.title = "gathered, never released";
    finding.classes.emplace_back("D16");
    finding.confidence = Confidence::kCertain;
    complete_from_items(data, finding);
    finding.why = key.counted ? "the use count never came to zero: fewer releases ran than were declared"
                              : "no release of the parameter ran before the end of the step";
    finding.fix = key.counted
                      ? "declare as many uses as there are releases"
                      : "release the parameter after its last use, or sweep what is left before the next forward";
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace dcmt::analyzer::rules

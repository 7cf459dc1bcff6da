#include "analyzer/replay/replay_facts.h"

#include <algorithm>
#include <set>

#include "analyzer/releases/what_if.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {
namespace {

std::vector<std::string> kinds_of(const Holders& holders) {
  std::set<std::string> kinds;
  for (const HolderPath& path : holders.paths) {
    for (const HolderName& name : path.names) {
      const bool shared = name.kind == HolderKind::kCell || name.kind == HolderKind::kFree;
      kinds.insert(shared ? "cell" : "local");
    }
  }
  if (kinds.empty() || holders.unexplained() > 0) kinds.insert("unnamed");
  return {kinds.begin(), kinds.end()};
}

Bytes height_at(const Curve& curve, Sequence at) {
  const auto next = std::upper_bound(curve.begin(), curve.end(), at,
                                     [](Sequence s, const CurvePoint& point) { return s < point.seq; });
  return next == curve.begin() ? Bytes() : std::prev(next)->bytes;
}

Bytes highest_in(const Curve& curve, Sequence from, Sequence to) {
  Bytes highest = height_at(curve, from);
  for (const CurvePoint& point : curve) {
    if (point.seq >= from && point.seq < to) highest = std::max(highest, point.bytes);
  }
  return highest;
}

}  // namespace

bool replayable(const ReleaseRow& row) {
  const Mark& mark = *row.mark;
  const bool counts = mark.remaining || mark.flags.final || mark.flags.persistent;
  return counts && !mark.flags.unwound && !mark.flags.no_gather;
}

ReplayFacts facts_in(const Analysis& analysis, StringId device, Sequence from, Sequence to, Bytes overhead) {
  const auto in = [&](Sequence at) { return at >= from && at < to; };
  const auto less = [&](Bytes bytes) { return Bytes(bytes.value - overhead.value); };
  const Curve curve = allocated_curve(*analysis.data, device);
  ReplayFacts facts;
  for (const ReleaseRow& row : analysis.releases.rows) {
    if (!in(row.mark->span.from_seq) || !replayable(row)) continue;
    ReleaseFacts release;
    release.key = row.key();
    release.storage = row.mark->storage;
    release.verdict = row.verdict;
    release.residual = row.residual;
    release.bytes_before = row.mark->bytes;
    release.bytes_after = row.mark->bytes_after;
    release.bytes_settled = row.mark->bytes_settled;
    release.allocated = less(height_at(curve, row.at()));
    release.reads = static_cast<std::int64_t>(row.reads().size());
    if (const Holders* holders = row.holders()) release.holder_kinds = kinds_of(*holders);
    facts.releases.push_back(std::move(release));
  }
  for (const Finding& finding : analysis.findings) {
    const std::vector<OomVerdict>& errors = finding.out_of_memory;
    const bool elsewhere =
        std::none_of(errors.begin(), errors.end(), [&](const auto& one) { return in(one.oom->seq); });
    if (!errors.empty() && elsewhere) continue;
    FindingFacts found{finding.number, finding.rule, {}};
    for (const FindingItem& item : finding.items) {
      if (in(item.since)) found.items.emplace_back(item.key, item.bytes);
    }
    std::sort(found.items.begin(), found.items.end());
    for (const OomVerdict& error : errors) {
      if (in(error.oom->seq)) found.items.emplace_back(Key{}, error.dead);
    }
    if (!found.items.empty()) facts.findings.push_back(std::move(found));
  }
  facts.peak = less(highest_in(curve, from, to));
  const std::vector<Gap> gaps = gaps_at_release(*analysis.data, analysis.releases.residual());
  facts.predicted_peak = less(highest_in(allocated_curve(*analysis.data, device, gaps), from, to));
  return facts;
}

}  // namespace dcmt::analyzer

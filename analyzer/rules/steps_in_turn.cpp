#include "analyzer/rules/steps_in_turn.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "analyzer/storages/stacks.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {
namespace {

/// Fewer steps show no order.
constexpr std::size_t kFewest = 6;
/// More lines are no optimizers in turn.
constexpr std::size_t kMostLines = 4;
/// In turn: of two steps in a row, so many are of different lines. A warm-up, or one phase after another, has few.
constexpr double kChanges = 0.2;
constexpr std::string_view kOptimizer = "optimizer";

/// The line that called each optimizer's step, where the step has allocated something.
std::vector<FrameId> lines_of_steps(const TraceData& data) {
  std::vector<FrameId> lines;
  for (const Mark& mark : data.marks) {
    if (!is_phase(data, &mark, kOptimizer) || !mark.span.ended()) continue;
    auto at = std::ranges::lower_bound(data.blocks_by_begin, mark.span.from_seq, {},
                                       [](const auto& each) { return each.first; });
    for (; at != data.blocks_by_begin.end() && at->first < mark.span.to_seq; ++at) {
      const FrameId line = site_of(data, at->second->birth.stack);
      if (!line.valid()) continue;
      lines.push_back(line);
      break;
    }
  }
  return lines;
}

}  // namespace

std::optional<Remark> steps_in_turn(const TraceData& data) {
  const std::vector<FrameId> lines = lines_of_steps(data);
  if (lines.size() < kFewest) return std::nullopt;
  std::vector<FrameId> different;
  std::size_t changes = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (std::ranges::find(different, lines[i]) == different.end()) different.push_back(lines[i]);
    if (i > 0 && lines[i] != lines[i - 1]) ++changes;
  }
  const bool in_turn = static_cast<double>(changes) >= kChanges * static_cast<double>(lines.size());
  if (different.size() < 2 || different.size() > kMostLines || !in_turn) return std::nullopt;
  Remark remark;
  remark.kind = RemarkKind::kStepsInTurn;
  for (const FrameId line : different) {
    remark.place += (remark.place.empty() ? "" : ", ") + describe_frame(data, line);
  }
  return remark;
}

}  // namespace dcmt::analyzer

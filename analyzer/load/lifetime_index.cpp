#include "analyzer/load/lifetime_index.h"

#include <algorithm>

#include "analyzer/load/trace_rows.h"

namespace dcmt::analyzer {
namespace {

constexpr std::size_t kFan = 64;

std::size_t nodes_of(std::size_t children) { return (children + kFan - 1) / kFan; }

}  // namespace

LifetimeIndex::LifetimeIndex(std::span<const Entry> by_begin) : by_begin_(by_begin) {
  std::vector<Sequence> finest(nodes_of(by_begin.size()));
  for (std::size_t i = 0; i < by_begin.size(); ++i) {
    const Span& span = by_begin[i].second->span;
    Sequence& latest = finest[i / kFan];
    latest = std::max(latest, span.end());
  }
  latest_ends_.push_back(std::move(finest));
  while (latest_ends_.back().size() > kFan) {
    const std::vector<Sequence>& finer = latest_ends_.back();
    std::vector<Sequence> level(nodes_of(finer.size()));
    for (std::size_t i = 0; i < finer.size(); ++i) level[i / kFan] = std::max(level[i / kFan], finer[i]);
    latest_ends_.push_back(std::move(level));
  }
}

std::vector<const Block*> LifetimeIndex::at(Sequence at) const {
  std::vector<const Block*> found;
  if (latest_ends_.empty()) return found;
  for (std::size_t node = 0; node < latest_ends_.back().size(); ++node) {
    collect(latest_ends_.size() - 1, node, at, found);
  }
  std::ranges::sort(found, {}, &Block::id);
  return found;
}

void LifetimeIndex::collect(std::size_t level, std::size_t node, Sequence at, std::vector<const Block*>& found) const {
  if (latest_ends_[level][node] <= at) return;
  const std::size_t children = level == 0 ? by_begin_.size() : latest_ends_[level - 1].size();
  const std::size_t end = std::min(children, (node + 1) * kFan);
  for (std::size_t child = node * kFan; child < end; ++child) {
    if (level > 0) {
      collect(level - 1, child, at, found);
      continue;
    }
    const auto& [begin, block] = by_begin_[child];
    if (begin > at) return;
    if (block->span.covers(at)) found.push_back(block);
  }
}

}  // namespace dcmt::analyzer

#include "render/scene/curve.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace dcmt::scene {
namespace {

constexpr CurveColumn kNothing{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(), 0};

void add(CurveColumn& column, const CurveColumn& next) {
  column.lowest = std::min(column.lowest, next.lowest);
  const bool earlier = next.highest == column.highest && next.highest_at < column.highest_at;
  if (next.highest > column.highest || earlier) {
    column.highest = next.highest;
    column.highest_at = next.highest_at;
  }
}

}  // namespace

Curve::Curve(const Recording& recording) : Curve(recording, {}) { find_groups(); }

Curve::Curve(const Recording& recording, std::vector<LeftOut> left_out)
    : recording_(&recording), left_out_(std::move(left_out)) {
  std::int64_t sum = 0;
  left_out_sums_.reserve(left_out_.size());
  for (const LeftOut& each : left_out_) left_out_sums_.push_back(sum -= each.delta);

  const Unit units = recording.units();
  std::vector<CurveColumn>& leaves = nodes_.emplace_back();
  leaves.reserve(units / kLeaf + 1);
  std::int64_t bytes = 0;
  auto next = left_out_.begin();
  for (Unit unit = 0; unit < units; ++unit) {
    bytes += recording.delta(unit);
    for (; next != left_out_.end() && next->unit <= unit; ++next) bytes += next->delta;
    if (unit % kLeaf == 0) leaves.push_back(kNothing);
    add(leaves.back(), {bytes, bytes, unit});
  }
  while (nodes_.back().size() > 1) {
    const std::vector<CurveColumn>& finer = nodes_.back();
    std::vector<CurveColumn> level((finer.size() + kFan - 1) / kFan, kNothing);
    for (std::size_t i = 0; i < finer.size(); ++i) add(level[i / kFan], finer[i]);
    nodes_.push_back(std::move(level));
  }
  peak_ = nodes_.back().front();
}

void Curve::find_groups() {
  groups_.assign(nodes_.front().size(), {});
  GroupBytes now{};
  for (Unit unit = 0; unit < recording_->units(); ++unit) {
    const Recording::Change change = recording_->change(unit);
    now[change.group] += change.delta;
    const std::size_t leaf = unit / kLeaf;
    if (nodes_.front()[leaf].highest_at == unit) groups_[leaf] = now;
  }
}

void Curve::read(std::size_t index, Leaf& leaf) const {
  if (leaf.index == index) return;
  leaf.index = index;
  const Unit first = static_cast<Unit>(index) * kLeaf;
  const std::span<std::int64_t> bytes = std::span(leaf.bytes).first(std::min(kLeaf, recording_->units() - first));
  recording_->deltas(
      bytes.size(), [&](std::size_t i) { return first + static_cast<Unit>(i); }, bytes.data());
  auto next = std::lower_bound(left_out_.begin(), left_out_.end(), first,
                               [](const LeftOut& each, Unit unit) { return each.unit < unit; });
  for (; next != left_out_.end() && next->unit - first < bytes.size(); ++next) bytes[next->unit - first] += next->delta;
  std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
  const CurveColumn& node = nodes_.front()[index];
  const std::int64_t before = node.highest - bytes[node.highest_at - first];
  for (std::int64_t& each : bytes) each += before;
}

void Curve::visit(std::size_t level, std::size_t node, Unit from, Unit to, Leaf& leaf, CurveColumn& found) const {
  std::uint64_t width = kLeaf;
  for (std::size_t i = 0; i < level; ++i) width *= kFan;
  const std::uint64_t begin = node * width;
  const std::uint64_t end = std::min<std::uint64_t>(begin + width, recording_->units());
  if (from <= begin && end <= to) {
    add(found, nodes_[level][node]);
  } else if (level == 0) {
    read(node, leaf);
    const Unit last = std::min(to, static_cast<Unit>(end));
    for (Unit unit = std::max(from, static_cast<Unit>(begin)); unit < last; ++unit) {
      const std::int64_t bytes = leaf.bytes[unit - begin];
      add(found, {bytes, bytes, unit});
    }
  } else {
    const std::uint64_t finer = width / kFan;
    const std::size_t first = std::max<std::uint64_t>(from, begin) / finer;
    const std::size_t last = (std::min<std::uint64_t>(to, end) - 1) / finer;
    for (std::size_t child = first; child <= last; ++child) visit(level - 1, child, from, to, leaf, found);
  }
}

CurveColumn Curve::column(Unit from, Unit to, Leaf& leaf) const {
  CurveColumn found = kNothing;
  to = std::min(to, recording_->units());
  if (from >= to) return {};
  visit(nodes_.size() - 1, 0, from, to, leaf, found);
  return found;
}

CurveColumn Curve::column(Unit from, Unit to) const {
  Leaf leaf;
  return column(from, to, leaf);
}

void Curve::columns(std::span<const Column> columns, std::span<CurveColumn> found) const {
  Leaf leaf;
  for (std::size_t i = 0; i < columns.size(); ++i) found[i] = column(columns[i].from, columns[i].to, leaf);
}

GroupBytes Curve::groups_at(Unit unit) const {
  const std::size_t leaf = unit / kLeaf;
  GroupBytes now = groups_[leaf];
  const Unit known = nodes_.front()[leaf].highest_at;
  for (Unit at = known; at > unit; --at) {
    const Recording::Change change = recording_->change(at);
    now[change.group] -= change.delta;
  }
  for (Unit at = known + 1; at <= unit; ++at) {
    const Recording::Change change = recording_->change(at);
    now[change.group] += change.delta;
  }
  return now;
}

std::int64_t Curve::left_out_at(Unit unit) const {
  const auto after = std::upper_bound(left_out_.begin(), left_out_.end(), unit,
                                      [](Unit u, const LeftOut& each) { return u < each.unit; });
  return after == left_out_.begin() ? 0 : left_out_sums_[static_cast<std::size_t>(after - left_out_.begin() - 1)];
}

}  // namespace dcmt::scene

#include "render/scene/recording.h"

#include <algorithm>

namespace dcmt::scene {

void Recording::add(std::int64_t ns, Kind kind, std::size_t index) {
  times_.push_back(times_.empty() ? ns : std::max(ns, times_.back()));
  events_.push_back(static_cast<std::uint32_t>(index << 2U) | static_cast<std::uint32_t>(kind));
}

LifetimeId Recording::begin(std::int64_t ns, std::int64_t bytes, std::uint8_t group, std::uint16_t band, bool finding) {
  const std::size_t id = lifetimes_.size();
  lifetimes_.push_back({units(), 0, bytes, band, group, finding});
  add(ns, Kind::kBegin, id);
  return static_cast<LifetimeId>(id);
}

void Recording::end(std::int64_t ns, LifetimeId lifetime) {
  lifetimes_[lifetime].to = units();
  add(ns, Kind::kEnd, lifetime);
}

void Recording::level(std::int64_t ns, std::int64_t delta, std::uint8_t group) {
  add(ns, Kind::kLevel, levels_.size());
  levels_.push_back({delta, group});
}

Unit Recording::mark(std::int64_t ns) {
  add(ns, Kind::kMark, 0);
  return units() - 1;
}

void Recording::finish(std::int64_t end_ns) {
  if (events_.empty()) mark(end_ns);
  end_ns_ = std::max(end_ns, times_.back() + 1);
  for (std::size_t i = 0; i < times_.size(); i += kStride) few_times_.push_back(times_[i]);
  for (Lifetime& lifetime : lifetimes_) {
    if (lifetime.to == 0) lifetime.to = units();
  }
}

Recording::Change Recording::change(Unit unit) const {
  const Event of = event(unit);
  switch (of.kind) {
    case Kind::kBegin:
    case Kind::kEnd:
      return {delta(unit), lifetimes_[of.index].group};
    case Kind::kLevel:
      return {delta(unit), levels_[of.index].group};
    case Kind::kMark:
      break;
  }
  return {};
}

/// `first` returns the first wanted index of a sorted range.
template <class Search>
Unit Recording::search(const Search& first) const {
  const auto few = static_cast<std::size_t>(first(few_times_.begin(), few_times_.end()) - few_times_.begin());
  const std::size_t from = few == 0 ? 0 : (few - 1) * kStride;
  const std::size_t to = std::min(few * kStride + 1, times_.size());
  const auto begin = times_.begin() + static_cast<std::ptrdiff_t>(from);
  return static_cast<Unit>(first(begin, times_.begin() + static_cast<std::ptrdiff_t>(to)) - times_.begin());
}

Unit Recording::first_at(std::int64_t ns) const {
  return search([ns](auto from, auto to) { return std::lower_bound(from, to, ns); });
}

Unit Recording::at(std::int64_t ns) const {
  const Unit after = search([ns](auto from, auto to) { return std::upper_bound(from, to, ns); });
  return after == 0 ? 0 : after - 1;
}

void Recording::set_groups(const std::vector<std::uint8_t>& groups) {
  for (std::size_t i = 0; i < lifetimes_.size() && i < groups.size(); ++i) lifetimes_[i].group = groups[i];
}

}  // namespace dcmt::scene

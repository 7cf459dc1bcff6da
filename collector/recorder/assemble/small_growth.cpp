#include "collector/recorder/assemble/small_growth.h"

#include <algorithm>
#include <functional>

namespace dcmt::recorder {
namespace {

/// Before this round, a program makes what it keeps permanently. One without steps makes it one thing after the other,
/// so that hardly anything becomes more for so long a part of the run.
constexpr std::int64_t kFirstRound = 2;
constexpr double kBetweenWithoutSteps = 1.0 / 8;
/// Growth of small blocks between two readings, in bytes and as a part of their sum.
constexpr std::int64_t kMore = 64 * 1024, kMorePart = 16;
/// A growing size has more at this many readings in a row, by this part of kMore each time.
constexpr std::int64_t kRises = 4, kRisePart = 16;
/// Limit: each tracked size costs records.
constexpr std::size_t kMostFollowed = 8;
/// Numbers that torch wraps: they are most blocks of a program, but little memory.
constexpr std::size_t kNumbers = size_class_of(1);
/// Time between readings, in seconds and as a share of the run.
constexpr double kBetween = 0.02, kBetweenShare = 1.0 / 32;

}  // namespace

bool SmallGrowth::is_due(double now, const SmallBlocksThen& then) const {
  if (gave_up_ || followed_ == kMostFollowed || now < next_ || (then.rounds != 0 && then.rounds < kFirstRound)) {
    return false;
  }
  return !has_reading(then) || then.bytes >= last_bytes_ + std::max(kMore, last_bytes_ / kMorePart);
}

std::vector<std::size_t> SmallGrowth::add_reading(double now, const SmallBlocksThen& then, const BytesBySize& live) {
  std::vector<std::size_t> grown;
  const bool compares = has_reading(then);
  for (std::size_t i = 0; i < kSizeClasses; ++i) {
    Size& size = sizes_[i];
    size.rises = compares && live[i] >= size.last + kMore / kRisePart ? size.rises + 1 : 0;
    size.last = live[i];
    if (size.rises >= kRises && !size.followed && i != kNumbers) grown.push_back(i);
  }
  std::ranges::sort(grown, std::greater(), [&](std::size_t i) { return live[i]; });
  grown.resize(std::min(grown.size(), kMostFollowed - followed_));
  for (const std::size_t i : grown) sizes_[i].followed = true;
  followed_ += grown.size();
  has_reading_ = true;
  had_steps_ = then.rounds != 0;
  last_bytes_ = then.bytes;
  next_ = now + std::max(kBetween, (then.rounds == 0 ? kBetweenWithoutSteps : kBetweenShare) * now);
  return grown;
}

}  // namespace dcmt::recorder

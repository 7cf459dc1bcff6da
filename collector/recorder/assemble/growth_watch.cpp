#include "collector/recorder/assemble/growth_watch.h"

#include <algorithm>
#include <limits>

namespace dcmt::recorder {
namespace {

/// Fewer births are no sign of growth.
constexpr std::int64_t kFewestBirths = 4;

std::int64_t saturated_sum(std::int64_t a, std::int64_t b) {
  // Sizes come from the process and may have any value.
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

}  // namespace

void GrowthWatch::count(const Site& site, int sign) {
  if (site.stopped) return;
  if (site.doubled >= 1) growing_.signs = saturated_sum(growing_.signs, sign * site.bytes);
  if (site.doubled >= 2) growing_.goes_on = saturated_sum(growing_.goes_on, sign * site.bytes);
}

void GrowthWatch::change(Site& site, std::int64_t bytes) {
  count(site, -1);
  site.bytes = saturated_sum(site.bytes, bytes);
  if (site.births >= kFewestBirths && site.alive >= 2 * std::max<std::int64_t>(site.before, 2)) {
    site.before = site.alive;
    ++site.doubled;
  } else if (2 * site.alive < site.before) {
    site.before = site.alive;
    site.doubled = 0;
    site.births = 0;
  }
  if (site.alive > site.high) {
    site.high = site.alive;
    site.high_at = work_;
    site.stopped = false;
  }
  if (site.doubled > 0 && !site.stopped && !site.is_listed) {
    growing_sites_.push_back(&site);
    site.is_listed = true;
  }
  count(site, 1);
}

void GrowthWatch::begins(RowId stack, std::int64_t bytes) {
  Site& site = sites_[stack];
  ++site.alive;
  if (site.high == 0) site.from = work_;
  if (site.work < work_) {
    ++site.births;
    site.work = work_;
  }
  if (site.births <= 1) site.before = site.alive;
  change(site, bytes);
}

void GrowthWatch::ends(RowId stack, std::int64_t bytes) {
  ++work_;
  Site& site = sites_[stack];
  --site.alive;
  change(site, -bytes);
}

void GrowthWatch::step_ended() {
  ++work_;
  // Seldom enough that it costs less than the storages that have ended meanwhile.
  if (work_ < next_check_) return;
  std::erase_if(growing_sites_, [this](Site* site) {
    if (site->doubled > 0 && work_ - site->high_at > site->high_at - site->from) {
      count(*site, -1);
      site->stopped = true;
    }
    site->is_listed = site->doubled > 0 && !site->stopped;
    return !site->is_listed;
  });
  next_check_ = work_ + static_cast<std::int64_t>(growing_sites_.size());
}

}  // namespace dcmt::recorder

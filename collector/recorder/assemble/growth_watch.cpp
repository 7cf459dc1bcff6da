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
  count(site, 1);
}

void GrowthWatch::begins(RowId stack, std::int64_t bytes) {
  Site& site = sites_[stack];
  ++site.alive;
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

}  // namespace dcmt::recorder

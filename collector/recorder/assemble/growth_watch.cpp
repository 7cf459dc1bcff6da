#include "collector/recorder/assemble/growth_watch.h"

#include <limits>

namespace dcmt::recorder {
namespace {

/// Number of rounds with growth.
constexpr std::int64_t kSign = 2, kGoesOn = 4;

}  // namespace

void GrowthWatch::change(RowId stack, std::int64_t bytes) {
  Site& site = sites_[stack];
  // Sizes come from the process and may have any value.
  if (__builtin_add_overflow(site.bytes, bytes, &site.bytes)) site.bytes = std::numeric_limits<std::int64_t>::max();
  if (site.changed) return;
  site.changed = true;
  changed_.push_back(stack);
}

void GrowthWatch::count(const Site& site, std::int64_t times) {
  if (site.rises >= kSign) growing_.signs += times * site.last;
  if (site.rises >= kGoesOn) growing_.goes_on += times * site.last;
}

void GrowthWatch::round() {
  for (const RowId stack : changed_) {
    Site& site = sites_[stack];
    site.changed = false;
    count(site, -1);
    if (site.bytes != site.last) site.rises = site.bytes > site.last ? site.rises + 1 : 0;
    site.last = site.bytes;
    count(site, 1);
  }
  changed_.clear();
}

}  // namespace dcmt::recorder

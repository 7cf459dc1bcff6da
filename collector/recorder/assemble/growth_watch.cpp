#include "collector/recorder/assemble/growth_watch.h"

#include <limits>

namespace dcmt::recorder {
namespace {

/// The first rounds of a program make what it keeps.
constexpr std::int64_t kRises = 4;

}  // namespace

void GrowthWatch::change(RowId stack, std::int64_t bytes) {
  Site& site = sites_[stack];
  // Sizes come from the process, which may say anything.
  if (__builtin_add_overflow(site.bytes, bytes, &site.bytes)) site.bytes = std::numeric_limits<std::int64_t>::max();
  if (site.changed) return;
  site.changed = true;
  changed_.push_back(stack);
}

void GrowthWatch::round() {
  for (const RowId stack : changed_) {
    Site& site = sites_[stack];
    site.changed = false;
    if (site.rises >= kRises) growing_ -= site.last;
    if (site.bytes != site.last) site.rises = site.bytes > site.last ? site.rises + 1 : 0;
    site.last = site.bytes;
    if (site.rises >= kRises) growing_ += site.last;
  }
  changed_.clear();
}

}  // namespace dcmt::recorder

#include "collector/recorder/clock_fit.h"

namespace dcmt::recorder {
namespace {

// Two readings nearer than this say more about their own jitter than about the counter's rate.
constexpr std::uint64_t kMinimumSpanNs = 10'000'000;
constexpr long double kLargestNs = 4e18L;

}  // namespace

bool ClockFit::add(std::uint64_t tsc, std::uint64_t ns) {
  if (readings_ > 0 && (tsc <= latest_.tsc || ns < latest_.ns)) return false;
  latest_ = {tsc, ns};
  if (readings_++ == 0) first_ = latest_;
  return true;
}

std::int64_t ClockFit::ns(std::uint64_t tsc) const {
  long double ns_per_cycle = 1e9L / static_cast<long double>(hz_ != 0 ? hz_ : 1'000'000'000);
  const std::uint64_t span = latest_.ns - first_.ns;
  if (latest_.tsc > first_.tsc && span > 0 && (span >= kMinimumSpanNs || hz_ == 0)) {
    ns_per_cycle = static_cast<long double>(span) / static_cast<long double>(latest_.tsc - first_.tsc);
  }
  const long double cycles = static_cast<long double>(tsc) - static_cast<long double>(first_.tsc);
  const long double result = static_cast<long double>(first_.ns) + cycles * ns_per_cycle;
  if (!(result > 0)) return 0;
  return static_cast<std::int64_t>(result < kLargestNs ? result : kLargestNs);
}

}  // namespace dcmt::recorder

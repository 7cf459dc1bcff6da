#include "analyzer/model/native_view.h"

#include <algorithm>

#include "trace/sql/meta_keys.h"

namespace dcmt::model {
namespace {
Bytes whole(double bytes) { return Bytes(static_cast<std::int64_t>(std::max(0.0, bytes) + 0.5)); }
}  // namespace

NativeView native_view(const std::string& path, const analyzer::Analysis& analysis) {
  const TraceData& data = *analysis.data;
  NativeView view;
  view.path = path;
  view.rank = analysis.facts.rank;
  if (const auto interval = data.meta_integer(meta::kNativeInterval)) view.interval = Bytes(*interval);
  view.missed = data.meta_integer(meta::kNativeMissed).value_or(0);
  analyzer::NativePoint all;
  for (const analyzer::NativeSeries& series : analyzer::native_series(data)) {
    const analyzer::NativePoint& last = series.points.back();
    const auto highest = std::ranges::max_element(series.points, {}, &analyzer::NativePoint::bytes);
    view.places.push_back({series.place, analyzer::native_estimate(last.bytes, last.variance, last.samples),
                           whole(highest->bytes), whole(last.made)});
    all.bytes += last.bytes;
    all.variance += last.variance;
    all.samples += last.samples;
  }
  view.live = analyzer::native_estimate(all.bytes, all.variance, all.samples);
  return view;
}

}  // namespace dcmt::model

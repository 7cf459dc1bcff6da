#include "analyzer/growth/native_places.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyzer/storages/stacks.h"
#include "trace/base/code_path.h"
#include "trace/base/demangled.h"

namespace dcmt::analyzer {
namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_one_of(std::string_view object, std::initializer_list<std::string_view> begins) {
  return std::ranges::any_of(begins, [&](std::string_view begin) { return file_name(object).starts_with(begin); });
}

/// The libraries that belong to C and C++ themselves.
bool is_runtime(std::string_view object) {
  return is_one_of(object, {"libc.so", "libstdc++.so", "libc++.so", "libgcc_s.so", "ld-linux"});
}

/// Containers of the standard library are compiled into the object that uses them.
bool is_standard(std::string_view function) {
  const std::size_t name = function.find("std::");
  return function.starts_with("__gnu_cxx::") || name == 0 ||
         (name != std::string_view::npos && name > 0 && function[name - 1] == ' ' &&
          function.substr(0, name).find('(') == std::string_view::npos);
}

bool is_of_objects(std::string_view object) {
  return is_one_of(object, {"python", "libpython", "libtorch", "libc10"}) ||
         object.find("/numpy/") != std::string_view::npos;
}

const NativeFrame* frame_of(const TraceData& data, const NativeSite& site) {
  const NativeFrame* outside = nullptr;
  for (const NativeFrame& frame : site.frames) {
    if (is_runtime(data.text(frame.object))) continue;
    if (outside == nullptr) outside = &frame;
    if (frame.object != outside->object) break;
    if (!is_standard(data.text(frame.function))) return &frame;
  }
  return outside != nullptr ? outside : site.frames.empty() ? nullptr : &site.frames.front();
}

}  // namespace

NativeEstimate native_estimate(double bytes, double variance, std::int64_t samples) {
  NativeEstimate estimate;
  const auto whole = [](double value) { return Bytes(static_cast<std::int64_t>(std::max(0.0, value) + 0.5)); };
  estimate.bytes = estimate.low = estimate.high = whole(bytes);
  estimate.samples = samples;
  if (bytes <= 0 || variance <= 0) return estimate;
  // As if the sum were a number of equal weights: the limits of a Poisson number, as Wilson and Hilferty approximate
  // them.
  constexpr double kNormal = 1.96;
  const double weight = variance / bytes, number = bytes / weight;
  const auto limit = [&](double of, double normal) {
    return weight * of * std::pow(1 - 1 / (9 * of) + normal / (3 * std::sqrt(of)), 3);
  };
  estimate.low = whole(limit(number, -kNormal));
  estimate.high = whole(limit(number + 1, kNormal));
  return estimate;
}

std::vector<NativeSeries> native_series(const TraceData& data) {
  using PlaceKey = std::tuple<StringId, StringId, std::int64_t, std::string>;
  std::vector<NativeSeries> all;
  std::map<PlaceKey, std::size_t> numbers;
  std::map<std::int64_t, std::size_t> series_of;  // by site
  for (const NativeSite& site : data.native.sites) {
    const NativeFrame* frame = frame_of(data, site);
    const std::string python = site.stack.valid() ? describe_site(data, site.stack) : std::string();
    const bool of_objects = frame != nullptr && is_of_objects(data.text(frame->object));
    // What a runtime of objects allocates differs by the line of Python alone.
    const PlaceKey key =
        frame == nullptr ? PlaceKey{{}, {}, 0, python}
        : of_objects     ? PlaceKey{frame->object, {}, 0, python}
                     : PlaceKey{frame->object, frame->function, frame->line != 0 ? frame->line : frame->offset, python};
    const auto [entry, is_new] = numbers.try_emplace(key, all.size());
    series_of[site.id] = entry->second;
    if (!is_new) continue;
    NativeSeries series;
    series.of_objects = of_objects;
    series.stack = site.stack;
    if (frame != nullptr) {
      series.place.function = without_brackets(data.text(frame->function));
      series.place.object = data.text(frame->object);
      series.place.offset = frame->offset;
      if (frame->file.valid()) {
        series.place.source = std::string(short_path(data.text(frame->file))) + ":" + std::to_string(frame->line);
      }
    }
    if (!python.empty()) series.place.python = python;
    all.push_back(std::move(series));
  }
  std::map<std::int64_t, NativePoint> latest;  // by site
  std::vector<NativePoint> sums(all.size());
  for (const NativeLive& live : data.native.live) {
    const auto found = series_of.find(live.site);
    if (found == series_of.end()) continue;
    const double deviation = static_cast<double>(live.deviation.value);
    const NativePoint now{live.ns,
                          static_cast<double>(live.bytes.value),
                          deviation * deviation,
                          static_cast<double>(live.made.value),
                          static_cast<double>(live.least.value_or(live.bytes).value),
                          live.samples};
    const NativePoint before = std::exchange(latest[live.site], now);
    NativePoint& sum = sums[found->second];
    sum.bytes += now.bytes - before.bytes;
    sum.variance += now.variance - before.variance;
    sum.made += now.made - before.made;
    sum.samples += now.samples - before.samples;
    std::vector<NativePoint>& points = all[found->second].points;
    const bool is_same_reading = !points.empty() && points.back().ns == live.ns;
    // Sites had their least at different times, so that all together had at least the sum.
    const double freed_until = is_same_reading ? points.back().bytes - points.back().least : 0;
    if (is_same_reading) points.pop_back();
    sum.ns = live.ns;
    sum.least = sum.bytes - freed_until - (now.bytes - now.least);
    points.push_back(sum);
  }
  std::erase_if(all, [](const NativeSeries& each) { return each.points.empty(); });
  std::ranges::stable_sort(all,
                           [](const auto& a, const auto& b) { return a.points.back().bytes > b.points.back().bytes; });
  return all;
}

}  // namespace dcmt::analyzer

#include "cli/streams_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace dcmt::cli {
namespace {

using analyzer::PoolSite;
using analyzer::StreamPools;
using analyzer::WaitingSite;
using analyzer::WaitsAtPeak;
using model::Finding;

constexpr std::size_t kMostSites = 3;
constexpr std::size_t kMostStreams = 8;

std::string stream_name(std::optional<std::int32_t> stream) {
  if (stream == 0) return "the default stream";
  return stream.value_or(-1) > 0 ? fmt::format("stream {}", *stream) : "a stream that is not known";
}

std::string times(std::int64_t blocks, TimeNs median, TimeNs longest) {
  if (blocks == 1) return duration(longest.value);
  return fmt::format("{} (median) to {}", duration(median.value), duration(longest.value));
}

/// Lines for the first of `sites`, and the number of the others.
template <class Site, class Describe>
std::string site_lines(std::string_view label, const std::vector<Site>& sites, const Style& style,
                       const Describe& describe) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostSites, sites.size()); ++i) {
    text += labelled(i == 0 ? label : "", describe(sites[i]), style);
  }
  if (sites.size() > kMostSites) {
    text += labelled("", counted(static_cast<std::int64_t>(sites.size() - kMostSites), "more place"), style);
  }
  return text;
}

std::string head(const Finding& finding, const std::string& where, std::string_view title, const Style& style) {
  return fmt::format("{}  {}  ({})   {}   {}\n", finding.number, style.bad(title), fmt::join(finding.classes, ", "),
                     where, style.bytes(finding.bytes));
}

std::string streams_text(const StreamPools& pools, const Style& style) {
  std::vector<std::string> parts;
  for (const analyzer::StreamPool& pool : pools.streams) {
    if (parts.size() == kMostStreams) break;
    const std::int32_t stream = pool.stream.value_or(-1);
    parts.push_back(fmt::format("{} {}", stream == 0 ? "default" : std::to_string(stream), style.bytes(pool.peak)));
  }
  if (pools.streams.size() > kMostStreams) parts.push_back(fmt::format("{} more", pools.streams.size() - kMostStreams));
  return joined(parts, ", ");
}

}  // namespace

std::string waits_text(const Finding& finding, const Style& style) {
  const WaitsAtPeak& waits = *finding.waits;
  std::string where(waits.device);
  if (waits.step) where += fmt::format(" · step {}", *waits.step);
  if (waits.phase) where += fmt::format(" · {}", *waits.phase);
  std::string text = head(finding, where, "FREED, WAITS FOR A STREAM", style);
  text += labelled("waited",
                   fmt::format("{}, {} of the {} active at their peak, for {}", counted(waits.blocks, "block"),
                               percent(waits.waiting_share(), 1), style.bytes(waits.active),
                               times(waits.blocks, waits.median, waits.longest)),
                   style);
  text += labelled("without it",
                   fmt::format("at most {} active; waiting at once were {} at most", style.bytes(waits.without_waits),
                               style.bytes(waits.most_waiting)),
                   style);
  text += site_lines("allocated", waits.sites, style, [&style](const WaitingSite& site) {
    return fmt::format("{} in {} on {} from {}: {}", style.bytes(site.bytes), counted(site.blocks, "block"),
                       stream_name(site.stream), site.site, times(site.blocks, site.median, site.longest));
  });
  text += labelled("because", finding.why, style);
  text += labelled(
      "seen",
      fmt::format("{} of {} had to wait", grouped(waits.frees_that_waited), counted(waits.frees, "freed block")) +
          (waits.run_active > waits.active
               ? fmt::format("; at most active were {}, where no rows were kept", style.bytes(waits.run_active))
               : ""),
      style);
  return text + labelled("fix", finding.fix, style);
}

std::string pools_text(const Finding& finding, const Style& style) {
  const StreamPools& pools = *finding.pools;
  std::string text = head(finding, std::string(pools.device), "RESERVED FAR BEYOND WHAT IS ACTIVE", style);
  text += labelled("reserved",
                   fmt::format("{} at most, and {} active at most: {} of it never in use at once",
                               style.bytes(pools.reserved), style.bytes(pools.active), percent(pools.idle_share(), 1)),
                   style);
  if (pools.streams.size() > 1) {
    text += labelled(
        "by streams",
        fmt::format("{}: {}, each with its own peak: {}", style.bytes(pools.by_streams),
                    counted(static_cast<std::int64_t>(pools.streams.size()), "stream"), streams_text(pools, style)),
        style);
  }
  text += labelled("the rest", fmt::format("{}: rounding and fragmentation", style.bytes(pools.rest())), style);
  text += site_lines("alternates", pools.sites, style, [&style](const PoolSite& site) {
    return fmt::format("{} on {} from {}", style.bytes(site.bytes), counted(site.streams, "stream"), site.site);
  });
  text += labelled("because", finding.why, style);
  text += labelled("seen",
                   fmt::format("the stream of {} of {}{}", grouped(pools.known()), counted(pools.blocks, "block"),
                               pools.only_steps_kept ? ", of the steps kept: by streams it may be more" : ""),
                   style);
  return text + labelled("fix", finding.fix, style);
}

}  // namespace dcmt::cli

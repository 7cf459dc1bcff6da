#include "cli/streams_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analyzer/storages/stacks.h"
#include "cli/report_text.h"

namespace dcmt::cli {
namespace {

using analyzer::describe_frame;
using analyzer::Finding;
using analyzer::PoolSite;
using analyzer::StreamPool;
using analyzer::StreamPools;
using analyzer::TraceData;
using analyzer::WaitingSite;
using analyzer::WaitsAtPeak;

constexpr std::size_t kMostSites = 3;
constexpr std::size_t kMostStreams = 8;

std::string stream_name(std::int32_t stream) {
  if (stream == 0) return "the default stream";
  return stream > 0 ? fmt::format("stream {}", stream) : "a stream that is not known";
}

std::string share_of(Bytes part, Bytes whole) {
  return percent(static_cast<double>(part.value) / static_cast<double>(whole.value), 1);
}

std::string times(const WaitingSite& waits) {
  if (waits.blocks == 1) return duration(waits.longest.value);
  return fmt::format("{} (median) to {}", duration(waits.median.value), duration(waits.longest.value));
}

/// Lines for the first of `sites`, and how many more there are.
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

std::string head(const TraceData& data, const Finding& finding, StringId device, const std::string& where,
                 std::string_view title, const Style& style) {
  return fmt::format("{}  {}  ({})   {}{}   {}\n", finding.number, style.bad(title), fmt::join(finding.classes, ", "),
                     data.text(device), where, exact_bytes(finding.bytes.value));
}

std::string pool_text(const StreamPools& pools) {
  std::vector<std::string> parts;
  for (const StreamPool& pool : pools.streams) {
    if (parts.size() == kMostStreams) break;
    parts.push_back(fmt::format("{} {}", pool.stream == 0 ? "default" : std::to_string(pool.stream),
                                rounded_bytes(pool.peak.value)));
  }
  if (pools.streams.size() > kMostStreams) parts.push_back(fmt::format("{} more", pools.streams.size() - kMostStreams));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string waits_text(const LoadedTrace& trace, const Finding& finding, const Style& style) {
  const TraceData& data = *trace.data;
  const WaitsAtPeak& waits = *finding.waits;
  std::string where = waits.step != nullptr ? fmt::format(" · step {}", waits.step->number) : "";
  if (const auto* phase = trace.analysis.phases.at(waits.seq)) where += fmt::format(" · {}", data.text(phase->name));
  std::string text = head(data, finding, waits.device, where, "FREED, WAITS FOR A STREAM", style);
  text +=
      labelled("waited",
               fmt::format("{}, {} of the {} active at their peak, for {}", counted(waits.all.blocks, "block"),
                           share_of(waits.all.bytes, waits.active), exact_bytes(waits.active.value), times(waits.all)),
               style);
  text += labelled("without it",
                   fmt::format("at most {} active; waiting at once were {} at most",
                               exact_bytes(waits.without_waits.value), exact_bytes(waits.most.value)),
                   style);
  text += site_lines("allocated", waits.sites, style, [&](const WaitingSite& site) {
    return fmt::format("{} in {} on {} from {}: {}", exact_bytes(site.bytes.value), counted(site.blocks, "block"),
                       stream_name(site.stream), describe_frame(data, site.site), times(site));
  });
  text += labelled("because", finding.why, style);
  text += labelled(
      "seen",
      fmt::format("{} of {} had to wait", grouped(waits.waiting), counted(waits.frees, "freed block")) +
          (waits.run_active > waits.active
               ? fmt::format("; at most active were {}, where no rows were kept", exact_bytes(waits.run_active.value))
               : ""),
      style);
  text += labelled("fix", finding.fix, style);
  return text + labelled("next", fmt::format("dc-memtrace show live {} --at {}", trace.path, waits.seq.value), style);
}

std::string pools_text(const LoadedTrace& trace, const Finding& finding, const Style& style) {
  const TraceData& data = *trace.data;
  const StreamPools& pools = *finding.pools;
  std::string text = head(data, finding, pools.device, "", "RESERVED FAR BEYOND WHAT IS ACTIVE", style);
  text += labelled(
      "reserved",
      fmt::format("{} at most, and {} active at most: {} of it never in use at once", exact_bytes(pools.reserved.value),
                  exact_bytes(pools.active.value), share_of(pools.idle(), pools.reserved)),
      style);
  if (pools.streams.size() > 1) {
    text += labelled("by streams",
                     fmt::format("{}: {}, each with its own peak: {}", exact_bytes(pools.by_streams.value),
                                 counted(static_cast<std::int64_t>(pools.streams.size()), "stream"), pool_text(pools)),
                     style);
  }
  text += labelled("the rest", fmt::format("{}: rounding and fragmentation", exact_bytes(pools.rest().value)), style);
  text += site_lines("alternates", pools.sites, style, [&](const PoolSite& site) {
    return fmt::format("{} on {} from {}", exact_bytes(site.bytes.value), counted(site.streams, "stream"),
                       describe_frame(data, site.site));
  });
  text += labelled("because", finding.why, style);
  const std::int64_t known = pools.blocks - pools.without_stream;
  text += labelled("seen",
                   fmt::format("the stream of {} of {}{}", grouped(known), counted(pools.blocks, "block"),
                               data.has_sums_only() ? ", of the steps kept: by streams it may be more" : ""),
                   style);
  text += labelled("fix", finding.fix, style);
  return text + labelled("next", fmt::format("dc-memtrace show peak {}", trace.path), style);
}

}  // namespace dcmt::cli

#include "collector/recorder/assemble/native_book.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "trace/sql/meta_keys.h"

namespace dcmt::recorder {
namespace {

/// Between two readings: nanoseconds, and a share of the time so far. A long run has some thousand.
constexpr std::int64_t kBetweenReadings = 50'000'000;
constexpr double kBetweenReadingsShare = 1.0 / 300;
/// A site gets rows once it has this many bytes.
constexpr double kLeastOfSite = 64 * 1024;
/// Limits for a program whose stacks differ without end. What is beyond them counts for one site without a stack.
constexpr std::size_t kMostSites = 1 << 16;
constexpr RowId kMostWritten = 4096;

std::string_view name_of(wire::NativeCall call) {
  switch (call) {
    case wire::NativeCall::kMalloc:
      return "malloc";
    case wire::NativeCall::kRealloc:
      return "realloc";
    case wire::NativeCall::kNew:
      return "new";
    case wire::NativeCall::kMmap:
      return "mmap";
  }
  return "malloc";
}

std::int64_t whole(double value) { return static_cast<std::int64_t>(std::max(0.0, value) + 0.5); }

}  // namespace

std::size_t NativeBook::site_of(SiteKey key) {
  if (sites_.size() >= kMostSites && !numbers_.contains(key)) key = {};
  const auto [entry, is_new] = numbers_.try_emplace(std::move(key), sites_.size());
  if (is_new) sites_.push_back({.key = &entry->first});
  return entry->second;
}

void NativeBook::add(const Sampled& sampled, int sign) {
  Site& site = sites_[sampled.site];
  site.live += sign * sampled.weight;
  site.variance += sign * sampled.variance;
  site.samples += sign;
  if (site.samples == 0) site.live = site.variance = 0;
  site.least = std::min(site.least, site.live);
  if (!std::exchange(site.has_changed, true)) changed_.push_back(sampled.site);
}

Status NativeBook::sample(const wire::NativeSampleRecord& record) {
  if (is_interrupted_) return {};
  if (record.interval == 0 || record.header.aux > static_cast<std::uint32_t>(wire::NativeCall::kMmap)) {
    return journal_.bad_record("a sampled allocation");
  }
  if (began_ns_ == 0) began_ns_ = journal_.now.ns;
  missed_ = std::max(missed_, record.missed);
  interval_ = record.interval;
  const auto bytes = static_cast<double>(std::max<std::uint64_t>(record.bytes, 1));
  const double likely = -std::expm1(-bytes / static_cast<double>(record.interval));
  Sampled sampled;
  sampled.site = site_of({static_cast<wire::NativeCall>(record.header.aux), record.stack, record.native});
  sampled.weight = bytes / likely;
  sampled.variance = (1 - likely) * sampled.weight * sampled.weight;
  const auto [entry, is_new] = live_.try_emplace(record.address, sampled);
  if (!is_new) add(std::exchange(entry->second, sampled), -1);  // its end was lost
  sites_[sampled.site].made += sampled.weight;
  add(sampled, 1);
  return poll();
}

Status NativeBook::end(const wire::NativeEndRecord& record) {
  if ((record.header.aux & wire::kNativeGoesOn) != 0) {
    const auto ended = ended_.find(record.address);
    if (ended == ended_.end()) return {};
    if (live_.insert(*ended).second) add(ended->second, 1);
    ended_.erase(ended);
    return {};
  }
  const auto found = live_.find(record.address);
  if (found == live_.end()) return {};
  add(found->second, -1);
  // The realloc that ended it fails within a call: only the latest ends matter.
  constexpr std::size_t kMostEnded = 64;
  if (ended_.size() >= kMostEnded) ended_.clear();
  ended_.insert_or_assign(found->first, found->second);
  live_.erase(found);
  return poll();
}

Status NativeBook::poll() { return began_ns_ != 0 && journal_.now.ns >= next_ns_ ? write_live() : Status{}; }

Status NativeBook::write_site(Site& site) {
  site.id = next_site_++;
  DCMT_ASSIGN_OR_RETURN(const RowId stack, dictionary_.stack(site.key->stack));
  DCMT_RETURN_IF_ERROR(journal_.writer.write(NativeSiteRow{site.id, name_of(site.key->call), stack}));
  std::int64_t depth = 0;
  for (const CodePlace& frame : stacks_.frames(site.key->native)) {
    NativeFrameRow row{site.id, depth++};
    DCMT_ASSIGN_OR_RETURN(row.object, journal_.writer.intern_or_null(frame.object));
    DCMT_ASSIGN_OR_RETURN(row.function, journal_.writer.intern_or_null(frame.function));
    row.offset = static_cast<std::int64_t>(frame.offset);
    DCMT_ASSIGN_OR_RETURN(row.file, journal_.writer.intern_or_null(frame.file));
    row.line = frame.line;
    DCMT_RETURN_IF_ERROR(journal_.writer.write(row));
  }
  return {};
}

Status NativeBook::write_live() {
  const std::int64_t now = journal_.now.ns;
  next_ns_ = now + std::max(kBetweenReadings,
                            static_cast<std::int64_t>(kBetweenReadingsShare * static_cast<double>(now - began_ns_)));
  ++reading_;
  for (const std::size_t number : std::exchange(changed_, {})) {
    Site& site = sites_[number];
    site.has_changed = false;
    const bool begins = site.id == 0 && site.live >= kLeastOfSite && next_site_ <= kMostWritten;
    if (begins) DCMT_RETURN_IF_ERROR(write_site(site));
    const double least = std::exchange(site.least, site.live);
    if (site.id == 0) continue;
    DCMT_RETURN_IF_ERROR(journal_.writer.write(NativeLiveRow{reading_, site.id, journal_.now, whole(site.live),
                                                             whole(std::sqrt(std::max(0.0, site.variance))),
                                                             site.samples, whole(site.made), whole(least)}));
  }
  return {};
}

Status NativeBook::finish() {
  if (is_interrupted_ || began_ns_ == 0) return {};
  DCMT_RETURN_IF_ERROR(write_live());
  DCMT_RETURN_IF_ERROR(journal_.writer.set_meta(meta::kNativeInterval, static_cast<std::int64_t>(interval_)));
  return journal_.writer.set_meta(meta::kNativeMissed, static_cast<std::int64_t>(missed_));
}

}  // namespace dcmt::recorder

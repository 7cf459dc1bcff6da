#include "analyzer/allocator/remedies.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

namespace dcmt::analyzer {
namespace {

using Kind = AllocatorEvent::Kind;

constexpr std::int64_t kLeast = std::int64_t{64} << 20;
constexpr std::int64_t kLeastPart = 5;

/// What is tried. A collection needs a limit of the process.
constexpr std::string_view kSettings[] = {
    "expandable_segments:True",
    "max_split_size_mb:64",
    "max_split_size_mb:128",
    "max_split_size_mb:256",
    "max_split_size_mb:512",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:8",
    "large_segment_size_mb:64",
    "garbage_collection_threshold:0.6",
    "expandable_segments:True,roundup_power2_divisions:8",
};
constexpr std::string_view kNeedsLimit = "garbage_collection_threshold";

std::string key_of(std::string_view setting) { return std::string(setting.substr(0, setting.find(':'))); }

/// Predicts the effect of changes of one run.
class Trial {
 public:
  Trial(const AllocatorRequests& requests, std::optional<Sequence> error)
      : requests_(requests), error_(error), peak_(recorded_peak(requests)) {}

  void setting(std::string_view change) {
    const std::string text = joined_settings(requests_.settings_text, change);
    add({RemedyKind::kSetting, std::string(change), text, {}, {}, {}}, requests_, text);
  }

  void without(const std::string& change) {
    std::string text;
    for (const std::string& other : single_settings(requests_.settings_text)) {
      if (other != change) text = joined_settings(text, other);
    }
    add({RemedyKind::kWithoutSetting, change, text, {}, {}, {}}, requests_, text);
  }

  /// @param alter  changes a request
  void program(RemedyKind kind, const std::string& place, const std::function<void(AllocatorEvent&)>& alter) {
    AllocatorRequests changed = requests_;
    for (AllocatorEvent& event : changed.events) {
      if (event.kind == Kind::kRequest || event.kind == Kind::kRefused) alter(event);
    }
    add({kind, place, requests_.settings_text, {}, {}, {}}, changed, requests_.settings_text);
  }

  [[nodiscard]] std::vector<Remedy> take() && {
    const auto is_setting = [](const Remedy& each) {
      return each.kind == RemedyKind::kSetting || each.kind == RemedyKind::kWithoutSetting;
    };
    // One setting that gives nearly as much as two, or as a change of the program, comes before these; and any setting
    // that lets the request fit before a change of the program.
    const auto weight = [&](const Remedy& each) {
      const bool is_simple = is_setting(each) && each.change.find(',') == std::string::npos;
      return static_cast<double>(each.gives_back.value) * (is_simple ? 1 : 0.9);
    };
    const auto rank = [&](const Remedy& each) {
      return std::tuple(each.helps, each.fits.has_value() && is_setting(each), weight(each));
    };
    std::ranges::stable_sort(all_, [&](const Remedy& a, const Remedy& b) { return rank(a) > rank(b); });
    return std::move(all_);
  }

 private:
  void add(Remedy remedy, const AllocatorRequests& requests, const std::string& text) {
    const Expected<AllocatorSettings> settings = settings_for(requests, text);
    if (!settings.ok()) return;
    const ModelPrediction predicted = predict_reserved(requests, *settings);
    remedy.reserved_peak = Bytes(predicted.reserved_peak);
    remedy.gives_back = Bytes(peak_ - predicted.reserved_peak);
    if (error_) remedy.fits = std::ranges::find(predicted.fits, *error_) != predicted.fits.end();
    remedy.helps = !predicted.runs_out && remedy.fits.value_or(matters(remedy.gives_back, Bytes(peak_)));
    all_.push_back(std::move(remedy));
  }

  const AllocatorRequests& requests_;
  std::optional<Sequence> error_;
  std::int64_t peak_;
  std::vector<Remedy> all_;
};

}  // namespace

std::string_view name_of(RemedyKind kind) {
  constexpr std::string_view kNames[] = {"setting", "without setting", "one stream", "one pool", "own pool"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool matters(Bytes bytes, Bytes reserved_peak) {
  return bytes.value >= kLeast && bytes.value >= reserved_peak.value / kLeastPart;
}

std::vector<Remedy> remedies_of(const AllocatorRequests& requests, std::optional<Sequence> error,
                                const std::vector<KeepingPlace>& keeping) {
  Trial trial(requests, error);
  const std::vector<std::string> recorded = single_settings(requests.settings_text);
  for (const std::string& setting : recorded) {
    if (decides_reserved(key_of(setting))) trial.without(setting);
  }
  for (const std::string_view setting : kSettings) {
    if (key_of(setting) == kNeedsLimit && !requests.settings.limit) continue;
    if (std::ranges::find(recorded, setting) == recorded.end()) trial.setting(setting);
  }
  std::set<std::int64_t> streams, pools;
  for (const AllocatorEvent& event : requests.events) {
    if (event.kind != Kind::kRequest) continue;
    streams.insert(event.request.stream);
    if (event.request.pool != 0) pools.insert(event.request.pool);
  }
  if (streams.size() > 1) {
    trial.program(RemedyKind::kOneStream, {}, [](AllocatorEvent& event) { event.request.stream = 0; });
  }
  if (pools.size() > 1) {
    trial.program(RemedyKind::kOnePool, {}, [&](AllocatorEvent& event) {
      if (event.request.pool != 0) event.request.pool = *pools.begin();
    });
  }
  const std::int64_t own = (pools.empty() ? 0 : std::max<std::int64_t>(*pools.rbegin(), 0)) + 1;
  for (const KeepingPlace& place : keeping) {
    trial.program(RemedyKind::kOwnPool, place.site, [&](AllocatorEvent& event) {
      if (place.blocks.contains(event.block)) event.request.pool = own;
    });
  }
  return std::move(trial).take();
}

}  // namespace dcmt::analyzer

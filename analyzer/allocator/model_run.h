// Runs the requests of a program through the model of torch's allocator: as they were recorded, to compare the model
// with the record, or under other settings, to predict what would be reserved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/allocator/requests.h"

namespace dcmt::analyzer {

/// A report tries no more than this with several settings. The model needs a second for a million.
inline constexpr std::size_t kMostEventsTried = 500'000;

/// The model beside the record.
struct ModelCheck {
  std::int64_t events = 0;  ///< requests and frees
  std::int64_t equal = 0;   ///< of them, those after which the model has reserved what the allocator had
  std::int64_t requests = 0;
  std::int64_t placed = 0;  ///< of them, those for which the model gives the recorded block
  std::optional<Sequence> first_difference;
  std::int64_t given_back = 0;
  std::int64_t model = 0, recorded = 0;  ///< reserved then

  [[nodiscard]] bool holds() const { return events > 0 && equal == events; }

  static constexpr std::string_view kShape = "model_check";
  static void describe(auto&& field) {
    field("events", &ModelCheck::events, "requests and frees");
    field("equal", &ModelCheck::equal, "of them, those after which the model reserves what the allocator did");
    field("requests", &ModelCheck::requests, "");
    field("placed", &ModelCheck::placed, "of them, those that get the recorded block from the model");
    field("first_difference", &ModelCheck::first_difference, "the event after which they differ; null: none");
    field("given_back", &ModelCheck::given_back,
          "how often the cache was given back just before a segment began, though the allocator had more at another "
          "time: by the program, or because its limit had changed, and then a predicted peak may be too high");
  }
};

[[nodiscard]] ModelCheck check_model(const AllocatorRequests& requests);

/// What the device's segments had at most.
[[nodiscard]] std::int64_t recorded_peak(const AllocatorRequests& requests);

/// What the allocator would have reserved.
struct ModelPrediction {
  std::int64_t reserved_peak = 0, allocated_peak = 0;
  Sequence reserved_peak_at;
  std::int64_t reserved_end = 0;
  bool runs_out = false;          ///< a request that was satisfied would not be
  std::int64_t refused = 0;       ///< recorded requests without success, and
  std::int64_t refused_fits = 0;  ///< of them, those that would have had success
  std::vector<Sequence> fits;     ///< these
  std::int64_t collections = 0, kept_whole = 0;
  std::uint64_t fingerprint = 0;  ///< of the reserved bytes after each event
};

/// @param settings  instead of the recorded ones
[[nodiscard]] ModelPrediction predict_reserved(const AllocatorRequests& requests, const AllocatorSettings& settings);

/// Whether a run can be predicted.
struct ModelledRun {
  std::optional<ModelCheck> check;  ///< nullopt: the record is not complete
  std::string why_not;              ///< empty: it can

  [[nodiscard]] bool can_predict() const { return why_not.empty(); }
};

[[nodiscard]] ModelledRun modelled(const AllocatorRequests& requests);

/// The settings of a text without which the same would be reserved all the time.
[[nodiscard]] std::vector<IdleSetting> idle_settings(const AllocatorRequests& requests, std::string_view text);

/// The settings of a text, with the limit of a run. kUsage if torch would refuse the text.
[[nodiscard]] Expected<AllocatorSettings> settings_for(const AllocatorRequests& requests, std::string_view text);

}  // namespace dcmt::analyzer

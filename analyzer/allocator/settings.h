// The settings of torch's CUDA allocator: the text of PYTORCH_ALLOC_CONF.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::analyzer {

/// What of the settings decides how much the allocator reserves. Sizes are bytes.
struct AllocatorSettings {
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
  static constexpr std::size_t kIntervals = 16;

  bool expandable = false;
  std::int64_t max_split = kUnlimited;
  std::int64_t max_non_split_rounding = std::int64_t{20} << 20;
  std::int64_t large_segment = std::int64_t{20} << 20;
  /// By the binary logarithm of a request's size in MiB; 0: sizes are not rounded to a division of a power of two.
  std::array<std::int64_t, kIntervals> divisions = {};
  double collect_above = 0;                ///< the part of the limit; 0: the cache is never collected
  std::optional<double> fraction = {};     ///< the process's part of the device's memory
  std::optional<std::int64_t> limit = {};  ///< the most that the allocator may reserve

  /// The size of the block that a request needs.
  [[nodiscard]] std::int64_t rounded(std::int64_t requested) const;
  /// The size of the segment that a block of this size needs.
  [[nodiscard]] std::int64_t segment_for(std::int64_t rounded) const;
};

/// A setting as text, and why it changes nothing.
struct IdleSetting {
  std::string setting, why;

  static constexpr std::string_view kShape = "idle_setting";
  static void describe(auto&& field) {
    field("setting", &IdleSetting::setting, "\"garbage_collection_threshold:0.6\"");
    field("why", &IdleSetting::why, "");
  }
};

/// Reads settings as torch does, on top of `base`. kUsage if torch would refuse the text.
[[nodiscard]] Expected<AllocatorSettings> read_settings(std::string_view text, const AllocatorSettings& base = {});

/// False for settings of pinned memory and of locks.
[[nodiscard]] bool decides_reserved(std::string_view key);

/// `base` with the settings of `text`; later ones count.
[[nodiscard]] std::string joined_settings(std::string_view base, std::string_view text);

/// The single settings of a text: "expandable_segments:True".
[[nodiscard]] std::vector<std::string> single_settings(std::string_view text);

}  // namespace dcmt::analyzer

#include "analyzer/allocator/settings.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>

namespace dcmt::analyzer {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kLeastBlock = 512;
constexpr std::int64_t kLargestSmall = kMiB;
constexpr std::int64_t kSmallSegment = 2 * kMiB;
constexpr std::int64_t kLeastOwnSegment = 10 * kMiB;
constexpr std::int64_t kSegmentRounding = 2 * kMiB;
constexpr std::int64_t kLeastMaxSplitMiB = 20;

std::int64_t rounded_up(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }

std::int64_t log2_of(std::int64_t number) {
  return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(number))) - 1;
}

Error refused(std::string_view setting, std::string_view why) {
  return Error{ErrorCode::kUsage, "'" + std::string(setting) + "': " + std::string(why)};
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<double> real(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<bool> flag(std::string_view text) {
  if (text == "True" || text == "true" || text == "1") return true;
  if (text == "False" || text == "false" || text == "0") return false;
  return std::nullopt;
}

std::optional<std::int64_t> mebibytes(std::string_view text) {
  const std::optional<std::int64_t> number = integer(text);
  if (!number || *number < 0) return std::nullopt;
  return std::min(*number, AllocatorSettings::kUnlimited / kMiB) * kMiB;
}

/// "4", or "[16:8,64:4,>:1]": sizes in MiB.
bool read_divisions(std::string_view text, AllocatorSettings& settings) {
  auto& divisions = settings.divisions;
  const auto is_power = [](std::optional<std::int64_t> number) {
    return number && *number > 0 && std::has_single_bit(static_cast<std::uint64_t>(*number));
  };
  if (!text.starts_with('[')) {
    const std::optional<std::int64_t> all = integer(text);
    if (!is_power(all)) return false;
    divisions.fill(*all);
    return true;
  }
  if (!text.ends_with(']')) return false;
  text = text.substr(1, text.size() - 2);
  bool is_first = true;
  std::size_t last = 0;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const std::size_t colon = pair.find(':');
    if (colon == std::string_view::npos) return false;
    const std::optional<std::int64_t> division = integer(pair.substr(colon + 1));
    if (division != 0 && !is_power(division)) return false;
    if (pair.substr(0, colon) == ">") {
      std::fill(divisions.begin() + static_cast<std::ptrdiff_t>(std::min(last + 1, divisions.size())), divisions.end(),
                *division);
      continue;
    }
    const std::optional<std::int64_t> size = integer(pair.substr(0, colon));
    if (!is_power(size)) return false;
    last = std::min(static_cast<std::size_t>(log2_of(*size)), divisions.size() - 1);
    if (is_first) std::fill(divisions.begin(), divisions.begin() + static_cast<std::ptrdiff_t>(last), *division);
    is_first = false;
    divisions[last] = *division;
  }
  return true;
}

}  // namespace

std::int64_t AllocatorSettings::rounded(std::int64_t requested) const {
  if (requested < kLeastBlock) return kLeastBlock;
  const auto interval = std::clamp<std::int64_t>(log2_of(requested) - log2_of(kMiB), 0, kIntervals - 1);
  const std::int64_t parts = divisions[static_cast<std::size_t>(interval)];
  if (parts <= 1 || requested <= kLeastBlock * parts) return rounded_up(requested, kLeastBlock);
  if (std::has_single_bit(static_cast<std::uint64_t>(requested))) return requested;
  const std::int64_t power = std::int64_t{1} << log2_of(requested);
  return rounded_up(requested, std::max<std::int64_t>(power / parts, 1));
}

std::int64_t AllocatorSettings::segment_for(std::int64_t rounded) const {
  if (rounded <= kLargestSmall) return kSmallSegment;
  return rounded < kLeastOwnSegment ? large_segment : rounded_up(rounded, kSegmentRounding);
}

bool decides_reserved(std::string_view key) {
  return key == "expandable_segments" || key == "max_split_size_mb" || key == "max_non_split_rounding_mb" ||
         key == "large_segment_size_mb" || key == "roundup_power2_divisions" || key == "garbage_collection_threshold" ||
         key == "per_process_memory_fraction";
}

std::vector<std::string> single_settings(std::string_view text) {
  std::vector<std::string> settings(1);
  int depth = 0;
  for (const char each : text) {
    if (std::isspace(static_cast<unsigned char>(each)) != 0) continue;
    depth += each == '[' ? 1 : each == ']' ? -1 : 0;
    if (each == ',' && depth == 0) {
      settings.emplace_back();
    } else {
      settings.back() += each;
    }
  }
  std::erase(settings, std::string());
  return settings;
}

std::string joined_settings(std::string_view base, std::string_view text) {
  const std::vector<std::string> changes = single_settings(text);
  std::string joined;
  const auto add = [&](const std::string& setting) { joined += (joined.empty() ? "" : ",") + setting; };
  for (const std::string& setting : single_settings(base)) {
    const std::string key = setting.substr(0, setting.find(':') + 1);
    if (std::ranges::none_of(changes, [&](const std::string& change) { return change.starts_with(key); })) add(setting);
  }
  for (const std::string& change : changes) add(change);
  return joined;
}

Expected<AllocatorSettings> read_settings(std::string_view text, const AllocatorSettings& base) {
  AllocatorSettings settings = base;
  for (const std::string& each : single_settings(text)) {
    const std::size_t colon = each.find(':');
    if (colon == std::string::npos) return refused(each, "must be NAME:VALUE");
    const std::string key = each.substr(0, colon);
    const std::string value = each.substr(colon + 1);
    if (key == "expandable_segments") {
      const std::optional<bool> on = flag(value);
      if (!on) return refused(each, "must be True or False");
      settings.expandable = *on;
    } else if (key == "max_split_size_mb") {
      const std::optional<std::int64_t> bytes = mebibytes(value);
      if (!bytes || *bytes <= kLeastMaxSplitMiB * kMiB) return refused(each, "must be more than 20");
      settings.max_split = *bytes;
    } else if (key == "max_non_split_rounding_mb") {
      const std::optional<std::int64_t> bytes = mebibytes(value);
      if (!bytes || *bytes <= kLeastMaxSplitMiB * kMiB) return refused(each, "must be more than 20");
      settings.max_non_split_rounding = *bytes;
    } else if (key == "large_segment_size_mb") {
      const std::optional<std::int64_t> bytes = mebibytes(value);
      if (!bytes || *bytes < kLeastMaxSplitMiB * kMiB) return refused(each, "must be 20 or more");
      settings.large_segment = *bytes;
    } else if (key == "roundup_power2_divisions") {
      if (!read_divisions(value, settings)) return refused(each, "must be a power of two, or [MIB:N,...,>:N]");
    } else if (key == "garbage_collection_threshold") {
      const std::optional<double> part = real(value);
      if (!part || !(*part > 0 && *part < 1)) return refused(each, "must be between 0 and 1");
      settings.collect_above = *part;
    } else if (key == "per_process_memory_fraction") {
      const std::optional<double> part = real(value);
      if (!part || !(*part >= 0 && *part <= 1)) return refused(each, "must be from 0 to 1");
      settings.fraction = *part;
    } else if (key == "backend") {
      if (value != "native") return refused(each, "only torch's own allocator is predicted");
    } else if (key != "release_lock_on_cudamalloc" && key != "graph_capture_record_stream_reuse" &&
               !key.starts_with("pinned_")) {
      return refused(each, "torch's allocator has no such setting");
    }
  }
  return settings;
}

}  // namespace dcmt::analyzer

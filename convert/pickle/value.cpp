#include "convert/pickle/value.h"

namespace dcmt::convert {

std::optional<std::int64_t> PickleData::integer(ValueId id) const {
  const Value& value = values_[id];
  if (value.kind != ValueKind::kInteger && value.kind != ValueKind::kBool) return std::nullopt;
  return value.integer;
}

std::optional<std::string_view> PickleData::text(ValueId id) const {
  const Value& value = values_[id];
  if (value.kind != ValueKind::kText) return std::nullopt;
  return std::string_view(bytes_).substr(value.at, value.length);
}

std::span<const ValueId> PickleData::items(ValueId id) const {
  const Value& value = values_[id];
  if (value.kind != ValueKind::kList && value.kind != ValueKind::kTuple && value.kind != ValueKind::kDict) return {};
  return items_[value.at];
}

std::optional<ValueId> PickleData::find(ValueId dict, std::string_view key) const {
  if (!is(dict, ValueKind::kDict)) return std::nullopt;
  const std::span<const ValueId> pairs = items(dict);
  for (std::size_t i = pairs.size(); i >= 2; i -= 2) {
    if (text(pairs[i - 2]) == key) return pairs[i - 1];
  }
  return std::nullopt;
}

}  // namespace dcmt::convert

// Numbers that cannot be mixed up: a storage id is not a tensor id, bytes are not a time.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace dcmt {

/// A number with a meaning of its own. `Tag` only makes the types different.
template <class Tag, class Value = std::int64_t>
struct TypedNumber {
  Value value = 0;

  constexpr TypedNumber() = default;
  constexpr explicit TypedNumber(Value v) : value(v) {}
  friend constexpr auto operator<=>(TypedNumber, TypedNumber) = default;  // NOLINT(modernize-use-nullptr)
  /// Zero means "none": row ids and sequences start at 1.
  [[nodiscard]] constexpr bool valid() const { return value != 0; }
};

using StorageId = TypedNumber<struct StorageTag>;
using TensorId = TypedNumber<struct TensorTag>;
using BlockId = TypedNumber<struct BlockTag>;
using MarkId = TypedNumber<struct MarkTag>;
using EdgeId = TypedNumber<struct EdgeTag>;
using OperatorId = TypedNumber<struct OperatorTag>;
using SourceId = TypedNumber<struct SourceTag>;
// Counted from 1 in the order of first sight. A process cannot have more than 32 bits can count.
using StringId = TypedNumber<struct StringTag, std::int32_t>;
using ModuleId = TypedNumber<struct ModuleTag, std::int32_t>;
using FrameId = TypedNumber<struct FrameTag, std::int32_t>;
using StackId = TypedNumber<struct StackTag, std::int32_t>;
using ThreadId = TypedNumber<struct ThreadTag, std::int32_t>;

/// Position in the one total order of a process's records.
using Sequence = TypedNumber<struct SequenceTag>;
/// Nanoseconds on the monotonic clock of the traced machine.
using TimeNs = TypedNumber<struct TimeTag>;
/// A number of bytes.
using Bytes = TypedNumber<struct BytesTag>;

}  // namespace dcmt

template <class Tag, class Value>
struct std::hash<dcmt::TypedNumber<Tag, Value>> {
  std::size_t operator()(dcmt::TypedNumber<Tag, Value> n) const noexcept { return std::hash<Value>{}(n.value); }
};

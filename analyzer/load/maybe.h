// A value that may be absent, in the memory of the value alone: a std::optional of eight bytes needs sixteen, and there
// are millions of rows.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace dcmt::analyzer {

/// The value that stands for "absent". No number of a loaded trace is so small (trace/sql/limits.h).
template <class Value>
inline constexpr Value kAbsent{std::numeric_limits<std::int64_t>::min()};

/// Behaves like std::optional, and converts to one on request.
template <class Value>
class Maybe {
 public:
  constexpr Maybe() = default;
  constexpr Maybe(std::nullopt_t) {}               // NOLINT(google-explicit-constructor)
  constexpr Maybe(Value value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  constexpr Maybe(const std::optional<Value>& value)
      : value_(value.value_or(kAbsent<Value>)) {}    // NOLINT(google-explicit-constructor)
  constexpr operator std::optional<Value>() const {  // NOLINT(google-explicit-constructor)
    return has_value() ? std::optional(value_) : std::nullopt;
  }

  [[nodiscard]] constexpr bool has_value() const { return !(value_ == kAbsent<Value>); }
  constexpr explicit operator bool() const { return has_value(); }
  /// Requires a value.
  constexpr const Value& operator*() const { return value_; }
  constexpr const Value* operator->() const { return &value_; }
  [[nodiscard]] constexpr Value value_or(Value otherwise) const { return has_value() ? value_ : otherwise; }
  friend constexpr bool operator==(const Maybe&, const Maybe&) = default;

 private:
  Value value_ = kAbsent<Value>;
};

}  // namespace dcmt::analyzer

// The values of a pickle of plain data: numbers, texts, lists, tuples, dictionaries. Values lie in one arena and refer
// to each other by number, so that values shared in the pickle stay shared, and circles cost nothing.
//
// Thread-safety: const after reading.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dcmt::convert {

/// The number of a value in its arena.
using ValueId = std::uint32_t;

enum class ValueKind : std::uint8_t {
  kNone,
  kBool,
  kInteger,
  kLargeInteger,
  kReal,
  kText,
  kBytes,
  kList,
  kTuple,
  kDict
};

struct Value {
  ValueKind kind = ValueKind::kNone;
  union {
    std::int64_t integer = 0;  ///< kBool, kInteger
    double real;               ///< kReal
    std::uint64_t at;          ///< kText, kBytes: offset in the pickle; kList, kTuple, kDict: number of the items
  };
  std::uint64_t length = 0;  ///< kText, kBytes, kLargeInteger: bytes
};

/// The values of a pickle.
class PickleData {
 public:
  [[nodiscard]] const Value& operator[](ValueId id) const { return values_[id]; }
  [[nodiscard]] ValueId root() const { return root_; }
  /// The size of the pickle in bytes.
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

  [[nodiscard]] bool is(ValueId id, ValueKind kind) const { return values_[id].kind == kind; }
  [[nodiscard]] std::optional<std::int64_t> integer(ValueId id) const;
  /// The text; nullopt for other values.
  [[nodiscard]] std::optional<std::string_view> text(ValueId id) const;
  /// The items of a list or tuple; for a dictionary its keys and values alternately. Empty for other values.
  [[nodiscard]] std::span<const ValueId> items(ValueId id) const;
  /// The value of a dictionary's key; for a repeated key the last value. nullopt: no such key, or not a dictionary.
  [[nodiscard]] std::optional<ValueId> find(ValueId dict, std::string_view key) const;

 private:
  friend class PickleReader;

  std::string bytes_;
  std::vector<Value> values_;
  std::vector<std::vector<ValueId>> items_;
  ValueId root_ = 0;
};

}  // namespace dcmt::convert

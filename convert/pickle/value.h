// What a pickle of plain data holds: numbers, texts, lists, tuples, dictionaries. Values lie in one arena and refer to
// each other by number, so that what is shared in the pickle is shared here, and circles cost nothing.
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

/// Number of a value in its arena.
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

/// A pickle that was read.
class PickleData {
 public:
  [[nodiscard]] const Value& operator[](ValueId id) const { return values_[id]; }
  [[nodiscard]] ValueId root() const { return root_; }
  /// Bytes of the pickle.
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

  [[nodiscard]] bool is(ValueId id, ValueKind kind) const { return values_[id].kind == kind; }
  [[nodiscard]] std::optional<std::int64_t> integer(ValueId id) const;
  /// Of a text.
  [[nodiscard]] std::optional<std::string_view> text(ValueId id) const;
  /// Of a list or tuple; of a dictionary its keys and values in turn. Empty for anything else.
  [[nodiscard]] std::span<const ValueId> items(ValueId id) const;
  /// The value of a dictionary's key, the last one if the key is there twice. nullopt: no such key, or no dictionary.
  [[nodiscard]] std::optional<ValueId> find(ValueId dict, std::string_view key) const;

 private:
  friend class PickleReader;

  std::string bytes_;
  std::vector<Value> values_;
  std::vector<std::vector<ValueId>> items_;
  ValueId root_ = 0;
};

}  // namespace dcmt::convert

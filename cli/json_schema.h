// The expected contents of docs/json.md, derived from the types of the report model. For tests.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "cli/json_writer.h"

namespace dcmt::cli {

/// A key of a shape; a row of the page.
struct SchemaKey {
  std::string key, type, meaning;
  friend bool operator==(const SchemaKey&, const SchemaKey&) = default;
};

/// Shapes by name, with their keys in order.
class JsonSchema {
 public:
  /// Adds a shape and all shapes that its keys refer to.
  template <Described Value>
  void add() {
    const std::string name(Value::kShape);
    if (shapes_.contains(name)) return;
    shapes_[name] = {};
    std::vector<SchemaKey> keys;
    Value::describe([&](std::string_view key, const auto& member, std::string_view meaning) {
      using Member = std::remove_cvref_t<decltype(std::invoke(member, std::declval<const Value&>()))>;
      keys.push_back({std::string(key), type_of<Member>(), std::string(meaning)});
    });
    shapes_[name] = std::move(keys);
  }

  [[nodiscard]] std::map<std::string, std::vector<SchemaKey>>& shapes() { return shapes_; }

 private:
  template <class Value>
  std::string type_of() {
    if constexpr (Described<Value>) {
      add<Value>();
      return std::string(Value::kShape);
    } else if constexpr (kIsOptional<Value>) {
      return type_of<typename Value::value_type>() + " or null";
    } else if constexpr (std::is_same_v<Value, bool>) {
      return "boolean";
    } else if constexpr (std::is_floating_point_v<Value>) {
      return "number";
    } else if constexpr (std::is_integral_v<Value> || TypedValue<Value>) {
      return "integer";
    } else if constexpr (std::is_enum_v<Value> || TextValue<Value>) {
      return "text";
    } else {
      return "list of " + type_of<typename Value::value_type>();
    }
  }

  std::map<std::string, std::vector<SchemaKey>> shapes_;
};

}  // namespace dcmt::cli

// The report model as JSON. Its types list their fields (analyzer/model/values.h); this writer names none of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace dcmt::cli {

/// The version of the documents. It increases if a key is removed or changes its meaning; new keys do not change it.
inline constexpr int kJsonVersion = 1;

/// A type of the model that lists its fields.
template <class Value>
concept Described = requires {
  Value::kShape;
};

template <class Value>
inline constexpr bool kIsOptional = false;
template <class Value>
inline constexpr bool kIsOptional<std::optional<Value>> = true;

/// An id, a sequence, bytes: a number with its own type.
template <class Value>
concept TypedValue = requires(const Value& value) {
  { value.valid() } -> std::same_as<bool>;
  value.value;
};

template <class Value>
concept TextValue = std::is_convertible_v<const Value&, std::string_view>;

/// Writes one document value by value, so that rows that are made on demand need no memory.
class JsonWriter {
 public:
  JsonWriter() = default;
  /// Writes to a stream in pieces. The stream must outlive this object.
  explicit JsonWriter(std::ostream& out) : out_(&out) {}

  void begin(char bracket);
  void end(char bracket);
  /// To be called before each value of a list.
  void item();
  /// To be called before each value of an object.
  void key(std::string_view name);

  template <class Value>
  void value(const Value& value) {
    if constexpr (Described<Value>) {
      begin('{');
      fields(value);
      end('}');
    } else if constexpr (kIsOptional<Value>) {
      value ? this->value(*value) : null();
    } else if constexpr (std::is_same_v<Value, bool>) {
      boolean(value);
    } else if constexpr (std::is_enum_v<Value>) {
      text(name_of(value));
    } else if constexpr (std::is_floating_point_v<Value>) {
      number(value);
    } else if constexpr (std::is_integral_v<Value>) {
      integer(static_cast<std::int64_t>(value));
    } else if constexpr (TypedValue<Value>) {
      integer(value.value);
    } else if constexpr (TextValue<Value>) {
      text(value);
    } else {
      begin('[');
      for (const auto& each : value) {
        item();
        this->value(each);
      }
      end(']');
    }
  }

  /// Writes the fields of a value into an object that has been begun.
  template <Described Value>
  void fields(const Value& value) {
    Value::describe([&](std::string_view name, const auto& member, std::string_view /*meaning*/) {
      key(name);
      this->value(std::invoke(member, value));
    });
  }

  /// The document; with a stream, the part that has not been written yet.
  [[nodiscard]] std::string extract() { return std::move(text_); }

 private:
  void null();
  void boolean(bool value);
  void integer(std::int64_t value);
  void number(double value);
  /// Bytes that are not UTF-8, as in a file's name, become U+FFFD.
  void text(std::string_view value);
  void line();

  std::ostream* out_ = nullptr;  ///< nullptr: the document stays in memory
  std::string text_;
  std::size_t depth_ = 0;
  bool empty_ = true;  ///< the innermost list or object is empty so far
};

/// Writes one value as a separate document.
template <class Value>
[[nodiscard]] std::string json_of(const Value& value) {
  JsonWriter writer;
  writer.value(value);
  return writer.extract();
}

/// Writes one value with the version before its fields.
template <Described Value>
[[nodiscard]] std::string versioned_json(const Value& value) {
  JsonWriter writer;
  writer.begin('{');
  writer.key("version");
  writer.value(kJsonVersion);
  writer.fields(value);
  writer.end('}');
  return writer.extract();
}

/// The document of a command: {"version", "command"} and the fields that the command adds.
class JsonDocument {
 public:
  explicit JsonDocument(std::string_view command);

  /// Adds the fields of `value`.
  template <Described Value>
  [[nodiscard]] std::string with(const Value& value) {
    writer_.fields(value);
    return finish();
  }
  [[nodiscard]] std::string finish();

 private:
  JsonWriter writer_;
};

/// The document of a command with an object for each trace. Rows go to the stream as they are made: if the command
/// fails half-way, the document is incomplete.
class TracesDocument {
 public:
  TracesDocument(std::string_view command, std::ostream& out);

  template <Described Value>
  void add(const Value& of_trace) {
    writer_.item();
    writer_.value(of_trace);
  }
  void finish();

 private:
  std::ostream& out_;
  JsonWriter writer_;
};

}  // namespace dcmt::cli

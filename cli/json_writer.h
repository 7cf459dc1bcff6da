// The report model as JSON. Its types list their fields (analyzer/model/values.h); nothing here knows any of them.
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

/// The version of the documents: it grows when a key changes its meaning or goes; new keys do not change it.
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

/// An id, a moment, bytes: a number with a type of its own.
template <class Value>
concept TypedValue = requires(const Value& value) {
  { value.valid() } -> std::same_as<bool>;
  value.value;
};

template <class Value>
concept TextValue = std::is_convertible_v<const Value&, std::string_view>;

/// Writes one document, each value as it comes, so that rows that are made as they are read need no memory.
class JsonWriter {
 public:
  JsonWriter() = default;
  /// To a stream, piece by piece, which must outlive it.
  explicit JsonWriter(std::ostream& out) : out_(&out) {}

  void begin(char bracket);
  void end(char bracket);
  /// Before each value of a list.
  void item();
  /// Before each value of an object.
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

  /// The fields of a value, in an object that has been begun.
  template <Described Value>
  void fields(const Value& value) {
    Value::describe([&](std::string_view name, const auto& member, std::string_view /*meaning*/) {
      key(name);
      this->value(std::invoke(member, value));
    });
  }

  /// The document; of one that goes to a stream, what has not gone there yet.
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void null();
  void boolean(bool value);
  void integer(std::int64_t value);
  void number(double value);
  /// Bytes that are no UTF-8 (a file's name may have them) become U+FFFD.
  void text(std::string_view value);
  void line();

  std::ostream* out_ = nullptr;  ///< nullptr: the document stays here
  std::string text_;
  std::size_t depth_ = 0;
  bool empty_ = true;  ///< the innermost list or object, so far
};

/// One value as a document of its own.
template <class Value>
[[nodiscard]] std::string json_of(const Value& value) {
  JsonWriter writer;
  writer.value(value);
  return writer.take();
}

/// The same with the version before its fields.
template <Described Value>
[[nodiscard]] std::string versioned_json(const Value& value) {
  JsonWriter writer;
  writer.begin('{');
  writer.key("version");
  writer.value(kJsonVersion);
  writer.fields(value);
  writer.end('}');
  return writer.take();
}

/// The document of a command: {"version", "command"} and what the command adds.
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

/// The document of a command that has an object for each trace. It goes to the stream as its rows are made: a command
/// that fails half-way leaves it without its end.
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

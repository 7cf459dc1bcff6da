// Tables of what other rows refer to: texts, places in code, threads, source files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "trace/tables/column.h"
#include "trace/tables/point.h"

namespace dcmt {

/// Keys: trace/sql/meta_keys.h.
struct MetaRow {
  std::string_view key;
  std::variant<std::int64_t, std::string_view> value;

  static constexpr Table kTable{.name = "meta", .meaning = "Facts about the recording.", .key = "key"};
  static constexpr void describe(auto&& column) {
    column(&MetaRow::key, Cell{"key", "text", ""});
    column(&MetaRow::value, Cell{"value", "any", "a number or a text"});
  }
};

struct StringRow {
  RowId id = 0;
  std::string_view text;

  static constexpr Table kTable{.name = "string", .meaning = "Texts, each once."};
  static constexpr void describe(auto&& column) {
    column(&StringRow::id, Cell{"id", "id", ""});
    column(&StringRow::text, Cell{"text", "text", ""});
  }
};

struct ThreadRow {
  RowId id = 0;
  std::int64_t tid = 0;
  RowId name = 0;
  Point from;

  static constexpr Table kTable{.name = "thread", .meaning = "Threads of the process."};
  static constexpr void describe(auto&& column) {
    column(&ThreadRow::id, Cell{"id", "id", "the agent's number of it, from 0"});
    column(&ThreadRow::tid, Cell{"tid", "number", "the kernel's number; 0: not known"});
    column(&ThreadRow::name, OrNull{"name", "string", ""});
    column(&ThreadRow::from, At{"from_", "of its first record"});
  }
};

struct FrameRow {
  RowId id = 0;
  RowId file = 0, function = 0;
  std::int64_t line = 0;

  static constexpr Table kTable{.name = "frame", .meaning = "Places in Python code."};
  static constexpr void describe(auto&& column) {
    column(&FrameRow::id, Cell{"id", "id", ""});
    column(&FrameRow::file, Cell{"file", "string", ""});
    column(&FrameRow::function, Cell{"function", "string", ""});
    column(&FrameRow::line, Cell{"line", "number", "0: not known"});
  }
};

/// A stack is its innermost frame and the stack of its caller.
struct StackRow {
  RowId id = 0;
  RowId parent = 0;
  RowId frame = 0;

  static constexpr Table kTable{.name = "stack", .meaning = "A stack is its innermost frame and its caller's stack."};
  static constexpr void describe(auto&& column) {
    column(&StackRow::id, Cell{"id", "id", ""});
    column(&StackRow::parent, OrNull{"parent", "stack", "of the caller; NULL at the outermost frame"});
    column(&StackRow::frame, Cell{"frame", "frame", "the innermost"});
  }
};

/// The copy of a file. Without an id it gets the next one.
struct SourceRow {
  RowId id = 0;
  RowId path = 0;
  std::string_view text;

  static constexpr Table kTable{.name = "source", .meaning = "Files that were copied at first sight."};
  static constexpr void describe(auto&& column) {
    column(&SourceRow::id, OrNull{"id", "id", ""});
    column(&SourceRow::path, Cell{"path", "string", ""});
    column(&SourceRow::text, Cell{"text", "text", "what the file contains"});
  }
};

struct SourceLineRow {
  RowId source_path = 0;
  std::int64_t line = 0;
  RowId model_file = 0;
  std::optional<std::int64_t> model_line;
  RowId model_text = 0;
  RowId stack_text = 0;

  static constexpr Table kTable{
      .name = "source_line", .meaning = "The model's source for lines of generated files.", .key = ""};
  static constexpr void describe(auto&& column) {
    column(&SourceLineRow::source_path, Cell{"source_path", "string", "the generated file"});
    column(&SourceLineRow::line, Cell{"line", "number", "from this line on"});
    column(&SourceLineRow::model_file, OrNull{"model_file", "string", ""});
    column(&SourceLineRow::model_line, Cell{"model_line", "number", ""});
    column(&SourceLineRow::model_text, OrNull{"model_text", "string", ""});
    column(&SourceLineRow::stack_text, Cell{"stack_text", "string", "what the compiler kept"});
  }
};

}  // namespace dcmt

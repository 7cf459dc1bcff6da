// Writes rows into a trace: prepared statements for every table, and interning of strings, frames and stacks.
//
// Thread-safety: none. One writer per trace.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/sql/database.h"
#include "trace/tables/tables.h"

namespace dcmt {

class TraceWriter {
 public:
  /// Uses a trace from create_trace() or reopen_trace(), and continues with what it has interned.
  static Expected<TraceWriter> create(Database database);

  TraceWriter(TraceWriter&&) noexcept = default;
  TraceWriter& operator=(TraceWriter&&) noexcept = default;

  [[nodiscard]] Database& database() { return database_; }

  Status begin();
  Status commit();

  /// Writes a row; replaces an earlier state of the same row. Row: one of WrittenTables.
  template <class Row>
  Status write(const Row& row);
  /// Writes rows one after the other, which costs less for many of one table.
  template <class Row>
  Status write(std::span<const Row> rows);

  /// Removes the row with this id; does nothing if there is none.
  template <class Row>
  Status erase(const Row& row);
  /// Removes the curves of the interval, too.
  Status erase(const IntervalRow& row);

  /// Whether the trace has a row with this id.
  template <class Row>
  Expected<bool> has(const Row& row);

  /// Removes all marks of steps, and the step numbers of the intervals.
  Status forget_steps();

  /// Bytes of the file's used pages, including the pages that still wait in the write-ahead log.
  Expected<std::int64_t> used_bytes();

  Status set_meta(std::string_view key, std::string_view value) { return write(MetaRow{key, value}); }
  Status set_meta(std::string_view key, std::int64_t value) { return write(MetaRow{key, value}); }

  /// The id of a text, frame or stack. The first call for a content writes it.
  Expected<RowId> intern(std::string_view text);
  /// The same; 0, which is stored as NULL, for an empty text.
  Expected<RowId> intern_or_null(std::string_view text) { return text.empty() ? Expected<RowId>(0) : intern(text); }
  Expected<RowId> frame(RowId file, RowId function, std::int64_t line);
  Expected<RowId> stack(RowId parent, RowId frame);

  /// The text with this id; empty if the trace has none.
  Expected<std::string> text(RowId string);

  /// Reserves an id whose content is defined later: a record may name a content that another thread has not published
  /// yet.
  RowId reserve_string() { return next_string_++; }
  RowId reserve_stack() { return next_stack_++; }
  RowId reserve_frame() { return next_frame_++; }
  Status define_string(RowId id, std::string_view text);
  Status define_frame(RowId id, RowId file, RowId function, std::int64_t line);
  Status define_stack(RowId id, RowId parent, RowId frame);

 private:
  struct FrameKey {
    RowId file, function;
    std::int64_t line;
    bool operator==(const FrameKey&) const = default;
  };
  struct StackKey {
    RowId parent, frame;
    bool operator==(const StackKey&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const FrameKey& key) const noexcept;
    std::size_t operator()(const StackKey& key) const noexcept;
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  /// The statements of one table. The last two have the first column of its key as their parameter.
  struct OfTable {
    Statement insert, insert_some, erase, has;
  };

  TraceWriter(Database database, Statement used, Statement begin, Statement commit)
      : database_(std::move(database)), used_(std::move(used)), begin_(std::move(begin)), commit_(std::move(commit)) {}
  Status prepare();
  Status load();
  template <class Row>
  OfTable& table() {
    return tables_[WrittenTables::index_of<Row>()];
  }

  Database database_;
  std::vector<OfTable> tables_;  ///< in the order of WrittenTables
  Statement used_, begin_, commit_;
  std::unordered_map<std::string, RowId, TextHash, std::equal_to<>> strings_;
  std::unordered_map<FrameKey, RowId, KeyHash> frames_;
  std::unordered_map<StackKey, RowId, KeyHash> stacks_;
  RowId next_string_ = 1;
  RowId next_frame_ = 1;
  RowId next_stack_ = 1;
};

}  // namespace dcmt

// Strings, code objects and Python stacks, by the ids in records.
//
// A record may refer to a definition with a later sequence: another thread published it first but acquired its sequence
// later. Such a reference gets its row id at once. Until the content arrives, the row has a placeholder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// A Python code object.
struct Code {
  RowId file = 0;
  RowId function = 0;
  std::uint64_t file_wire = 0;
  int first_line = 0;
};

/// Thread-safety: none.
class Dictionary {
 public:
  explicit Dictionary(Journal& journal) : journal_(journal) {}

  /// Writes the rows for placeholders. Call it first, with or without a resume.
  Status start();
  /// Loads the data of an earlier recorder.
  Status resume();

  Status define_string(std::uint64_t wire, std::string_view text);
  Status define_code(const wire::CodeRecord& record);
  /// @param frames  `count` StackFrames, innermost first
  Status define_stack(std::uint64_t wire, std::string_view frames);
  /// @param frames  rows, innermost first; empty: the stack has no row
  Status define_stack(std::uint64_t wire, const std::vector<RowId>& frames);
  [[nodiscard]] bool is_defined(std::uint64_t stack) const;

  /// The row id of a wire id; 0 stays 0.
  Expected<RowId> string(std::uint64_t wire);
  /// The row of a kernel's name, in readable form.
  Expected<RowId> kernel_name(std::uint64_t wire);
  Expected<RowId> stack(std::uint64_t wire);
  /// The text; empty if it has not arrived.
  [[nodiscard]] std::string_view text(std::uint64_t wire) const;
  /// nullptr if it has not arrived.
  [[nodiscard]] const Code* code(std::uint64_t wire) const;
  /// The string "(unknown)".
  [[nodiscard]] RowId unknown() const { return unknown_; }

  /// Writes placeholders for missing content.
  Status commit();

 private:
  struct Text {
    RowId id = 0;
    bool defined = false;
    std::string text;
  };
  struct StackEntry {
    RowId id = 0;
    bool defined = false;
  };
  struct WaitingFrame {
    RowId id = 0;
    std::int64_t line = 0;
  };

  Status learn_code(const wire::CodeRecord& record);
  Expected<RowId> frame(const wire::StackFrame& frame);

  Journal& journal_;
  RowId unknown_ = 0;
  RowId unknown_frame_ = 0;
  std::unordered_map<std::uint64_t, Text> strings_;
  std::unordered_map<std::uint64_t, StackEntry> stacks_;
  std::unordered_map<std::uint64_t, Code> codes_;
  std::unordered_map<std::uint64_t, std::vector<WaitingFrame>> waiting_frames_;
  std::vector<std::uint64_t> new_missing_strings_;
  std::vector<std::uint64_t> new_missing_stacks_;
};

}  // namespace dcmt::recorder

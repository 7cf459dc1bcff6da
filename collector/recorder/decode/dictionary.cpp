#include "collector/recorder/decode/dictionary.h"

#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "collector/recorder/decode/record_view.h"
#include "trace/base/demangled.h"
#include "trace/sql/row_io.h"

namespace dcmt::recorder {

Status Dictionary::start() {
  // First of all, so that no placeholder has the id of this text.
  DCMT_ASSIGN_OR_RETURN(RowId unknown, journal_.writer.intern("(unknown)"));
  unknown_ = unknown;
  DCMT_ASSIGN_OR_RETURN(RowId frame, journal_.writer.frame(unknown_, unknown_, 0));
  unknown_frame_ = frame;
  return {};
}

Status Dictionary::resume() {
  DCMT_RETURN_IF_ERROR(journal_.state.each_id([this](WireIdKind kind, std::uint64_t wire, RowId id) {
    switch (kind) {
      case WireIdKind::kString:
        strings_[wire] = Text{id, true, {}};
        break;
      case WireIdKind::kMissingString:
        strings_[wire] = Text{id, false, {}};
        break;
      case WireIdKind::kStack:
        stacks_[wire] = StackEntry{id, true};
        break;
      case WireIdKind::kMissingStack:
        stacks_[wire] = StackEntry{id, false};
        break;
      case WireIdKind::kMissingCode:
        waiting_frames_[wire].push_back({id, 0});
        break;
      case WireIdKind::kMark:
      case WireIdKind::kStream:
      case WireIdKind::kModule:
        break;
    }
  }));
  std::unordered_map<RowId, std::string> texts;
  DCMT_RETURN_IF_ERROR(each_row_of<StringRow>(journal_.writer.database(), "",
                                              [&](const StringRow& row) { texts.emplace(row.id, row.text); }));
  for (auto& [wire, entry] : strings_) {
    if (entry.defined) entry.text = texts[entry.id];
  }
  std::unordered_map<RowId, std::int64_t> lines;
  DCMT_RETURN_IF_ERROR(each_row_of<FrameRow>(journal_.writer.database(), "",
                                             [&](const FrameRow& row) { lines.emplace(row.id, row.line); }));
  for (auto& [wire, frames] : waiting_frames_) {
    for (WaitingFrame& frame : frames) frame.line = lines[frame.id];
  }
  return journal_.state.each_record([this](const Point&, std::uint32_t, RowId, std::string_view bytes) -> Status {
    const auto record = view_as<wire::CodeRecord>(bytes);
    if (!record || record->header.type != wire::RecordType::kCode) return {};
    return learn_code(*record);
  });
}

Status Dictionary::define_string(std::uint64_t wire, std::string_view text) {
  if (wire == 0) return journal_.bad_record("a string without an id");
  Text& entry = strings_[wire];
  if (entry.defined) return {};
  entry.defined = true;
  entry.text = text;
  if (entry.id == 0 && journal_.rows.full()) {
    entry.id = unknown_;
    return {};
  }
  if (entry.id != 0) {
    DCMT_RETURN_IF_ERROR(journal_.writer.define_string(entry.id, text));
    DCMT_RETURN_IF_ERROR(journal_.state.remove_id(WireIdKind::kMissingString, wire, entry.id));
  } else {
    DCMT_ASSIGN_OR_RETURN(RowId id, journal_.writer.intern(text));
    entry.id = id;
  }
  return journal_.state.add_id(WireIdKind::kString, wire, entry.id);
}

Status Dictionary::define_code(const wire::CodeRecord& record) {
  if (record.id == 0) return journal_.bad_record("a code object without an id");
  if (codes_.contains(record.id) || journal_.rows.full()) return {};
  const std::string_view bytes(reinterpret_cast<const char*>(&record), sizeof record);
  DCMT_RETURN_IF_ERROR(journal_.state.keep_record(journal_.now, journal_.thread, 0, bytes));
  return learn_code(record);
}

Status Dictionary::learn_code(const wire::CodeRecord& record) {
  Code code;
  code.file_wire = record.file;
  code.first_line = static_cast<int>(record.header.aux & 0x7fffffff);
  for (const auto& [wire, out] : {std::pair{record.file, &code.file}, std::pair{record.function, &code.function}}) {
    DCMT_ASSIGN_OR_RETURN(RowId id, string(wire));
    *out = id != 0 ? id : unknown_;
  }
  if (const auto waiting = waiting_frames_.find(record.id); waiting != waiting_frames_.end()) {
    for (const WaitingFrame& frame : waiting->second) {
      DCMT_RETURN_IF_ERROR(journal_.writer.define_frame(frame.id, code.file, code.function, frame.line));
      DCMT_RETURN_IF_ERROR(journal_.state.remove_id(WireIdKind::kMissingCode, record.id, frame.id));
    }
    waiting_frames_.erase(waiting);
  }
  codes_.emplace(record.id, code);
  return {};
}

Expected<RowId> Dictionary::frame(const wire::StackFrame& frame) {
  if (const Code* known = code(frame.code); known != nullptr) {
    return journal_.writer.frame(known->file, known->function, frame.line);
  }
  for (const WaitingFrame& waiting : waiting_frames_[frame.code]) {
    if (waiting.line == frame.line) return waiting.id;
  }
  const RowId id = journal_.writer.reserve_frame();
  DCMT_RETURN_IF_ERROR(journal_.writer.define_frame(id, unknown_, unknown_, frame.line));
  DCMT_RETURN_IF_ERROR(journal_.state.add_id(WireIdKind::kMissingCode, frame.code, id));
  waiting_frames_[frame.code].push_back({id, frame.line});
  return id;
}

bool Dictionary::is_defined(std::uint64_t stack) const {
  const auto known = stacks_.find(stack);
  return known != stacks_.end() && known->second.defined;
}

Status Dictionary::define_stack(std::uint64_t wire, std::string_view frames) {
  if (wire == 0) return journal_.bad_record("a stack without an id");
  if (is_defined(wire)) return {};
  const std::size_t count = frames.size() / sizeof(wire::StackFrame);
  if (count == 0) return journal_.bad_record("a stack without frames");
  std::vector<RowId> rows;
  for (std::size_t i = 0; i < count && !journal_.rows.full(); ++i) {
    wire::StackFrame entry;
    std::memcpy(&entry, frames.data() + i * sizeof entry, sizeof entry);
    DCMT_ASSIGN_OR_RETURN(const RowId row, frame(entry));
    rows.push_back(row);
  }
  return define_stack(wire, rows);
}

Status Dictionary::define_stack(std::uint64_t wire, const std::vector<RowId>& frames) {
  StackEntry& entry = stacks_[wire];
  if (std::exchange(entry.defined, true)) return {};
  if (journal_.rows.full()) {
    if (entry.id != 0) return journal_.writer.define_stack(entry.id, 0, unknown_frame_);
    DCMT_ASSIGN_OR_RETURN(const RowId unknown, journal_.writer.stack(0, unknown_frame_));
    entry.id = unknown;
    return {};
  }
  if (frames.empty()) {
    if (entry.id == 0) return {};
    return journal_.writer.define_stack(entry.id, 0, unknown_frame_);
  }
  // Outermost first: a row needs its caller's row.
  RowId parent = 0;
  for (std::size_t i = frames.size(); i-- > 1;) {
    DCMT_ASSIGN_OR_RETURN(const RowId id, journal_.writer.stack(parent, frames[i]));
    parent = id;
  }
  if (entry.id != 0) {
    DCMT_RETURN_IF_ERROR(journal_.writer.define_stack(entry.id, parent, frames.front()));
    DCMT_RETURN_IF_ERROR(journal_.state.remove_id(WireIdKind::kMissingStack, wire, entry.id));
  } else {
    DCMT_ASSIGN_OR_RETURN(const RowId id, journal_.writer.stack(parent, frames.front()));
    entry.id = id;
  }
  return journal_.state.add_id(WireIdKind::kStack, wire, entry.id);
}

Expected<RowId> Dictionary::string(std::uint64_t wire) {
  if (wire == 0) return RowId{0};
  Text& entry = strings_[wire];
  if (entry.id == 0) {
    entry.id = journal_.writer.reserve_string();
    new_missing_strings_.push_back(wire);
    DCMT_RETURN_IF_ERROR(journal_.state.add_id(WireIdKind::kMissingString, wire, entry.id));
  }
  return entry.id;
}

Expected<RowId> Dictionary::kernel_name(std::uint64_t wire) {
  const std::string mangled(text(wire));
  if (!mangled.starts_with("_Z")) return string(wire);
  const std::optional<std::string> name = demangled(mangled);
  return name ? journal_.writer.intern(*name) : string(wire);
}

Expected<RowId> Dictionary::stack(std::uint64_t wire) {
  if (wire == 0) return RowId{0};
  StackEntry& entry = stacks_[wire];
  if (entry.id == 0 && !entry.defined) {
    entry.id = journal_.writer.reserve_stack();
    new_missing_stacks_.push_back(wire);
    DCMT_RETURN_IF_ERROR(journal_.state.add_id(WireIdKind::kMissingStack, wire, entry.id));
  }
  return entry.id;
}

std::string_view Dictionary::text(std::uint64_t wire) const {
  const auto entry = strings_.find(wire);
  return entry != strings_.end() ? std::string_view(entry->second.text) : std::string_view();
}

const Code* Dictionary::code(std::uint64_t wire) const {
  const auto entry = codes_.find(wire);
  return entry != codes_.end() ? &entry->second : nullptr;
}

Status Dictionary::commit() {
  for (const std::uint64_t wire : new_missing_strings_) {
    const Text& entry = strings_[wire];
    if (!entry.defined) DCMT_RETURN_IF_ERROR(journal_.writer.define_string(entry.id, "(unknown)"));
  }
  new_missing_strings_.clear();
  for (const std::uint64_t wire : new_missing_stacks_) {
    const StackEntry& entry = stacks_[wire];
    if (!entry.defined) DCMT_RETURN_IF_ERROR(journal_.writer.define_stack(entry.id, 0, unknown_frame_));
  }
  new_missing_stacks_.clear();
  return {};
}

}  // namespace dcmt::recorder

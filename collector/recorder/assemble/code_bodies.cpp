#include "collector/recorder/assemble/code_bodies.h"

#include <algorithm>

#include "collector/recorder/decode/record_view.h"

namespace dcmt::recorder {
namespace {

// Limits against a damaged spool; real code stays far below.
constexpr std::uint32_t kMaxBodyPartBytes = 8u << 20;
constexpr std::size_t kMaxBodyBytes = 128u << 20;
/// Answers that are kept at a time.
constexpr std::size_t kMostAnswers = 1u << 16;

}  // namespace

CodeBodies::Found CodeBodies::find(std::uint64_t code, int first_line) const {
  const auto known = bodies_.find(code);
  if (known == bodies_.end()) return {};
  const Body& body = known->second;
  // An incomplete part cannot be used.
  const auto whole = [&](wire::CodeBodyPart which) {
    const Part& part = body.parts[static_cast<std::size_t>(which) - 1];
    return part.is_complete() ? part.bytes : std::string();
  };
  Found found;
  found.code.python = body.python;
  found.code.first_line = first_line;
  found.code.instructions = whole(wire::CodeBodyPart::kInstructions);
  found.code.line_table = whole(wire::CodeBodyPart::kLineTable);
  found.code.exception_table = whole(wire::CodeBodyPart::kExceptionTable);
  const std::string names = whole(wire::CodeBodyPart::kLocalNames);
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = names.find('\0', at);
    found.code.local_names.push_back(names.substr(at, end == std::string::npos ? end : end - at));
    if (end == std::string::npos) break;
    at = end + 1;
  }
  found.is_complete = std::ranges::all_of(body.parts, &Part::is_complete);
  return found;
}

CodeBodies::Flow CodeBodies::flow(std::uint64_t code, int first_line, int local_index, int offset) {
  const Question question{code, first_line, local_index, offset};
  if (const auto known = answers_.find(question); known != answers_.end()) return {known->second, true};
  const auto [body, is_complete] = find(code, first_line);
  if (!body.complete()) return {};
  Flow found{variable_flow(body, local_index, offset), is_complete};
  if (!is_complete) return found;
  if (answers_.size() == kMostAnswers) answers_.clear();
  answers_.emplace(question, *found.flow);
  return found;
}

Expected<bool> CodeBodies::add(std::string_view bytes) {
  const auto bad = [&](std::string_view what) -> Expected<bool> {
    DCMT_RETURN_IF_ERROR(journal_.bad_record(what));
    return false;
  };
  const auto record = view_as<wire::CodeBodyRecord>(bytes);
  const auto data = record ? tail_of<wire::CodeBodyRecord>(bytes, record->bytes) : std::nullopt;
  const std::uint32_t number = record ? record->header.aux : 0;
  if (!data || number < 1 || number > 4 || record->total > kMaxBodyPartBytes || record->offset > record->total ||
      data->size() > record->total - record->offset) {
    return bad("a piece of a code object");
  }
  const auto known = bodies_.find(record->code);
  const Part* part = known == bodies_.end() ? nullptr : &known->second.parts[number - 1];
  const std::size_t has = part == nullptr ? 0 : part->bytes.size();
  // The agent may publish a code object again if its table of published ids is full.
  if (part != nullptr && part->seen && record->offset < has + (record->bytes == 0 ? 1 : 0)) return false;
  if (bytes_ + data->size() > kMaxBodyBytes) return bad("more code than there is room for");
  if (record->offset != has) return bad("a piece of a code object out of order");
  learn(*record, *data);
  DCMT_RETURN_IF_ERROR(journal_.state.keep_record(journal_.now, journal_.thread, 0, bytes));
  return true;
}

void CodeBodies::add_again(std::string_view bytes) {
  const auto record = view_as<wire::CodeBodyRecord>(bytes);
  const auto data = tail_of<wire::CodeBodyRecord>(bytes, record ? record->bytes : 0);
  if (record && data) learn(*record, *data);
}

void CodeBodies::learn(const wire::CodeBodyRecord& record, std::string_view data) {
  Body& body = bodies_[record.code];
  body.python = static_cast<int>(record.python & 0xffff);
  Part& part = body.parts[record.header.aux - 1];
  part.seen = true;
  part.total = record.total;
  part.bytes += data;
  bytes_ += data.size();
}

}  // namespace dcmt::recorder

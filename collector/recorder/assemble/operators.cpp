#include "collector/recorder/assemble/operators.h"

#include <algorithm>
#include <string>
#include <vector>

#include "trace/sql/row_io.h"

namespace dcmt::recorder {
namespace {

// Real programs nest a few dozen operators; beyond this limit, ends are missing.
constexpr std::size_t kMaxDepth = 4096;

std::string_view scope_text(wire::OpScope scope) {
  switch (scope) {
    case wire::OpScope::kFunction:
      return "function";
    case wire::OpScope::kBackward:
      return "backward";
    case wire::OpScope::kUser:
      return "user";
  }
  return {};
}

}  // namespace

Status Operators::resume() {
  std::vector<OperatorRow> rows;
  DCMT_RETURN_IF_ERROR(each_row_of<OperatorRow>(journal_.writer.database(), "WHERE to_seq IS NULL ORDER BY from_seq",
                                                [&](const OperatorRow& row) { rows.push_back(row); }));
  for (const OperatorRow& row : rows) {
    wire::OpScope scope = wire::OpScope::kFunction;
    for (const auto other : {wire::OpScope::kBackward, wire::OpScope::kUser}) {
      if (row.scope == scope_text(other)) scope = other;
    }
    DCMT_ASSIGN_OR_RETURN(const std::string name, journal_.writer.text(row.name));
    Open open;
    open.row = row;
    open.role = role_of(scope, name);
    open.stored = true;
    threads_[static_cast<std::uint32_t>(row.thread)].push_back(open);
  }
  return {};
}

Status Operators::begin(const wire::OpRecord& record) {
  const auto scope = static_cast<wire::OpScope>(record.header.aux);
  if (scope_text(scope).empty()) return journal_.bad_record("an operator's begin");
  const auto ordinal = static_cast<std::int64_t>(record.ordinal);
  Stack& stack = threads_[journal_.thread];
  // Ordinals increase with the depth: an operator with an ordinal that is not smaller has ended, and its end was lost.
  while (!stack.empty() && stack.back().row.ordinal >= ordinal) DCMT_RETURN_IF_ERROR(pop(stack));
  if (stack.size() >= kMaxDepth) return journal_.bad_record("an operator nested too deep");

  DCMT_ASSIGN_OR_RETURN(RowId name, dictionary_.string(record.name));
  Open open;
  open.row.id = journal_.now.seq;
  open.row.thread = journal_.thread;
  open.row.parent = stack.empty() ? 0 : stack.back().row.id;
  open.row.name = name != 0 ? name : dictionary_.unknown();
  open.row.scope = scope_text(scope);
  open.row.ordinal = ordinal;
  open.row.span.from = journal_.now;
  const std::string_view text = dictionary_.text(record.name);
  open.role = role_of(scope, text);
  open.is_plain = scope == wire::OpScope::kFunction && !text.starts_with("autograd::engine::");
  open.names_itself = text.find("::") != std::string_view::npos;
  DCMT_RETURN_IF_ERROR(phases_.op_begin(open.role, open.row.id, stack.size()));
  stack.push_back(open);
  ++journal_.rows.sums().row.operators;
  return {};
}

Status Operators::pop(Stack& stack) {
  Open& top = stack.back();
  top.row.span.to = journal_.now;
  DCMT_RETURN_IF_ERROR(journal_.rows.write(top.row));
  DCMT_RETURN_IF_ERROR(phases_.op_end(top.role, top.row.id));
  stack.pop_back();
  return {};
}

Status Operators::end(const wire::OpRecord& record) {
  const auto ordinal = static_cast<std::int64_t>(record.ordinal);
  const auto thread = threads_.find(journal_.thread);
  if (thread == threads_.end()) return {};
  Stack& stack = thread->second;
  // An end without a begin: the begin was before the recording.
  if (std::none_of(stack.begin(), stack.end(), [&](const Open& open) { return open.row.ordinal == ordinal; }))
    return {};
  while (stack.back().row.ordinal != ordinal) DCMT_RETURN_IF_ERROR(pop(stack));
  return pop(stack);
}

Status Operators::commit() {
  std::erase_if(threads_, [](const auto& thread) { return thread.second.empty(); });  // most of the threads have ended
  for (auto& [thread, stack] : threads_) {
    for (Open& open : stack) {
      if (open.stored) continue;
      DCMT_RETURN_IF_ERROR(journal_.rows.write_open(open.row));
      open.stored = true;
    }
  }
  return {};
}

RowId Operators::running() const {
  const auto thread = threads_.find(journal_.thread);
  return thread == threads_.end() || thread->second.empty() ? 0 : thread->second.back().row.id;
}

RowId Operators::running_elsewhere(RowId name, std::uint64_t ordinal) const {
  RowId found = 0;
  for (const auto& [thread, stack] : threads_) {
    for (const Open& open : stack) {
      if (open.row.name != name || static_cast<std::uint64_t>(open.row.ordinal) != ordinal) continue;
      if (found != 0) return 0;
      found = open.row.id;
    }
  }
  return found;
}

RowId Operators::running_name() const {
  RowId name = 0;
  const auto thread = threads_.find(journal_.thread);
  if (thread == threads_.end()) return name;
  const Stack& stack = thread->second;
  for (auto open = stack.rbegin(); open != stack.rend() && open->is_plain; ++open) {
    if (open->names_itself || name == 0) name = open->row.name;
  }
  return name;
}

}  // namespace dcmt::recorder

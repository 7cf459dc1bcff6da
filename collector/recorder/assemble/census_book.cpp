#include "collector/recorder/assemble/census_book.h"

#include <algorithm>
#include <string>
#include <utility>

#include "collector/recorder/decode/record_view.h"
#include "trace/base/code_path.h"
#include "trace/sql/row_io.h"

namespace dcmt::recorder {
namespace {

// Limits against a damaged spool; real censuses stay far below.
constexpr std::size_t kMaxPendingCensuses = 256;
constexpr std::size_t kMaxPieces = 65536;
/// Limit of the user's source files that made storages in containers.
constexpr std::size_t kMostSources = 32;

std::string_view trigger_text(std::uint32_t trigger) {
  switch (static_cast<wire::CensusTrigger>(trigger)) {
    case wire::CensusTrigger::kRelease:
      return "release";
    case wire::CensusTrigger::kOutOfMemory:
      return "out_of_memory";
    case wire::CensusTrigger::kCall:
      return "call";
  }
  return {};
}

std::string_view holder_text(std::uint32_t kind) {
  switch (static_cast<wire::LocalKind>(kind)) {
    case wire::LocalKind::kLocal:
      return "local";
    case wire::LocalKind::kCell:
      return "cell";
    case wire::LocalKind::kFree:
      return "free";
    case wire::LocalKind::kEvalStack:
      return "eval_stack";
  }
  return {};
}

/// The static text that equals a text from the trace.
std::string census_flags(std::uint32_t flags, bool unstable) {
  std::string text;
  const auto add = [&](bool set, std::string_view name) {
    if (set) (text += text.empty() ? "" : ",") += name;
  };
  add((flags & wire::kCensusUnstable) != 0 || unstable, "unstable");
  add((flags & wire::kCensusOtherThreads) != 0, "other_threads_unseen");
  add((flags & wire::kCensusSharingLossy) != 0, "sharing_lossy");
  return text;
}

std::optional<std::int64_t> positive(std::int64_t value) { return value > 0 ? std::optional(value) : std::nullopt; }

}  // namespace

Status CensusBook::add_piece(std::uint64_t census, std::string_view bytes, RowId resolved) {
  const auto pending = pending_.find(census);
  if (pending == pending_.end()) return {};  // its begin was lost, which is recorded; or its storage is unknown
  if (pending->second.size() >= kMaxPieces) return journal_.bad_record("a census with too many records");
  pending->second.push_back({journal_.now, journal_.thread, resolved, std::string(bytes), false});
  return {};
}

Status CensusBook::begin(std::string_view bytes) {
  const auto record = view_as<wire::CensusRecord>(bytes);
  if (!record || trigger_text(record->header.aux).empty()) return journal_.bad_record("a census's begin");
  const RowId storage = context_.storage(record->storage);
  // Another thread ended it just before, or its first record was lost: a census does not make a storage.
  if (storage == 0) return {};
  while (pending_.size() >= kMaxPendingCensuses) {
    for (const CensusPiece& piece : pending_.begin()->second) {
      if (piece.kept) DCMT_RETURN_IF_ERROR(journal_.state.drop_record(piece.at.seq));
    }
    pending_.erase(pending_.begin());
    DCMT_RETURN_IF_ERROR(journal_.bad_record("a census without an end"));
  }
  if (!pending_.try_emplace(record->census).second) return journal_.bad_record("a census that began twice");
  return add_piece(record->census, bytes, storage);
}

Status CensusBook::tensor(std::string_view bytes) {
  const auto record = view_as<wire::CensusTensorRecord>(bytes);
  if (!record) return journal_.bad_record("a census's tensor");
  return add_piece(record->census, bytes, context_.tensor(record->tensor));
}

Status CensusBook::local(std::string_view bytes) {
  const auto record = view_as<wire::CensusLocalRecord>(bytes);
  if (!record || holder_text(record->header.aux).empty()) return journal_.bad_record("a census's local");
  return add_piece(record->census, bytes, 0);
}

Status CensusBook::end(std::string_view bytes) {
  const auto record = view_as<wire::CensusRecord>(bytes);
  if (!record) return journal_.bad_record("a census's end");
  const auto pending = pending_.find(record->census);
  if (pending == pending_.end()) return {};
  const Pending pieces = std::move(pending->second);
  pending_.erase(pending);
  // Before the edges are made: a local that waits for its code is stored under the same sequence.
  for (const CensusPiece& piece : pieces) {
    if (piece.kept) DCMT_RETURN_IF_ERROR(journal_.state.drop_record(piece.at.seq));
  }
  return assemble(pieces, *record);
}

Status CensusBook::assemble(const Pending& pending, const wire::CensusRecord& end) {
  const CensusPiece& first = pending.front();
  const auto begin = view_as<wire::CensusRecord>(first.bytes);
  const RowId storage = first.resolved;

  const CensusFacts facts = facts_of(pending);
  MarkRow mark;
  mark.id = journal_.ids.mark++;
  mark.kind = "census";
  mark.thread = first.thread;
  mark.graph = begin->graph;
  mark.key = begin->key;
  mark.storage = storage;
  mark.bytes = static_cast<std::int64_t>(begin->bytes);
  mark.ordinal = static_cast<std::int64_t>(begin->ordinal);
  mark.trigger = trigger_text(begin->header.aux);
  if (static_cast<wire::CensusTrigger>(begin->header.aux) == wire::CensusTrigger::kRelease) {
    mark.parent = context_.latest_release(begin->graph, begin->key);
  }
  mark.operator_id = context_.running_operator();
  DCMT_ASSIGN_OR_RETURN(RowId stack, dictionary_.stack(begin->stack));
  mark.stack = stack;
  mark.span = {first.at, journal_.now};

  bool too_many = false;
  for (const CensusEquation& equation : equations_of(*begin, facts)) {
    // More holders than references: something changed during the census.
    too_many = too_many || equation.explained > equation.count;
    SampleRow row;
    row.id = journal_.ids.sample++;
    row.census = mark.id;
    row.subject = equation.subject;
    row.storage = storage;
    row.tensor = equation.tensor;
    row.count = static_cast<std::int64_t>(equation.count);
    row.explained = static_cast<std::int64_t>(std::min(equation.explained, equation.count));
    row.unexplained = row.count - row.explained;
    DCMT_RETURN_IF_ERROR(journal_.rows.write(row));
  }
  if (std::string flags = census_flags(end.header.aux, too_many); !flags.empty()) mark.flags = std::move(flags);
  DCMT_RETURN_IF_ERROR(journal_.rows.write(mark));
  ++count_;

  // Another thread may have ended the storage between begin and end.
  const bool gone = context_.storage(begin->storage) != storage;
  const auto edge = [&](std::string_view held, std::string_view holder, RowId tensor, std::uint64_t object) {
    OpenEdge result;
    result.row.census = mark.id;
    result.row.storage = storage;
    result.row.held = held;
    result.row.holder = holder;
    result.row.tensor = tensor;
    if (object != 0) result.row.object = static_cast<std::int64_t>(object);
    result.row.confidence = "certain";
    result.row.span.from = first.at;
    if (gone) result.row.span.to = journal_.now;
    return result;
  };
  for (const CensusTensor& tensor : facts.tensors) {
    OpenEdge held = edge("storage", "tensor", tensor.row, 0);
    const Point birth = context_.tensor_birth(tensor.record.tensor);
    // The alias has its reference since its birth; in `lifetimes` the birth of a view is recorded from the gather on.
    if (birth.set() && context_.tensor(tensor.record.tensor) == tensor.row) held.row.span.from = birth;
    DCMT_RETURN_IF_ERROR(add_edge(std::move(held)));
    if (tensor.record.python_object != 0) {
      DCMT_RETURN_IF_ERROR(add_edge(edge("tensor", "python_object", tensor.row, tensor.record.python_object)));
    }
    for (const CensusTensor& view : facts.tensors) {
      if (view.record.base != tensor.record.tensor) continue;
      DCMT_RETURN_IF_ERROR(add_edge(edge("tensor", "view", tensor.row, view.record.tensor)));
    }
  }
  if (begin->python_object != 0)
    DCMT_RETURN_IF_ERROR(add_edge(edge("storage", "python_object", 0, begin->python_object)));
  for (const auto& [local, piece] : facts.locals) {
    OpenEdge named = edge("object", holder_text(local.header.aux), facts.tensor_of(local.object), local.object);
    named.row.thread = context_.thread(local.tid);
    named.row.current_line = positive(local.line);
    DCMT_ASSIGN_OR_RETURN(RowId name, dictionary_.string(local.name));
    named.row.name = name;
    named.local = *piece;
    named.resolved = false;
    DCMT_RETURN_IF_ERROR(resolve(named));
    DCMT_RETURN_IF_ERROR(add_edge(std::move(named)));
  }
  return {};
}

void CensusBook::link(const OpenEdge& edge) {
  if (edge.ended()) return;
  if (edge.row.tensor != 0) edges_of_tensor_[edge.row.tensor].push_back(edge.row.id);
  edges_of_storage_[edge.row.storage].push_back(edge.row.id);
}

Status CensusBook::add_edge(OpenEdge edge) {
  edge.row.id = journal_.ids.edge++;
  if (!edge.resolved) {
    DCMT_RETURN_IF_ERROR(journal_.state.keep_record(edge.local.at, edge.local.thread, edge.row.id, edge.local.bytes));
  }
  link(edge);
  new_edges_.push_back(edge.row.id);
  edges_.emplace(edge.row.id, std::move(edge));
  return {};
}

Status CensusBook::resolve(OpenEdge& edge) {
  const auto local = view_as<wire::CensusLocalRecord>(edge.local.bytes);
  const Code* code = dictionary_.code(local->code);
  if (code == nullptr) return {};
  edge.row.file = code->file;
  edge.row.function = code->function;
  DCMT_RETURN_IF_ERROR(sources_.see(code->file, dictionary_.text(code->file_wire)));
  if (static_cast<wire::LocalKind>(local->header.aux) == wire::LocalKind::kEvalStack) {
    edge.resolved = true;  // without a name there is no assignment
    return {};
  }
  return resolve_flow(edge, *local, *code);
}

Status CensusBook::resolve_flow(OpenEdge& edge, const wire::CensusLocalRecord& local, const Code& code) {
  const CodeBodies::Flow found = bodies_.flow(local.code, code.first_line, local.index, local.offset);
  if (!found.flow) return {};
  edge.resolved = found.is_complete;
  const Expected<VariableFlow>& flow = *found.flow;
  if (!flow.ok()) {
    if (!edge.resolved) return {};
    return journal_.diagnose("bytecode", "no assignment of a holder is known: " + flow.error().message);
  }
  edge.row.line.reset();
  for (const int line : flow.value().assignment_lines) {
    if (edge.row.line && local.line > 0 && line > local.line) break;
    edge.row.line = line;
  }
  // All assignments are after the current line: the value came through a loop, from the last one.
  if (edge.row.line && local.line > 0 && *edge.row.line > local.line)
    edge.row.line = flow.value().assignment_lines.back();
  edge.row.delete_line = flow.value().delete_line;
  edge.row.return_line = flow.value().return_line;
  edge.row.assignment = 0;
  if (!edge.row.line) return {};
  if (const auto text = sources_.line(code.file, *edge.row.line)) {
    DCMT_ASSIGN_OR_RETURN(RowId assignment, journal_.writer.intern(*text));
    edge.row.assignment = assignment;
  }
  if (const auto model = sources_.model_of(code.file, *edge.row.line)) {
    edge.row.model_file = model->file;
    edge.row.model_line = model->line;
    edge.row.model_text = model->text;
  }
  return {};
}

Status CensusBook::code_body(std::string_view bytes) {
  DCMT_ASSIGN_OR_RETURN(const bool is_new, bodies_.add(bytes));
  if (is_new) new_codes_.insert(view_as<wire::CodeBodyRecord>(bytes)->code);
  return {};
}

Status CensusBook::source_line(std::string_view bytes) {
  const auto record = view_as<wire::SourceLineRecord>(bytes);
  if (!record) return journal_.bad_record("a source line");
  DCMT_ASSIGN_OR_RETURN(RowId file, dictionary_.string(record->file));
  DCMT_ASSIGN_OR_RETURN(RowId text, dictionary_.string(record->text));
  if (file == 0 || text == 0) return journal_.bad_record("a source line");
  new_lines_.insert(file);
  return sources_.map_line(file, record->header.aux, text, dictionary_.text(record->text));
}

Status CensusBook::analyse_again() {
  if (new_codes_.empty() && new_lines_.empty()) return {};
  std::vector<RowId> done;
  for (auto& [id, edge] : edges_) {
    if (edge.local.bytes.empty()) continue;
    const auto local = view_as<wire::CensusLocalRecord>(edge.local.bytes);
    if (!(new_codes_.contains(local->code) && !edge.resolved) && !new_lines_.contains(edge.row.file)) continue;
    const bool was_resolved = edge.resolved;
    DCMT_RETURN_IF_ERROR(resolve(edge));
    if (edge.resolved && !was_resolved) DCMT_RETURN_IF_ERROR(journal_.state.drop_record(edge.local.at.seq));
    DCMT_RETURN_IF_ERROR(journal_.rows.write(edge.row));
    edge.stored = true;
    if (edge.resolved && edge.ended()) done.push_back(id);
  }
  for (const RowId id : done) edges_.erase(id);
  new_codes_.clear();
  new_lines_.clear();
  return {};
}

Status CensusBook::end_edges(std::unordered_map<RowId, std::vector<RowId>>& by, RowId held) {
  const auto ids = by.find(held);
  if (ids == by.end()) return {};
  for (const RowId id : ids->second) {
    const auto edge = edges_.find(id);
    if (edge == edges_.end() || edge->second.ended()) continue;
    edge->second.row.span.to = journal_.now;
    DCMT_RETURN_IF_ERROR(journal_.rows.write(edge->second.row));
    edge->second.stored = true;
    if (edge->second.resolved) edges_.erase(edge);
  }
  by.erase(ids);
  return {};
}

std::vector<EdgeRow> CensusBook::names_of(RowId storage) const {
  std::vector<EdgeRow> names;
  RowId latest = 0;
  const auto ids = edges_of_storage_.find(storage);
  if (ids == edges_of_storage_.end()) return names;
  for (const RowId id : ids->second) {
    const auto edge = edges_.find(id);
    if (edge == edges_.end() || edge->second.ended() || edge->second.row.census < latest) continue;
    if (edge->second.row.census > latest) names.clear();
    latest = edge->second.row.census;
    if (edge->second.row.held == "object") names.push_back(edge->second.row);
  }
  return names;
}

Status CensusBook::tensor_ended(RowId tensor) { return end_edges(edges_of_tensor_, tensor); }

Status CensusBook::storage_ended(RowId storage) { return end_edges(edges_of_storage_, storage); }

Status CensusBook::commit() {
  DCMT_RETURN_IF_ERROR(analyse_again());
  for (const RowId id : new_edges_) {
    const auto edge = edges_.find(id);
    if (edge == edges_.end() || edge->second.stored) continue;
    DCMT_RETURN_IF_ERROR(journal_.rows.write(edge->second.row));
    edge->second.stored = true;
    if (edge->second.resolved && edge->second.ended()) edges_.erase(edge);
  }
  new_edges_.clear();
  for (auto& [census, pieces] : pending_) {
    for (CensusPiece& piece : pieces) {
      if (piece.kept) continue;
      piece.kept = true;
      DCMT_RETURN_IF_ERROR(journal_.state.keep_record(piece.at, piece.thread, piece.resolved, piece.bytes));
    }
  }
  return {};
}

Status CensusBook::see_sources(const std::set<std::string>& files) {
  std::size_t seen = 0;
  for (const std::string& file : files) {
    if (is_library_file(file) || file.find("-packages/") != std::string::npos) continue;
    if (++seen > kMostSources) break;
    DCMT_ASSIGN_OR_RETURN(const RowId path, journal_.writer.intern(file));
    DCMT_RETURN_IF_ERROR(sources_.see(path, file));
  }
  return {};
}

Status CensusBook::see_sources_of_held(const std::set<std::string>& others) {
  // The reading names a growing list, and the source code has the statement that fills it.
  std::vector<std::pair<RowId, std::string>> files;
  DCMT_RETURN_IF_ERROR(each_row(journal_.writer.database(),
                                "WITH RECURSIVE made(stack) AS (SELECT DISTINCT storage.stack FROM held_in JOIN "
                                "storage ON storage.id = held_in.storage UNION SELECT DISTINCT stack FROM count_change"
                                " UNION SELECT stack.parent FROM made JOIN stack ON stack.id = made.stack)"
                                " SELECT DISTINCT string.id, text FROM made JOIN stack ON stack.id = made.stack JOIN "
                                "frame ON frame.id = stack.frame"
                                " JOIN string ON string.id = frame.file ORDER BY string.id",
                                [&](const Statement& row) { files.emplace_back(row.integer(0), row.text(1)); }));
  std::erase_if(files, [](const auto& each) {
    return is_library_file(each.second) || each.second.find("-packages/") != std::string::npos;
  });
  if (files.size() > kMostSources) files.resize(kMostSources);
  for (const auto& [path, text] : files) DCMT_RETURN_IF_ERROR(sources_.see(path, text));
  return files.empty() ? Status{} : see_sources(others);
}

Status CensusBook::finish() {
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    DCMT_RETURN_IF_ERROR(journal_.bad_record("a census without an end"));
  }
  pending_.clear();
  return commit();
}

Status CensusBook::replay(CensusPiece piece) {
  const auto header = view_as<wire::RecordHeader>(piece.bytes);
  if (!header) return {};
  piece.kept = true;
  switch (header->type) {
    case wire::RecordType::kCodeBody:
      bodies_.add_again(piece.bytes);
      return {};
    case wire::RecordType::kCensusBegin: {
      const auto record = view_as<wire::CensusRecord>(piece.bytes);
      if (record) pending_[record->census].push_back(std::move(piece));
      return {};
    }
    case wire::RecordType::kCensusTensor: {
      const auto record = view_as<wire::CensusTensorRecord>(piece.bytes);
      if (record && pending_.contains(record->census)) pending_[record->census].push_back(std::move(piece));
      return {};
    }
    case wire::RecordType::kCensusLocal: {
      const auto record = view_as<wire::CensusLocalRecord>(piece.bytes);
      if (!record) return {};
      if (piece.resolved == 0) {
        if (pending_.contains(record->census)) pending_[record->census].push_back(std::move(piece));
      } else if (const auto edge = edges_.find(piece.resolved); edge != edges_.end()) {
        edge->second.local = std::move(piece);
        edge->second.resolved = false;
      }
      return {};
    }
    default:
      return {};
  }
}

Status CensusBook::load_edges() {
  return each_row_of<EdgeRow>(journal_.writer.database(),
                              "WHERE to_seq IS NULL OR id IN (SELECT resolved FROM wire_record)",
                              [this](const EdgeRow& row) {
                                OpenEdge edge;
                                edge.row = row;
                                edge.stored = true;
                                link(edge);
                                edges_.emplace(row.id, std::move(edge));
                              });
}

Status CensusBook::resume() {
  DCMT_RETURN_IF_ERROR(sources_.resume());
  DCMT_RETURN_IF_ERROR(load_edges());
  DCMT_RETURN_IF_ERROR(
      journal_.state.each_record([this](const Point& at, std::uint32_t thread, RowId resolved, std::string_view bytes) {
        return replay({at, thread, resolved, std::string(bytes), true});
      }));
  new_codes_.clear();  // everything that was available at the commit was analysed
  return {};
}

}  // namespace dcmt::recorder

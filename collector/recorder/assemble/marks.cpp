#include "collector/recorder/assemble/marks.h"

#include <algorithm>
#include <optional>
#include <string>

#include "collector/recorder/decode/dtypes.h"
#include "collector/recorder/keep/saturating_sum.h"
#include "trace/sql/row_io.h"

namespace dcmt::recorder {
namespace {

std::string_view kind_text(std::uint32_t kind) {
  switch (static_cast<wire::MarkKind>(kind)) {
    case wire::MarkKind::kUser:
      return "user";
    case wire::MarkKind::kStep:
      return "step";
    case wire::MarkKind::kPhase:
      return "phase";
  }
  return {};
}

std::optional<std::string> flags_text(std::uint32_t flags, bool metadata_only) {
  std::string text;
  const auto add = [&](bool set, std::string_view name) {
    if (set) (text += text.empty() ? "" : ",") += name;
  };
  add((flags & wire::kKeyFinal) != 0, "final");
  add((flags & wire::kKeyPersistent) != 0, "persistent");
  add((flags & wire::kKeyMismatch) != 0, "mismatch");
  add((flags & wire::kKeyNoGather) != 0, "no_gather");
  add((flags & wire::kKeyExplicit) != 0, "explicit");
  add((flags & wire::kKeyUnwound) != 0, "unwound");
  add((flags & wire::kKeyFunction) != 0, "function");
  add((flags & wire::kKeyNotSettled) != 0, "not_settled");
  add((flags & wire::kKeyUntracked) != 0, "untracked");
  add(metadata_only, "metadata_only");
  if (text.empty()) return std::nullopt;
  return text;
}

/// A kind of mark, and its flag: why a fence was not placed, or how it was touched.
struct FenceMark {
  std::string_view kind, flag;
};
constexpr FenceMark kFenceMarks[] = {
    {"fence", {}},       {"fence", "foreign"},     {"fence", "gpu"},          {"fence", "refused"},
    {"fence_touch", {}}, {"fence_touch", "write"}, {"fence_touch", "unseen"}, {"poison", {}},
    {"result", {}}};
static_assert(std::size(kFenceMarks) == static_cast<std::size_t>(wire::FenceEvent::kResult) + 1);

/// Bytes of the key's storage; a dead one has none. nullopt: it is untracked.
std::optional<std::int64_t> bytes_now(const wire::KeyRecord& record) {
  if ((record.header.aux & wire::kKeyUntracked) != 0) return std::nullopt;
  return (record.header.aux & wire::kKeyStorageDead) != 0 ? 0 : static_cast<std::int64_t>(record.bytes);
}

/// Empty: unknown.
std::string_view dtype_of(const wire::KeyRecord& record) {
  const std::uint32_t number = record.header.aux >> wire::kKeyDtypeShift;
  return number != 0 ? dtype_name(number - 1) : std::string_view();
}

/// True for a release that should have ended the storage.
bool is_final(const MarkRow& release) {
  const auto has = [&](std::string_view flag) {
    return release.flags && release.flags->find(flag) != std::string::npos;
  };
  return has("final") && !has("persistent") && !has("no_gather");
}

}  // namespace

Status Marks::resume() {
  Database& database = journal_.writer.database();
  DCMT_RETURN_IF_ERROR(key_sums_.resume(journal_.writer));
  DCMT_RETURN_IF_ERROR(
      each_row_of<MarkRow>(database, "WHERE kind = 'release' ORDER BY id", [this](const MarkRow& mark) {
        Open open{mark, false, true};
        const ReleaseKey key = release_key(mark);
        latest_[{std::get<1>(key), std::get<2>(key)}] = mark.id;
        if (!mark.span.to.set()) {
          running_.insert_or_assign(key, std::move(open));
        } else if (!mark.settled.set()) {
          unsettled_.insert_or_assign(key, std::move(open));
        } else {
          unsettled_.erase(key);
        }
      }));
  for (auto& [key, open] : running_) {
    DCMT_RETURN_IF_ERROR(
        each_row(database,
                 "SELECT count(*) FROM mark WHERE kind = 'repoint' AND thread = " + std::to_string(std::get<0>(key)) +
                     " AND storage = " + std::to_string(open.row.storage) + " AND from_seq > " +
                     std::to_string(open.row.span.from.seq),
                 [&open = open](const Statement& row) { open.repointed = row.integer(0) > 0; }));
  }
  std::unordered_map<RowId, std::uint64_t> wires;
  DCMT_RETURN_IF_ERROR(journal_.state.each_id([&](WireIdKind kind, std::uint64_t wire, RowId id) {
    if (kind == WireIdKind::kMark) wires.emplace(id, wire);
  }));
  if (wires.empty()) return {};
  return each_row_of<MarkRow>(database, "WHERE to_seq IS NULL", [&](const MarkRow& mark) {
    if (const auto wire = wires.find(mark.id); wire != wires.end()) {
      marks_.emplace(wire->second, Open{mark, false, true});
    }
  });
}

Expected<MarkRow> Marks::row_here(std::string_view kind, std::uint64_t name, std::uint64_t stack) {
  DCMT_ASSIGN_OR_RETURN(RowId name_row, dictionary_.string(name));
  DCMT_ASSIGN_OR_RETURN(Place place, lifetimes_.place(stack));
  MarkRow row;
  row.kind = kind;
  row.name = name_row;
  row.thread = place.thread;
  row.operator_id = place.operator_id;
  row.stack = place.stack;
  row.span.from = journal_.now;
  return row;
}

Expected<MarkRow> Marks::mark_row(const wire::MarkRecord& record) {
  Expected<MarkRow> row = row_here(kind_text(record.header.aux), record.name, record.stack);
  if (!row.ok()) return row;
  if (static_cast<wire::MarkKind>(record.header.aux) == wire::MarkKind::kStep) row->value = record.value;
  return row;
}

Status Marks::begin(const wire::MarkRecord& record) {
  constexpr std::size_t kMaxOpenMarks = 65536;
  if (kind_text(record.header.aux).empty() || record.id == 0 || marks_.contains(record.id) ||
      marks_.size() >= kMaxOpenMarks) {
    return journal_.bad_record("a mark's begin");
  }
  if (static_cast<wire::MarkKind>(record.header.aux) == wire::MarkKind::kStep) {
    DCMT_RETURN_IF_ERROR(phases_.explicit_steps_only());
    DCMT_RETURN_IF_ERROR(journal_.rows.end_interval(std::nullopt, journal_.now));
  }
  DCMT_ASSIGN_OR_RETURN(MarkRow row, mark_row(record));
  row.id = journal_.ids.mark++;
  marks_.emplace(record.id, Open{std::move(row), false, false});
  return {};
}

Status Marks::end(const wire::MarkRecord& record) {
  const auto mark = marks_.find(record.id);
  if (mark == marks_.end()) return {};
  Open& open = mark->second;
  open.row.span.to = journal_.now;
  DCMT_RETURN_IF_ERROR(journal_.rows.write(open.row));
  if (open.stored) DCMT_RETURN_IF_ERROR(journal_.state.remove_id(WireIdKind::kMark, record.id, open.row.id));
  const std::optional<std::int64_t> step = open.row.kind == "step" ? open.row.value : std::nullopt;
  marks_.erase(mark);
  return step ? journal_.rows.end_interval(step, journal_.now) : Status{};
}

Status Marks::point(const wire::MarkRecord& record) {
  if (kind_text(record.header.aux).empty()) return journal_.bad_record("a mark");
  DCMT_ASSIGN_OR_RETURN(MarkRow row, mark_row(record));
  if (static_cast<wire::MarkKind>(record.header.aux) == wire::MarkKind::kStep) {
    return phases_.explicit_step(record.value, row.name, row.stack, row.operator_id);
  }
  row.id = journal_.ids.mark++;
  row.span.to = journal_.now;
  return journal_.rows.write(row);
}

Expected<MarkRow> Marks::key_row(std::string_view kind, const wire::KeyRecord& record) {
  const bool gone = (record.header.aux & (wire::kKeyStorageDead | wire::kKeyUntracked)) != 0;
  DCMT_ASSIGN_OR_RETURN(RowId storage, lifetimes_.find_or_begin_storage(gone ? 0 : record.storage, record.data,
                                                                        record.bytes, record.stack));
  Expected<MarkRow> row = row_here(kind, record.op, record.stack);
  if (!row.ok()) return row;
  row->graph = record.graph;
  row->key = record.key;
  row->cycle = static_cast<std::int64_t>(record.cycle);
  row->storage = storage;
  row->tensor = lifetimes_.tensor(record.tensor);
  row->bytes = bytes_now(record);
  if (const std::string_view dtype = dtype_of(record); !dtype.empty()) {
    DCMT_ASSIGN_OR_RETURN(RowId name, journal_.writer.intern(dtype));
    row->dtype = name;
  }
  row->flags = flags_text(record.header.aux, false);
  row->ordinal = static_cast<std::int64_t>(record.ordinal);
  return row;
}

Status Marks::key_point(std::string_view kind, const wire::KeyRecord& record) {
  DCMT_ASSIGN_OR_RETURN(MarkRow row, key_row(kind, record));
  row.id = journal_.ids.mark++;
  row.span.to = journal_.now;
  return journal_.rows.write(row);
}

Status Marks::parameter(const wire::ParameterRecord& record) {
  if (record.mechanism == 0) return journal_.bad_record("a parameter");
  DCMT_ASSIGN_OR_RETURN(RowId name, dictionary_.string(record.name));
  DCMT_ASSIGN_OR_RETURN(RowId mechanism, dictionary_.string(record.mechanism));
  return journal_.writer.write(ParameterRow{record.graph, record.key, name, mechanism});
}

Status Marks::operator_alias(const wire::OperatorAliasRecord& record) {
  if (record.name == 0 || record.schema == 0) return journal_.bad_record("an operator's aliases");
  DCMT_ASSIGN_OR_RETURN(RowId name, dictionary_.string(record.name));
  DCMT_ASSIGN_OR_RETURN(RowId schema, dictionary_.string(record.schema));
  return journal_.writer.write(OperatorAliasRow{static_cast<RowId>(record.header.seq), name, schema,
                                                static_cast<std::int64_t>(record.declared),
                                                static_cast<std::int64_t>(record.observed)});
}

Status Marks::gather(const wire::KeyRecord& record) {
  training_threads_.insert(journal_.thread);
  ++key_sums_.of(record.graph, record.key).gathers;
  residual_.erase({record.graph, record.key});
  fenced_.erase(lifetimes_.storage(record.storage));
  return key_point("gather", record);
}

Status Marks::wait(const wire::KeyRecord& record) {
  residual_.erase({record.graph, record.key});
  return key_point("wait", record);
}

Status Marks::persist(const wire::KeyRecord& record) { return key_point("persist", record); }

Status Marks::drop(Releases& releases, Releases::iterator release) {
  Open open = std::move(release->second);
  releases.erase(release);
  if (open.stored) return {};
  return journal_.rows.write(open.row);
}

Status Marks::release_begin(const wire::KeyRecord& record) {
  if (const auto before = running_.find(release_key(record)); before != running_.end()) {
    // Its end was lost.
    before->second.row.span.to = journal_.now;
    before->second.stored = false;
    DCMT_RETURN_IF_ERROR(drop(running_, before));
  }
  DCMT_ASSIGN_OR_RETURN(MarkRow row, key_row("release", record));
  row.id = journal_.ids.mark++;
  row.declared = record.declared;
  latest_[{record.graph, record.key}] = row.id;
  running_.emplace(release_key(record), Open{std::move(row), false, false});
  return {};
}

Status Marks::release(const wire::KeyRecord& record) {
  const ReleaseKey key = release_key(record);
  if (!running_.contains(key)) {
    // The begin was lost: the storage's earlier bytes are unknown.
    DCMT_RETURN_IF_ERROR(release_begin(record));
    running_[key].row.bytes.reset();
  }
  Open open = std::move(running_[key]);
  running_.erase(key);
  MarkRow& row = open.row;
  row.span.to = journal_.now;
  row.bytes_after = bytes_now(record);
  row.declared = record.declared;
  row.remaining = record.remaining;
  row.cycle = static_cast<std::int64_t>(record.cycle);
  row.flags =
      flags_text(record.header.aux, open.repointed && row.bytes && *row.bytes > 0 && row.bytes_after == row.bytes);
  open.stored = false;
  KeySumRow& sum = key_sums_.of(record.graph, record.key);
  ++sum.releases;
  if (is_final(row)) {
    ++sum.final;
    ++journal_.rows.sums().row.releases;
  }
  if (const auto before = unsettled_.find(key); before != unsettled_.end()) {
    DCMT_RETURN_IF_ERROR(drop(unsettled_, before));
  }
  unsettled_.emplace(key, std::move(open));
  return {};
}

Status Marks::release_settled(const wire::KeyRecord& record) {
  training_threads_.insert(journal_.thread);
  const auto release = unsettled_.find(release_key(record));
  if (release == unsettled_.end()) return {};
  MarkRow& row = release->second.row;
  row.bytes_settled = bytes_now(record);
  row.settled = journal_.now;
  const bool shared = (record.header.aux & wire::kKeyShared) != 0;
  if (shared) row.flags = row.flags.value_or("") + (row.flags ? ",shared" : "shared");
  if (is_final(row) && !shared && row.bytes_settled.value_or(0) > 0) {
    KeySumRow& sum = key_sums_.of(record.graph, record.key);
    ++sum.residual;
    sum.residual_bytes = saturating_sum(sum.residual_bytes, *row.bytes_settled);
    IntervalRow& interval = journal_.rows.sums().row;
    ++interval.residual;
    interval.residual_bytes = saturating_sum(interval.residual_bytes, *row.bytes_settled);
    journal_.rows.see_finding(FindingKind::kResidual, record.graph, record.key);
    residual_[{record.graph, record.key}] = row.storage;
    if (row.storage != 0) left_[row.storage] = {record.graph, record.key, *row.bytes_settled, journal_.now};
  }
  release->second.stored = false;
  return drop(unsettled_, release);
}

Status Marks::read(const wire::ReadRecord& record) {
  DCMT_ASSIGN_OR_RETURN(MarkRow row, row_here("read", record.op, record.stack));
  const bool by_kernel = (record.header.aux & wire::kReadByKernel) != 0;
  const bool overwrites = (record.header.aux & wire::kReadOverwrites) != 0;
  KeySumRow& sum = key_sums_.of(record.graph, record.key);
  if (by_kernel) {
    DCMT_ASSIGN_OR_RETURN(const RowId name, dictionary_.kernel_name(record.op));
    row.name = name;
    row.flags = "kernel";
    ++sum.kernel_reads;
  } else if (overwrites) {
    row.kind = "write";
  } else {
    ++sum.reads;
    if (record.bytes == 0) ++sum.empty_reads;
  }
  residual_.erase({record.graph, record.key});
  if (!overwrites) journal_.rows.see_finding(FindingKind::kReadAfterRelease, record.graph, record.key);
  row.id = journal_.ids.mark++;
  row.graph = record.graph;
  row.key = record.key;
  row.storage = lifetimes_.storage(record.storage);
  row.tensor = lifetimes_.tensor(record.tensor);
  row.bytes = static_cast<std::int64_t>(record.bytes);
  row.ordinal = static_cast<std::int64_t>(record.ordinal);
  row.parent = latest_release(record.graph, record.key);
  row.span.to = journal_.now;
  return journal_.rows.write(row);
}

Status Marks::fence(const wire::FenceRecord& record) {
  if (record.header.aux >= std::size(kFenceMarks)) return journal_.bad_record("a fence");
  const auto event = static_cast<wire::FenceEvent>(record.header.aux);
  const auto [kind, flag] = kFenceMarks[record.header.aux];
  const bool touched = kind == "fence_touch";
  DCMT_ASSIGN_OR_RETURN(MarkRow row, row_here(kind, record.op, record.stack));
  row.id = journal_.ids.mark++;
  if (touched && row.operator_id == 0 && row.name != 0) {
    row.operator_id = lifetimes_.operator_elsewhere(row.name, record.ordinal);
  }
  if (event != wire::FenceEvent::kTouchUnseen && event != wire::FenceEvent::kResult) {
    row.graph = record.graph;
    row.key = record.key;
    row.storage = lifetimes_.storage(record.storage);
    const RowId release = latest_release(record.graph, record.key);
    // The parameter may have been gathered and released again since, into another storage.
    const auto fenced = fenced_.find(row.storage);
    row.parent = touched && fenced != fenced_.end() ? fenced->second : release;
    if (!touched) fenced_[row.storage] = release;
  }
  row.bytes = static_cast<std::int64_t>(record.bytes);
  row.value = static_cast<std::int64_t>(record.open);
  row.ordinal = static_cast<std::int64_t>(record.ordinal);
  if (!flag.empty()) row.flags = flag;
  row.span.to = journal_.now;
  return journal_.rows.write(row);
}

Status Marks::launches(const wire::LaunchesRecord& record) {
  const auto number = [](std::uint64_t count) { return static_cast<std::int64_t>(count); };
  return journal_.rows.write(LaunchesRow{journal_.now.seq, journal_.now.ns, record.header.aux != 0,
                                         number(record.calls), number(record.graphs), number(record.nccl),
                                         number(record.unknown), number(record.copies)});
}

Status Marks::last_touch(const wire::LastTouchRecord& record, std::int64_t ns) {
  DCMT_ASSIGN_OR_RETURN(MarkRow row, row_here("touch", record.op, 0));
  DCMT_ASSIGN_OR_RETURN(const RowId name, dictionary_.kernel_name(record.op));
  row.id = journal_.ids.mark++;
  row.name = name;
  row.graph = record.graph;
  row.key = record.key;
  row.storage = lifetimes_.storage(record.storage);
  row.value = static_cast<std::int64_t>(record.touches);
  row.span.from.ns = std::clamp<std::int64_t>(ns, 0, journal_.now.ns);
  row.span.to = journal_.now;
  return journal_.rows.write(row);
}

void Marks::repointed(RowId old_storage) {
  if (old_storage == 0) return;
  for (auto& [key, open] : running_) {
    if (std::get<0>(key) == journal_.thread && open.row.storage == old_storage) open.repointed = true;
  }
}

void Marks::bytes_go(RowId storage) {
  const auto found = left_.find(storage);
  if (found == left_.end()) return;
  const Left left = found->second;
  left_.erase(found);
  const std::uint32_t thread = journal_.thread;
  if (training_threads_.contains(thread) || phases_.runs_backwards(thread) || !phases_.is_recent(left.settled)) return;
  KeySumRow& sum = key_sums_.of(left.graph, left.key);
  --sum.residual;
  sum.residual_bytes -= left.bytes;
  IntervalRow& interval = journal_.rows.sums().row;
  if (left.settled.seq <= interval.span.from.seq) return;  // its interval has ended
  --interval.residual;
  interval.residual_bytes -= left.bytes;
}

std::set<RowId> Marks::residual_storages() const {
  std::set<RowId> storages;
  for (const auto& [key, storage] : residual_) {
    if (storage != 0) storages.insert(storage);
  }
  return storages;
}

RowId Marks::latest_release(std::int64_t graph, std::int64_t key) const {
  const auto latest = latest_.find({graph, key});
  return latest != latest_.end() ? latest->second : 0;
}

Status Marks::commit_open(Open& open) {
  if (open.stored) return {};
  open.stored = true;
  return open.row.kind == "release" ? journal_.rows.write(open.row) : journal_.rows.write_open(open.row);
}

Status Marks::commit() {
  for (auto& [wire, open] : marks_) {
    if (!open.stored) DCMT_RETURN_IF_ERROR(journal_.state.add_id(WireIdKind::kMark, wire, open.row.id));
    DCMT_RETURN_IF_ERROR(commit_open(open));
  }
  for (auto& [key, open] : running_) DCMT_RETURN_IF_ERROR(commit_open(open));
  for (auto& [key, open] : unsettled_) DCMT_RETURN_IF_ERROR(commit_open(open));
  return key_sums_.commit(journal_.writer);
}

}  // namespace dcmt::recorder

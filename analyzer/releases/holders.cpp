#include "analyzer/releases/holders.h"

#include <algorithm>

#include "analyzer/load/optional_text.h"
#include "analyzer/storages/stacks.h"

namespace dcmt::analyzer {
namespace {

bool names_a_variable(HolderKind kind) {
  return kind == HolderKind::kLocal || kind == HolderKind::kCell || kind == HolderKind::kFree ||
         kind == HolderKind::kEvalStack;
}

constexpr std::string_view kAtError = "out_of_memory";  // the trigger of a census

HolderPath& path_for(const TraceData& data, const Edge& edge, std::vector<HolderPath>& paths) {
  for (HolderPath& path : paths) {
    if (path.function_id == edge.function && path.file_id == edge.file && path.object == edge.object &&
        path.thread == edge.thread && path.current_line == edge.current_line) {
      return path;
    }
  }
  HolderPath path;
  path.function_id = edge.function;
  path.file_id = edge.file;
  path.function = text_of(data, edge.function);
  path.file = text_of(data, edge.file);
  path.generated = is_generated_file(data, edge.file);
  path.object = edge.object;
  path.tensor = given(edge.tensor);
  path.thread = edge.thread;
  path.current_line = edge.current_line;
  path.certain = true;
  path.held_since_at_most = {edge.span.from_seq, edge.span.from_ns};
  paths.push_back(path);
  return paths.back();
}

void add_edge(const TraceData& data, const Edge& edge, std::vector<HolderPath>& paths) {
  HolderPath& path = path_for(data, edge, paths);
  path.names.push_back(
      {edge.id, edge.holder, text_of(data, edge.name), text_of(data, edge.assignment), edge.line, edge.delete_line});
  path.certain = path.certain && edge.certain;
  if (!path.return_line) path.return_line = edge.return_line;
  if (!path.model_file) {
    path.model_file = text_of(data, edge.model_file);
    path.model_line = edge.model_line;
    path.model_text = text_of(data, edge.model_text);
  }
}

}  // namespace

bool HolderPath::kept_to_return() const {
  return std::any_of(names.begin(), names.end(), [](const HolderName& name) {
    return name.kind == HolderKind::kLocal && name.name && !name.delete_line;
  });
}

std::vector<CountSum> Holders::sums() const {
  std::vector<CountSum> sums;
  for (const Subject subject : {Subject::kStorage, Subject::kTensor, Subject::kObject}) {
    CountSum sum;
    sum.subject = subject;
    for (const Count& count : counts) {
      if (count.subject != subject) continue;
      ++sum.number;
      sum.count += count.count;
      sum.explained += count.explained;
      sum.unexplained += count.unexplained;
    }
    if (sum.number > 0) sums.push_back(sum);
  }
  return sums;
}

std::int64_t Holders::unexplained() const {
  std::int64_t sum = 0;
  for (const Count& count : counts) sum += count.unexplained;
  return sum;
}

bool Holders::at_error() const { return trigger == kAtError; }

bool Holders::certain() const {
  return unexplained() == 0 && !counts.empty() && !census->flags.unstable && !census->flags.sharing_lossy &&
         std::all_of(paths.begin(), paths.end(), [](const HolderPath& path) { return path.certain; });
}

Holders holders_of(const TraceData& data, const Mark& census, StorageId storage) {
  Holders holders;
  holders.census = &census;
  holders.trigger = text_of(data, census.trigger);
  for (const Edge* edge : data.edges_by_census.of(census.id)) {
    if (edge->storage != storage) continue;
    holders.edges.push_back(edge->id);
    if (names_a_variable(edge->holder)) add_edge(data, *edge, holders.paths);
    if (edge->holder == HolderKind::kTensor) holders.tensors.push_back(edge->tensor);
  }
  for (const Sample* sample : data.samples_by_census.of(census.id)) {
    if (sample->storage.valid() && sample->storage != storage) continue;
    holders.counts.push_back(
        {sample->id, sample->subject, given(sample->tensor), sample->count, sample->explained, sample->unexplained});
  }
  std::stable_sort(holders.paths.begin(), holders.paths.end(), [](const HolderPath& a, const HolderPath& b) {
    return (a.generated && a.kept_to_return()) > (b.generated && b.kept_to_return());
  });
  return holders;
}

std::optional<Holders> holders_of_release(const TraceData& data, const Mark& release) {
  for (const Mark* mark : data.marks_by_parent.of(release.id)) {
    if (mark->kind == MarkKind::kCensus) return holders_of(data, *mark, release.storage);
  }
  return std::nullopt;
}

std::optional<Holders> holders_at_error(const TraceData& data, StorageId storage, Sequence error) {
  for (const Mark* mark : data.marks_by_storage.of(storage)) {
    const bool at_error = mark->kind == MarkKind::kCensus && data.text(mark->trigger) == kAtError;
    if (at_error && mark->span.from_seq > error) return holders_of(data, *mark, storage);
  }
  return std::nullopt;
}

std::string_view name_of(HolderKind kind) {
  switch (kind) {
    case HolderKind::kTensor:
      return "tensor";
    case HolderKind::kPythonObject:
      return "python_object";
    case HolderKind::kLocal:
      return "local";
    case HolderKind::kCell:
      return "cell";
    case HolderKind::kFree:
      return "free";
    case HolderKind::kEvalStack:
      return "eval_stack";
    case HolderKind::kView:
      return "view";
    case HolderKind::kOther:
      break;
  }
  return "other";
}

std::string_view name_of(Subject subject) {
  switch (subject) {
    case Subject::kStorage:
      return "storage";
    case Subject::kTensor:
      return "tensor";
    case Subject::kObject:
      break;
  }
  return "object";
}

}  // namespace dcmt::analyzer

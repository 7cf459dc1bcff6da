#include <algorithm>

#include "analyzer/model/views.h"
#include "analyzer/releases/late.h"
#include "analyzer/storages/parameters.h"
#include "trace/base/shell_words.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::model {
namespace {

using analyzer::Analysis;
using analyzer::EndedBy;
using What = StoryEvent::What;

StoryEvent event_of_mark(const TraceData& data, const analyzer::Mark& mark) {
  StoryEvent event;
  event.what = What::kMark;
  event.at = begin_of(mark.span);
  event.by = actor_of(data, mark.by);
  event.kind = mark.kind;
  event.name = data.text(mark.name);
  event.key = mark.key;
  if (mark.key && mark.key->graph != 0) event.graph_name = analyzer::describe_graph(data, mark.key->graph);
  event.final = mark.flags.final;
  event.by_kernel = mark.flags.kernel;
  event.uses_left = mark.remaining.value_or(0);
  event.bytes = mark.bytes;
  event.bytes_after = mark.bytes_after;
  event.lasted = TimeNs(mark.span.to_ns.value - mark.span.from_ns.value);
  return event;
}

StoryEvent event_of(const TraceData& data, What what, RunPoint at, const analyzer::Actor& by,
                    std::optional<Bytes> bytes) {
  StoryEvent event;
  event.what = what;
  event.at = at;
  event.by = actor_of(data, by);
  event.bytes = bytes;
  return event;
}

std::vector<StoryEvent> events_of(const TraceData& data, const analyzer::StorageStory& story) {
  const analyzer::Storage& storage = *story.storage;
  std::vector<StoryEvent> events;
  events.push_back(event_of(data, storage.first_seen ? What::kFirstSeen : What::kBorn, begin_of(storage.span),
                            storage.birth, storage.bytes));
  for (const analyzer::Mark* mark : story.marks) events.push_back(event_of_mark(data, *mark));
  for (const analyzer::Resize& resize : story.resizes) {
    events.push_back(event_of(data, What::kMark, {resize.seq, resize.ns}, resize.by, resize.bytes));
    events.back().kind = analyzer::MarkKind::kResize;
  }
  if (const auto end = end_of(storage.span)) {
    events.push_back(event_of(data, What::kLastReference, *end, storage.end, std::nullopt));
  }
  for (const analyzer::Block* block : story.blocks) {
    events.push_back(event_of(data, What::kBlockAllocated, begin_of(block->span), block->birth, block->bytes));
    if (const auto end = end_of(block->span)) {
      events.push_back(event_of(data, What::kBlockFreed, *end, block->end, block->bytes));
    }
  }
  std::ranges::stable_sort(events, {}, [](const StoryEvent& event) { return event.at.seq; });
  const std::int64_t start = data.meta_integer(meta::kStartNs).value_or(0);
  for (StoryEvent& event : events) event.after_start = TimeNs(event.at.ns.value - start);
  return events;
}

/// A path that a later reading confirmed counts only once.
std::vector<StoryOwner> owners_of(const TraceData& data, StorageId storage) {
  std::vector<StoryOwner> owners;
  for (const analyzer::OwnerPath& path : data.owners.paths_to(storage)) {
    const std::string_view text = data.text(path.path);
    const auto same = std::ranges::find(owners, text, &StoryOwner::path);
    StoryOwner& owner = same != owners.end() ? *same : owners.emplace_back(StoryOwner{text, {}, false});
    if (path.place.valid()) owner.place = data.text(path.place);
    owner.confirmed |= path.confirmed;
  }
  return owners;
}

}  // namespace

Expected<StorageView> storage_view(const std::string& path, const Analysis& analysis, StorageId id) {
  const TraceData& data = *analysis.data;
  const auto story = analyzer::storage_story(data, analysis.releases, id);
  if (!story) {
    return Error{ErrorCode::kUsage, path + ": no storage " + std::to_string(id.value) +
                                        ". Ids are in the last column of: dc-memtrace show releases " +
                                        shell_word(path)};
  }
  const analyzer::Storage& storage = *story->storage;
  StorageView view;
  view.path = path;
  view.rank = analysis.facts.rank;
  view.storage = storage.id;
  view.bytes_at_birth = storage.bytes;
  view.birth_is_first_sight = storage.first_seen;
  view.born = begin_of(storage.span);
  view.born_by = actor_of(data, storage.birth);
  view.last_reference_gone = end_of(storage.span);
  if (storage.span.ended()) view.last_reference_gone_by = actor_of(data, storage.end);
  view.bytes_gone = gone_of(data, story->gone);
  view.ended_by = story->ended_by;
  for (const analyzer::Block* block : story->blocks) {
    view.blocks.push_back({block->id, block->bytes, begin_of(block->span), end_of(block->span)});
  }
  for (const analyzer::Tensor* tensor : story->tensors) {
    view.tensors.push_back({tensor->id, given(tensor->object), begin_of(tensor->span), end_of(tensor->span),
                            actor_of(data, tensor->birth)});
  }
  for (const analyzer::ReleaseRow* row : story->releases) view.releases.emplace_back(data, *row);
  view.censuses = story->censuses;
  view.owners = owners_of(data, storage.id);
  view.references = reference_story(data, storage.id);
  view.gathered = analyzer::is_gathered(data, storage.id);
  view.events = events_of(data, *story);
  const analyzer::ReleaseRow* final = story->final_release;
  if (story->ended_by == EndedBy::kLastReference && final != nullptr && story->gone->seq() > final->at()) {
    view.held_for = TimeNs(story->gone->ns().value - final->at_ns().value);
    if (final->let_go_by != analyzer::kNoThread) view.let_go_by = analyzer::describe_thread(data, final->let_go_by);
  }
  return view;
}

}  // namespace dcmt::model

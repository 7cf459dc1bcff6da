#include "analyzer/releases/storage_story.h"

#include <algorithm>

namespace dcmt::analyzer {
namespace {

/// The last event that left the storage without bytes, for good.
Maybe<Gone> gone_for_good(const TraceData& data, const Storage& storage) {
  Maybe<Gone> last;
  Sequence from = storage.span.from_seq;
  while (const Maybe<Gone> gone = first_gone(data, storage, from)) {
    // The end of a storage that was already empty freed no bytes.
    if (!last || bytes_at(data, storage, last->seq()).value > 0) last = gone;
    from = gone->seq();
  }
  if (last && bytes_at(data, storage, last->seq()).value > 0) return std::nullopt;
  return last;
}

EndedBy ended_by(const StorageStory& story) {
  if (!story.gone) return EndedBy::kAlive;
  if (story.final_release != nullptr && story.gone->seq() >= story.final_release->mark->span.from_seq &&
      story.gone->seq() <= story.final_release->at()) {
    return EndedBy::kRelease;
  }
  const bool with_references = story.storage->span.ended() && story.storage->span.to_seq <= story.gone->seq();
  return with_references ? EndedBy::kLastReference : EndedBy::kOther;
}

}  // namespace

std::optional<StorageStory> storage_story(const TraceData& data, const Releases& releases, StorageId id) {
  StorageStory story;
  story.storage = data.storages.find(id);
  if (story.storage == nullptr) return std::nullopt;
  for (const Block* block : data.blocks_by_storage.of(id)) story.blocks.push_back(block);
  for (const Tensor* tensor : data.tensors_by_storage.of(id)) story.tensors.push_back(tensor);
  for (const Mark* mark : data.marks_by_storage.of(id)) story.marks.push_back(mark);
  story.resizes = data.storage_changes.resizes_of(id);
  std::sort(story.marks.begin(), story.marks.end(),
            [](const Mark* a, const Mark* b) { return a->span.from_seq < b->span.from_seq; });
  for (const Mark* mark : story.marks) {
    if (mark->kind == MarkKind::kCensus) story.censuses.push_back(holders_of(data, *mark, id));
  }
  for (const ReleaseRow& row : releases.rows) {
    if (row.mark->storage != id) continue;
    story.releases.push_back(&row);
    if (row.mark->flags.final && !row.mark->flags.persistent) story.final_release = &row;
  }
  story.gone = gone_for_good(data, *story.storage);
  story.ended_by = ended_by(story);
  return story;
}

std::string_view name_of(EndedBy by) {
  switch (by) {
    case EndedBy::kRelease:
      return "release";
    case EndedBy::kLastReference:
      return "last_reference";
    case EndedBy::kOther:
      return "other";
    case EndedBy::kAlive:
      break;
  }
  return "alive";
}

}  // namespace dcmt::analyzer

#include "analyzer/rules/not_kept.h"

#include <algorithm>
#include <set>

#include "trace/base/code_path.h"

namespace dcmt::analyzer {
namespace {

/// A single similar storage may be a coincidence.
constexpr std::size_t kFewest = 2;

}  // namespace

NotKept::NotKept(const TraceData& data, const Rounds& rounds, const std::map<StackId, OutlivingSite>& sites)
    : data_(data) {
  std::set<std::size_t> places;
  for (const auto& [stack, site] : sites) places.insert(place_of(stack));
  if (places.empty()) return;
  const Sequence end_of_all = last_birth(data);
  for (const Storage& storage : data.storages) {
    const std::size_t place = place_of(storage.birth.stack);
    if (!places.contains(place)) continue;
    const std::size_t round = rounds.at(storage.span.from_seq);
    const Sequence end = round < rounds.size() ? rounds.end(round) : end_of_all;
    if (!storage.span.ended() || storage.span.to_seq > end) continue;
    Lasting& lasting = batches_[{place, round, storage.bytes}];
    ++lasting.count;
    lasting.longest = std::max(lasting.longest, storage.span.to_seq.value - storage.span.from_seq.value);
  }
}

NotKept::Place NotKept::frames_that_count(StackId stack) const {
  Place frames;
  const Stack* at = data_.stacks.find(stack);
  for (; at != nullptr; at = data_.stacks.find(at->parent)) {
    const Frame* frame = data_.frames.find(at->frame);
    if (frame == nullptr) continue;
    if (frames.empty() || !is_library_file(data_.text(frame->file))) frames.push_back(frame->id);
  }
  return frames;
}

std::size_t NotKept::place_of(StackId stack) {
  const auto [found, is_new] = place_of_stack_.try_emplace(stack);
  if (is_new) found->second = places_.try_emplace(frames_that_count(stack), places_.size()).first->second;
  return found->second;
}

std::optional<Sequence> NotKept::until(const Living& living) const {
  const auto place = place_of_stack_.find(living.storage->birth.stack);
  if (place == place_of_stack_.end()) return std::nullopt;
  const auto batch = batches_.find({place->second, living.round, living.storage->bytes});
  if (batch == batches_.end() || batch->second.count < kFewest) return std::nullopt;
  return Sequence(living.storage->span.from_seq.value + batch->second.longest);
}

}  // namespace dcmt::analyzer

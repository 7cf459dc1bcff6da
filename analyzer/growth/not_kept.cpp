#include "analyzer/growth/not_kept.h"

#include <algorithm>
#include <set>

#include "trace/base/code_path.h"

namespace dcmt::analyzer {
namespace {

/// A single similar storage may be a coincidence.
constexpr std::size_t kFewest = 2;

}  // namespace

NotKept::NotKept(const TraceData& data, const GrowingSites& growing) : data_(data), end_of_all_(growing.end) {
  std::set<std::size_t> places;
  for (const auto& [stack, site] : growing.sites) places.insert(place_of(stack));
  if (places.empty()) return;
  for (const Storage& storage : data.storages) {
    const std::size_t place = place_of(storage.birth.stack);
    if (!places.contains(place) || !storage.span.ended()) continue;
    ended_[{place, storage.bytes}].push_back({storage.span.from_seq, storage.span.to_seq});
  }
  for (auto& [kind, lives] : ended_) std::ranges::sort(lives, {}, &Life::from);
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
  const auto ended = ended_.find({place->second, living.storage->bytes});
  if (ended == ended_.end()) return std::nullopt;
  std::size_t count = 0;
  std::int64_t longest = 0;  // in sequence numbers
  const Sequence round_end = living.round_end.valid() ? living.round_end : end_of_all_;
  for (auto life = std::ranges::lower_bound(ended->second, living.round_begin, {}, &Life::from);
       life != ended->second.end() && life->from < round_end; ++life) {
    if (life->to > round_end) continue;
    ++count;
    longest = std::max(longest, life->to.value - life->from.value);
  }
  if (count < kFewest) return std::nullopt;
  return Sequence(living.storage->span.from_seq.value + longest);
}

}  // namespace dcmt::analyzer

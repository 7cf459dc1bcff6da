// Two sets of storages of equal sizes at a peak, of which one ends soon after.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyzer/growth/own_use.h"
#include "analyzer/growth/rounds.h"
#include "analyzer/rules/duplicate.h"
#include "analyzer/rules/rules.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/time/timeline.h"
#include "trace/base/code_path.h"

namespace dcmt::analyzer {
namespace {

constexpr double kLeastOfPeakTwice = 0.1;  ///< of the peak
constexpr double kLeastGain = 0.05;        ///< of the peak: else another peak is nearly as high
constexpr double kLeastMatched = 0.95;     ///< of the bytes of a set
constexpr std::size_t kLeastSizes = 3;     ///< so many sizes are not equal by chance
constexpr std::size_t kLeastStorages = 3;
constexpr double kMostOnTop = 0.05;  ///< of a set's bytes: more is made of the two sets, or with them
constexpr double kMostThird = 0.5;   ///< of a set's bytes: other sizes are equal by chance

/// Sizes of the elements of a set, in relation to those of the other one.
struct Ratio {
  std::int64_t times, by;
};
constexpr std::array<Ratio, 5> kRatios = {{{1, 1}, {2, 1}, {1, 2}, {4, 1}, {1, 4}}};

struct Alive {
  const Storage* storage;
  Bytes bytes;
  std::vector<FrameId> frames;  ///< of the user, the outermost one first
};
using Set = std::vector<const Alive*>;

std::vector<FrameId> user_frames(const TraceData& data, StackId id) {
  std::vector<FrameId> frames;
  for (const Stack* stack = data.stacks.find(id); stack != nullptr; stack = data.stacks.find(stack->parent)) {
    const Frame* frame = data.frames.find(stack->frame);
    if (frame == nullptr) continue;
    const std::string_view file = data.text(frame->file);
    if (!is_library_file(file) && !is_package_file(file)) frames.push_back(frame->id);
  }
  std::ranges::reverse(frames);
  return frames;
}

std::size_t sizes_of(const Set& set) {
  std::set<Bytes> sizes;
  for (const Alive* each : set) sizes.insert(each->bytes);
  return sizes.size();
}

Bytes sum_of(const Set& set) {
  Bytes sum;
  for (const Alive* each : set) sum.value += each->bytes.value;
  return sum;
}

/// From the outermost one.
std::vector<FrameId> frames_in_common(const Set& set) {
  std::vector<FrameId> common = set.front()->frames;
  for (const Alive* each : set) {
    common.erase(std::ranges::mismatch(common, each->frames).in1, common.end());
  }
  return common;
}

/// A set, and the storages beside it.
struct Match {
  std::vector<std::pair<const Alive*, const Alive*>> pairs;
  Bytes third;  ///< of the set: beside these are third storages of their sizes, of no role or of the others' one
};

class AtPeak {
 public:
  AtPeak(const TraceData& data, const Peak& peak)
      : data_(data), peak_(peak), rounds_(Rounds::steps_or_calls(data)), phases_(data), until_(latest_end()) {
    for (const Block* block : live_blocks(data, peak.device, peak.seq)) {
      blocks_.push_back(block);
      const Storage* storage = data.storages.find(block->storage);
      // What a module's call or a backward makes is the training's.
      if (storage == nullptr || block->bytes.value == 0 || block->module.valid() || is_gathered(data, storage->id) ||
          is_phase(data, phases_.at(storage->span.from_seq), "backward"))
        continue;
      const Held* held = data.owners.of(storage->id);
      if (held != nullptr && (held->role == kGradient || held->role == kSavedForBackward)) continue;
      alive_.push_back({storage, block->bytes, user_frames(data, storage->birth.stack)});
    }
  }

  [[nodiscard]] std::vector<Duplicate> duplicates() {
    Set ending;
    for (const Alive& each : alive_) {
      const Span& span = each.storage->span;
      if (span.ended() && span.to_seq < until_ && !is_temporary_of_optimizer(span)) ending.push_back(&each);
    }
    if (!is_large(ending)) return {};
    leave_out_what_each_round_makes(ending);
    add(ending, 0);
    return std::move(found_);
  }

 private:
  /// Before it, an ended storage has not outlived its round, nor ended with the program.
  [[nodiscard]] Sequence latest_end() const {
    Sequence last;
    for (const Storage& storage : data_.storages) last = std::max(last, storage.span.from_seq);
    const Sequence end = rounds_.end(rounds_.at(peak_.seq));
    return end.valid() ? std::min(end, last) : last;
  }

  [[nodiscard]] bool is_temporary_of_optimizer(const Span& span) const {
    const Mark* phase = phases_.at(span.from_seq);
    return is_phase(data_, phase, "optimizer") && phase == phases_.at(span.to_seq);
  }

  [[nodiscard]] bool is_large(const Set& set) const {
    return set.size() >= kLeastStorages &&
           static_cast<double>(sum_of(set).value) >= kLeastOfPeakTwice * static_cast<double>(peak_.bytes.value);
  }

  /// A step that copies its parameters needs the copies: they are not of a load or a save.
  void leave_out_what_each_round_makes(Set& ending) const {
    constexpr std::size_t kLeastRounds = 3;
    std::unordered_map<StackId, std::set<std::size_t>> made;
    std::set<std::size_t> with_rows;
    for (const Alive* each : ending) made[each->storage->birth.stack];
    for (const Storage& storage : data_.storages) {
      const std::size_t round = rounds_.at(storage.span.from_seq);
      with_rows.insert(round);
      if (const auto at = made.find(storage.birth.stack); at != made.end()) at->second.insert(round);
    }
    if (data_.has_sums_only() && with_rows.size() < kLeastRounds) ending.clear();
    if (with_rows.size() < 2) return;
    std::erase_if(ending,
                  [&](const Alive* each) { return 2 * made.at(each->storage->birth.stack).size() > with_rows.size(); });
  }

  /// Adds the largest sets of one call that match. `depth`: frames that all of the set have in common, at least.
  void add(const Set& set, std::size_t depth) {
    if (!is_large(set)) return;
    if (const std::optional<Match> match = match_of(set)) {
      found_.push_back(duplicate_of(set, *match));
      return;
    }
    std::map<FrameId, Set> by_frame;
    for (const Alive* each : set) {
      if (depth < each->frames.size()) by_frame[each->frames[depth]].push_back(each);
    }
    for (const auto& [frame, part] : by_frame) add(part, depth + 1);
  }

  [[nodiscard]] std::optional<Match> match_of(const Set& set) const {
    const bool differ = sizes_of(set) >= kLeastSizes;
    const std::set<const Alive*> own(set.begin(), set.end());
    for (const Ratio ratio : kRatios) {
      if (!differ && ratio.times != ratio.by) continue;
      const Match match = match_by(set, own, ratio);
      Bytes matched;
      for (const auto& [one, other] : match.pairs) matched.value += one->bytes.value;
      const auto bytes = static_cast<double>(sum_of(set).value);
      if (static_cast<double>(match.third.value) <= (differ ? kMostThird * bytes : 0) &&
          static_cast<double>(matched.value) >= kLeastMatched * bytes &&
          static_cast<double>(on_top_of(match).value) <= kMostOnTop * bytes)
        return match;
    }
    return std::nullopt;
  }

  /// The storages beside a set. One place made the other set: those of the place that has most of the sizes come first.
  [[nodiscard]] Set others_of_one_place_first(const Set& set, const std::set<const Alive*>& own, Ratio ratio) const {
    struct Place {
      Set all;
      std::map<Bytes, std::int64_t> left;  ///< of the set, by size
      std::int64_t matched = 0;
    };
    std::map<Bytes, std::int64_t> sizes;
    for (const Alive* each : set) ++sizes[Bytes(each->bytes.value * ratio.times / ratio.by)];
    std::map<FrameId, Place> by_place;
    for (const Alive& each : alive_) {
      if (own.contains(&each) || !sizes.contains(each.bytes)) continue;
      const auto [at, is_new] = by_place.try_emplace(each.frames.empty() ? FrameId() : each.frames.back());
      Place& place = at->second;
      if (is_new) place.left = sizes;
      place.all.push_back(&each);
      if (place.left[each.bytes]-- > 0) place.matched += each.bytes.value;
    }
    std::vector<const Place*> places;
    for (const auto& [frame, place] : by_place) places.push_back(&place);
    std::ranges::stable_sort(places, std::greater(), [](const Place* each) { return each->matched; });
    Set others;
    for (const Place* place : places) others.insert(others.end(), place->all.begin(), place->all.end());
    return others;
  }

  [[nodiscard]] Match match_by(const Set& set, const std::set<const Alive*>& own, Ratio ratio) const {
    std::map<Bytes, Set> others;
    for (const Alive* each : others_of_one_place_first(set, own, ratio)) others[each->bytes].push_back(each);
    Set ordered = set;
    std::ranges::sort(ordered, {}, [](const Alive* each) { return each->storage->span.from_seq; });
    Match match;
    for (const Alive* each : ordered) {
      const Bytes wanted(each->bytes.value * ratio.times / ratio.by);
      const auto at = others.find(wanted);
      if (at == others.end()) continue;
      Set& same = at->second;
      const auto stays = std::ranges::find_if(same, [&](const Alive* other) { return is_other_of(*each, *other); });
      if (stays == same.end()) continue;
      match.pairs.emplace_back(each, *stays);
      same.erase(stays);
    }
    // Of three sets, one may have been computed from the two others.
    for (const auto& [one, other] : match.pairs) {
      const bool third = std::ranges::any_of(others[other->bytes], [&](const Alive* more) {
        return role_of(*more).empty() || role_of(*more) == role_of(*other);
      });
      if (third) match.third.value += one->bytes.value;
    }
    return match;
  }

  /// As of the latest reading that found the storage; empty: none.
  [[nodiscard]] std::string_view role_of(const Alive& alive) const {
    const Held* held = data_.owners.of(alive.storage->id);
    return held == nullptr ? std::string_view() : held->role;
  }

  /// True if `other` is a parameter, a buffer or an optimizer's state that outlives the round. Both must not exist
  /// before the round: two models that are trained together are no copies.
  [[nodiscard]] bool is_other_of(const Alive& one, const Alive& other) const {
    const Span& span = other.storage->span;
    const Sequence both = std::max(one.storage->span.from_seq, span.from_seq);
    return !role_of(other).empty() && (!span.ended() || span.to_seq >= until_) &&
           rounds_.at(both) == rounds_.at(peak_.seq);
  }

  /// What was made at the peak after the two sets: of a copy that makes the peak, nothing.
  [[nodiscard]] Bytes on_top_of(const Match& match) const {
    Sequence both;
    for (const auto& [one, other] : match.pairs)
      both = std::max({both, one->storage->span.from_seq, other->storage->span.from_seq});
    Bytes bytes;
    for (const Block* block : blocks_) {
      if (block->storage.valid() && block->span.from_seq > both) bytes.value += block->bytes.value;
    }
    return bytes;
  }

  [[nodiscard]] Duplicate duplicate_of(const Set& set, const Match& match) const {
    Duplicate duplicate;
    std::map<FrameId, Set> others;
    for (const auto& [one, other] : match.pairs) {
      const Span& first = one->storage->span;
      ++duplicate.storages;
      duplicate.bytes.value += one->bytes.value;
      duplicate.other_bytes.value += other->bytes.value;
      others[other->frames.empty() ? FrameId() : other->frames.back()].push_back(other);
      // What is made first is needed until the other one has been filled from it.
      const Sequence filled = other->storage->span.from_seq;
      const Sequence since = filled > first.from_seq ? filled : begin_of(data_, *one->storage);
      duplicate.twice.push_back({one->storage->id, since});
    }
    const Set& most =
        std::ranges::max_element(others, {}, [](const auto& each) { return sum_of(each.second); })->second;
    std::vector<FrameId> made = frames_in_common(set);
    std::vector<FrameId> other = frames_in_common(most);
    // One function makes both: its callers differ.
    while (made.size() > 1 && other.size() > 1 && made.back() == other.back()) {
      made.pop_back();
      other.pop_back();
    }
    duplicate.made = place_of(set, made);
    duplicate.other = place_of(most, other);
    duplicate.stack = set.front()->storage->birth.stack;
    return duplicate;
  }

  [[nodiscard]] std::string place_of(const Set& set, const std::vector<FrameId>& frames) const {
    return frames.empty() ? describe_site(data_, set.front()->storage->birth.stack)
                          : describe_frame(data_, frames.back());
  }

  const TraceData& data_;
  const Peak& peak_;
  const Rounds rounds_;
  const PhaseIndex phases_;
  const Sequence until_;
  std::vector<const Block*> blocks_;  ///< at the peak
  std::vector<Alive> alive_;
  std::vector<Duplicate> found_;
};

}  // namespace

namespace rules {

std::vector<Finding> duplicates(const TraceData& data, const std::vector<Peak>& peaks) {
  std::vector<Finding> findings;
  for (const Peak& peak : peaks) {
    if (!peak.seq.valid()) continue;
    const auto peak_bytes = static_cast<double>(peak.bytes.value);
    for (Duplicate& duplicate : AtPeak(data, peak).duplicates()) {
      const Peak without = peak_of(data, peak.device, gaps_of_duplicate(data, duplicate));
      if (static_cast<double>(peak.bytes.value - without.bytes.value) < kLeastGain * peak_bytes) continue;
      Finding& finding = findings.emplace_back();
      finding.rule = "duplicate";
      finding.title = "two copies";
      finding.device = peak.device;
      finding.confidence = Confidence::kPartial;
      finding.bytes = duplicate.bytes;
      finding.why = duplicate.bytes == duplicate.other_bytes
                        ? "both sets have the same sizes; whether their values are equal was not recorded"
                        : "both sets have the same sizes but for their element types";
      finding.fix =
          "copy one tensor at a time, free one set before the other is made, or use the tensors themselves: "
          "load_state_dict(…, assign=True) into a model on the meta device, torch.save without copies";
      finding.duplicate = std::move(duplicate);
    }
  }
  return findings;
}

}  // namespace rules
}  // namespace dcmt::analyzer

#include "analyzer/replay/replay_comparison.h"

#include <algorithm>
#include <map>

namespace dcmt::analyzer {
namespace {

std::string text_of(const std::optional<Bytes>& bytes) {
  return bytes ? std::to_string(bytes->value) + " B" : "not read";
}
std::string text_of(const Key& key) { return "graph " + std::to_string(key.graph) + ", id " + std::to_string(key.key); }

/// The bytes left, in terms of the bytes before: the allocator's rounding is no difference.
std::string left(const std::optional<Bytes>& bytes, const std::optional<Bytes>& before) {
  return bytes && bytes->value > 0 && bytes == before ? "all" : text_of(bytes);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "not inspected" : text;
}

using Items = std::vector<std::pair<Key, Bytes>>;

/// Groups items by rule. Findings are grouped by places in the program, and a replay has other places.
std::map<std::string, Items> items_by_rule(const ReplayFacts& facts) {
  std::map<std::string, Items> items;
  for (const FindingFacts& finding : facts.findings) {
    Items& of_rule = items[finding.rule];
    of_rule.insert(of_rule.end(), finding.items.begin(), finding.items.end());
    std::sort(of_rule.begin(), of_rule.end());
  }
  return items;
}

std::string text_of(const Items& items) {
  constexpr std::size_t kMost = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(items.size(), kMost); ++i) {
    text += (i > 0 ? "; " : "") + text_of(items[i].first) + " with " + std::to_string(items[i].second.value) + " B";
  }
  if (items.size() > kMost) text += "; " + std::to_string(items.size() - kMost) + " more";
  return text.empty() ? "none" : text;
}

std::optional<ReplayDifference> difference(const ReleaseFacts& recorded, const ReleaseFacts& replayed) {
  std::optional<ReplayDifference> found;
  const auto compare = [&](const char* what, const std::string& a, const std::string& b) {
    if (!found && a != b) found = ReplayDifference{std::nullopt, what, a, b};
  };
  compare("parameter", text_of(recorded.key), text_of(replayed.key));
  compare("verdict", std::string(name_of(recorded.verdict)), std::string(name_of(replayed.verdict)));
  compare("residual", recorded.residual ? "yes" : "no", replayed.residual ? "yes" : "no");
  compare("bytes after the release", left(recorded.bytes_after, recorded.bytes_before),
          left(replayed.bytes_after, replayed.bytes_before));
  compare("bytes at the next operator", left(recorded.bytes_settled, recorded.bytes_before),
          left(replayed.bytes_settled, replayed.bytes_before));
  compare("allocated bytes", text_of(recorded.allocated), text_of(replayed.allocated));
  compare("reads after the release", std::to_string(recorded.reads), std::to_string(replayed.reads));
  if (!recorded.holder_kinds.empty()) compare("holders", joined(recorded.holder_kinds), joined(replayed.holder_kinds));
  return found;
}

}  // namespace

Expected<ReplayFacts> facts_of_replay(const Analysis& replay, const ReplayPlan& plan) {
  const TraceData& data = *replay.data;
  const auto user_mark = [&](std::string_view name) -> const Mark* {
    const Mark* found = nullptr;
    for (const Mark& mark : data.marks) {
      if (mark.kind == MarkKind::kUser && data.text(mark.name) == name) found = &mark;
    }
    return found;
  };
  const Mark* begin = user_mark(kReplayBegin);
  const auto none = [&](const std::string& why) {
    return Error{ErrorCode::kNotComparable, data.path + ": " + why + ": it is no trace of a replay."};
  };
  if (begin == nullptr) return none("nothing marks where the replay begins");
  Sequence from;
  Sequence to(last_sequence(data).value + 1);
  if (plan.region.steps.empty()) {
    const Mark* region = user_mark(kReplayRegion);
    if (region == nullptr) return none("nothing marks where its region begins");
    from = region->span.from_seq;
  } else {
    const auto step = [&](std::int64_t number) {
      return std::find_if(replay.releases.steps.begin(), replay.releases.steps.end(),
                          [&](const Step& one) { return one.number == number; });
    };
    const auto first = step(plan.region.steps.front().number);
    const auto last = step(plan.region.steps.back().number);
    if (first == replay.releases.steps.end() || last == replay.releases.steps.end()) return none("it lacks the steps");
    from = first->from;
    to = last->to;
  }
  const Curve curve = allocated_curve(data, replay.main().device);
  Bytes overhead;
  for (const CurvePoint& point : curve) {
    if (point.seq <= begin->span.from_seq) overhead = point.bytes;
  }
  ReplayFacts facts = facts_in(replay, replay.main().device, from, to, overhead);

  // The allocator's rounding belongs to the replayed storage.
  std::map<Key, const ReplayBuffer*> played;
  for (const ReplayBuffer& buffer : plan.buffers) played[{buffer.key.graph, buffer.id}] = &buffer;
  const auto find = [&](const Key& key) {
    const auto known = played.find(key);
    return known != played.end() ? known->second : nullptr;
  };
  for (ReleaseFacts& release : facts.releases) {
    if (const ReplayBuffer* buffer = find(release.key)) release.key = buffer->key;
  }
  for (FindingFacts& finding : facts.findings) {
    if (finding.rule == "out_of_memory") continue;
    for (auto& [key, bytes] : finding.items) {
      const ReplayBuffer* buffer = find(key);
      if (buffer == nullptr) continue;
      key = buffer->key;
      if (bytes == buffer->bytes) bytes = Bytes(bytes.value - buffer->rounding.value);
    }
    std::sort(finding.items.begin(), finding.items.end());
  }
  return facts;
}

std::optional<ReplayDifference> first_difference(const ReplayFacts& recorded, const ReplayFacts& replayed) {
  const std::size_t releases = std::min(recorded.releases.size(), replayed.releases.size());
  for (std::size_t i = 0; i < releases; ++i) {
    if (auto found = difference(recorded.releases[i], replayed.releases[i])) {
      found->release = i;
      return found;
    }
  }
  if (recorded.releases.size() != replayed.releases.size()) {
    return ReplayDifference{std::nullopt, "releases", std::to_string(recorded.releases.size()),
                            std::to_string(replayed.releases.size())};
  }
  std::map<std::string, std::pair<Items, Items>> rules;  // as recorded, as replayed
  for (const auto& [rule, items] : items_by_rule(recorded)) rules[rule].first = items;
  for (const auto& [rule, items] : items_by_rule(replayed)) rules[rule].second = items;
  for (const auto& [rule, items] : rules) {
    if (items.first != items.second) {
      return ReplayDifference{std::nullopt, "finding " + rule, text_of(items.first), text_of(items.second)};
    }
  }
  if (recorded.peak != replayed.peak) {
    return ReplayDifference{std::nullopt, "peak", text_of(recorded.peak), text_of(replayed.peak)};
  }
  return std::nullopt;
}

}  // namespace dcmt::analyzer

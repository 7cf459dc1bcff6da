// Storages that are held, steps later, only by variables of calls that an exception has ended: a traceback was kept.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/growth/rounds.h"
#include "analyzer/load/optional_text.h"
#include "analyzer/rules/rules.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/storages/storage_bytes.h"

namespace dcmt::analyzer {
namespace {

/// A handler that still runs may read the storages. So only storages that outlive this many further steps count.
constexpr std::size_t kStepsMore = 1;

/// The calls of one traceback: "sys.last_traceback" of "sys.last_traceback.tb_next.tb_frame train (train.py:7)".
std::string_view traceback_of(std::string_view path) { return path.substr(0, path.find(".tb_")); }

/// The frames that hold a storage; empty if anything else does, or may.
std::vector<const Container*> only_frames(const TraceData& data, const Held& held) {
  if (held.otherwise) return {};
  std::vector<const Container*> frames;
  for (const ContainerId id : held.containers) {
    frames.push_back(data.owners.container(id));
    if (data.text(frames.back()->type) != "finished frame") return {};
  }
  return frames;
}

struct Item {
  const Storage* storage = nullptr;
  Bytes bytes;
  Sequence round_end;  ///< end of the round that made it
};

/// The storages that the frames of one traceback keep, in the order of creation.
struct KeptErrors {
  std::vector<Item> items;
  std::map<const Container*, std::int64_t> frames;  ///< bytes
};

/// When one of the statements that made the storages ran again; zero: never. The call had ended by then: within one
/// call, the statement would have given its variable another value.
Sequence ran_again(const TraceData& data, const std::vector<Item>& items) {
  std::set<StackId> made_at;
  for (const Item& item : items) made_at.insert(item.storage->birth.stack);
  const Sequence last = items.back().storage->span.from_seq;
  for (const Storage& storage : data.storages) {
    if (storage.span.from_seq > last && made_at.contains(storage.birth.stack)) return storage.span.from_seq;
  }
  return {};
}

Finding finding_of(const TraceData& data, const KeptErrors& kept) {
  const Sequence again = ran_again(data, kept.items);
  HeldStorages held;
  for (const Item& item : kept.items) {
    const Sequence until = again.valid() ? std::min(again, item.round_end) : item.round_end;
    held.add(*item.storage,
             {.storage = item.storage->id, .bytes = item.bytes, .needed_until = until, .frees = true, .alone = true});
  }
  const auto most = std::ranges::max_element(kept.frames, {}, [](const auto& each) { return each.second; });
  Finding finding;
  finding.rule = "kept_by_traceback";
  finding.classes.emplace_back("D14");
  finding.title = "kept by a traceback";
  Growth& growth = finding.growth.emplace();
  held.move_to(data, growth);
  growth.holder = data.text(most->first->path);
  growth.type = unless_empty(data.text(most->first->type));
  finding.bytes = held.bytes();
  growth.seen = static_cast<std::int64_t>(growth.storages.size());
  finding.confidence = Confidence::kCertain;
  finding.why = "an exception has ended this call; its traceback is kept, and with it the variables of the call";
  finding.fix = "drop the exception and its traceback once it is handled, or call traceback.clear_frames()";
  return finding;
}

}  // namespace

namespace rules {

std::vector<Finding> kept_by_traceback(const TraceData& data, const Releases&) {
  if (data.owners.held.empty()) return {};
  const Rounds rounds = Rounds::steps(data);
  std::map<std::string_view, KeptErrors> by_traceback;
  for (const Held& held : data.owners.held) {
    const std::vector<const Container*> frames = only_frames(data, held);
    const Storage* storage = frames.empty() ? nullptr : data.storages.find(held.storage);
    if (storage == nullptr) continue;
    const std::size_t round = rounds.at(storage->span.from_seq);
    // A program may keep on purpose what the first round makes.
    if (round == 0 || round + kStepsMore >= rounds.size() || is_gathered(data, storage->id)) continue;
    const Sequence last = rounds.end(rounds.size() - 1);
    if (!storage->span.covers(last)) continue;
    const Bytes now = bytes_at(data, *storage, last);
    if (now.value == 0) continue;
    KeptErrors& kept = by_traceback[traceback_of(data.text(frames.front()->path))];
    kept.items.push_back({storage, now, rounds.end(round)});
    for (const Container* frame : frames) kept.frames[frame] += now.value;
  }
  std::vector<Finding> findings;
  for (const auto& [traceback, kept] : by_traceback) findings.push_back(finding_of(data, kept));
  return findings;
}

}  // namespace rules
}  // namespace dcmt::analyzer

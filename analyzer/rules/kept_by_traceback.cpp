// Storages that only the variables of calls which an exception has ended still hold, steps later: a traceback was kept.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/rules/rounds.h"
#include "analyzer/rules/rules.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/storages/storage_bytes.h"

namespace dcmt::analyzer {
namespace {

/// A handler that still runs may read them: only what outlived so many steps more is nobody's.
constexpr std::size_t kStepsMore = 1;

/// The calls of one traceback: "sys.last_traceback" of "sys.last_traceback.tb_next.tb_frame train (train.py:7)".
std::string_view traceback_of(std::string_view path) { return path.substr(0, path.find(".tb_")); }

/// The frames that hold a storage, none if anything else does, or may.
std::vector<const Container*> only_frames(const TraceData& data, StorageId storage) {
  const Held* held = data.owners.of(storage);
  if (held == nullptr || held->otherwise) return {};
  std::vector<const Container*> frames;
  for (const ContainerId id : held->containers) {
    frames.push_back(data.owners.container(id));
    if (data.text(frames.back()->type) != "finished frame") return {};
  }
  return frames;
}

/// What the frames of one traceback keep.
struct Kept {
  HeldStorages held;
  std::map<const Container*, std::int64_t> frames;  ///< bytes
};

Finding finding_of(const TraceData& data, Kept kept) {
  const auto most = std::ranges::max_element(kept.frames, {}, [](const auto& each) { return each.second; });
  Finding finding;
  finding.rule = "kept_by_traceback";
  finding.classes.emplace_back("D14");
  finding.title = "kept by a traceback";
  Growth& growth = finding.growth.emplace();
  kept.held.move_to(growth);
  growth.holder = data.text(most->first->path);
  growth.type = data.text(most->first->type);
  growth.alone = finding.bytes = kept.held.bytes();
  growth.seen = static_cast<std::int64_t>(growth.storages.size());
  finding.confidence = Confidence::kCertain;
  finding.why = "an exception has ended this call; its traceback is kept, and with it the variables of the call";
  finding.fix = "drop the exception and its traceback once it is handled, or call traceback.clear_frames()";
  return finding;
}

}  // namespace

namespace rules {

std::vector<Finding> kept_by_traceback(const TraceData& data, const Releases&) {
  const Rounds rounds(data);
  std::map<std::string_view, Kept> by_traceback;
  for (const Storage& storage : data.storages) {
    const std::size_t round = rounds.at(storage.span.from_seq);
    // What the first round makes, a program may keep for good.
    if (round == 0 || round + kStepsMore >= rounds.size() || is_gathered(data, storage.id)) continue;
    const Sequence last = rounds.end(rounds.size() - 1);
    if (!storage.span.covers(last)) continue;
    const std::vector<const Container*> frames = only_frames(data, storage.id);
    if (frames.empty()) continue;
    const Bytes now = bytes_at(data, storage, last);
    if (now.value == 0) continue;
    Kept& kept = by_traceback[traceback_of(data.text(frames.front()->path))];
    kept.held.add(storage, now, rounds.end(round), true);
    for (const Container* frame : frames) kept.frames[frame] += now.value;
  }
  std::vector<Finding> findings;
  for (auto& [traceback, kept] : by_traceback) findings.push_back(finding_of(data, std::move(kept)));
  return findings;
}

}  // namespace rules
}  // namespace dcmt::analyzer

#include "analyzer/rules/kept.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/growth/rounds.h"
#include "analyzer/storages/holder_names.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {
namespace {

constexpr double kLeastShareOfPeak = 0.01;  ///< of the peak
constexpr std::size_t kMostRemarks = 3;

/// Storages of one holder at the peak, or at the last reading.
struct Kept {
  std::int64_t storages = 0;
  Bytes bytes;
  std::size_t first_round = 0;
  bool at_reading = false;
  std::map<StackId, Bytes> made;

  void add(const Storage& storage, Bytes more, std::size_t round) {
    first_round = storages == 0 ? round : std::min(first_round, round);
    ++storages;
    bytes.value += more.value;
    made[storage.birth.stack].value += more.value;
  }
};

std::set<std::string> holders_of(const std::vector<Finding>& findings) {
  std::set<std::string> holders;
  for (const Finding& finding : findings) {
    if (finding.growth) holders.insert(finding.growth->holder);
  }
  return holders;
}

class KeptByHolder {
 public:
  KeptByHolder(const TraceData& data, const std::vector<Finding>& findings)
      : data_(data),
        rounds_(Rounds::steps_or_calls(data)),
        phases_(data),
        names_(data),
        of_findings_(growing_storages(findings)),
        have_findings_(holders_of(findings)) {}

  [[nodiscard]] std::size_t round_at(Sequence seq) const { return rounds_.at(seq); }

  /// @param before  only rounds before this one count
  void add(const std::vector<const Block*>& blocks, std::size_t before, bool at_reading) {
    std::map<std::string, Kept> by_holder;
    for (const Block* block : blocks) {
      const Storage* storage = data_.storages.find(block->storage);
      if (storage == nullptr || of_findings_.contains(storage->id) || is_gathered(data_, storage->id)) continue;
      const std::size_t round = rounds_.at(storage->span.from_seq);
      if (round >= before || (round == 0 && (at_reading || !made_in_backward(*storage)))) continue;
      const std::optional<std::string> holder = names_.variable_of(storage->id);
      if (!holder || (at_reading && !stays(*storage, *holder)) || names_.is_replaced(storage->id)) continue;
      if (have_findings_.contains(*holder)) continue;
      // A bucket of gradients is of the training, though no gradient is all of it.
      if (is_gradient(*holder)) continue;
      by_holder[*holder].add(*storage, block->bytes, round);
    }
    for (auto& [holder, kept] : by_holder) {
      kept.at_reading = at_reading;
      Kept& most = kept_[holder];
      if (kept.bytes > most.bytes) most = std::move(kept);
    }
  }

  /// The remarks about what was added since the last call.
  [[nodiscard]] std::vector<Remark> remarks(const Peak& peak) {
    std::vector<Remark> remarks;
    for (const auto& [holder, kept] : std::exchange(kept_, {})) {
      if (static_cast<double>(kept.bytes.value) < kLeastShareOfPeak * static_cast<double>(peak.bytes.value)) continue;
      const auto most = std::ranges::max_element(kept.made, {}, [](const auto& each) { return each.second; });
      Remark remark{.kind = RemarkKind::kKept, .count = kept.storages, .bytes = kept.bytes};
      remark.holder = holder;
      remark.place = describe_site(data_, most->first);
      remark.by_calls = rounds_.kind() == RoundKind::kCall;
      if (!kept.at_reading)
        remark.steps = rounds_.steps_before(rounds_.at(peak.seq)) - rounds_.steps_before(kept.first_round);
      remarks.push_back(std::move(remark));
    }
    std::ranges::stable_sort(remarks, std::greater(), &Remark::bytes);
    if (remarks.size() > kMostRemarks) remarks.resize(kMostRemarks);
    return remarks;
  }

 private:
  /// The first round sets up what the program keeps on purpose: in its forward, which begins with the program, and in
  /// its optimizer's step.
  [[nodiscard]] bool made_in_backward(const Storage& storage) const {
    return is_phase(data_, phases_.at(storage.span.from_seq), "backward");
  }

  /// True if an attribute or a container was found to hold the storage.
  [[nodiscard]] bool stays(const Storage& storage, std::string_view holder) const {
    const Held* held = data_.owners.of(storage.id);
    return held != nullptr && (!held->containers.empty() || !is_plain_variable(holder));
  }

  const TraceData& data_;
  const Rounds rounds_;
  const PhaseIndex phases_;
  const HolderNames names_;
  const std::set<StorageId> of_findings_;
  const std::set<std::string> have_findings_;
  std::map<std::string, Kept> kept_;
};

}  // namespace

std::vector<Remark> kept(const TraceData& data, const std::vector<Peak>& peaks, const std::vector<Finding>& findings) {
  // Without a reading of the memory, holders have no names.
  if (data.owners.scans.empty()) return {};
  // After the last reading, the program may already be ending.
  const Sequence read = data.owners.scans.back().from;
  KeptByHolder kept(data, findings);
  std::vector<Remark> remarks;
  for (const Peak& peak : peaks) {
    if (!peak.seq.valid()) continue;
    kept.add(live_blocks(data, peak.device, peak.seq), kept.round_at(peak.seq), false);
    kept.add(live_blocks(data, peak.device, read), kept.round_at(read) + 1, true);
    std::ranges::move(kept.remarks(peak), std::back_inserter(remarks));
  }
  return remarks;
}

}  // namespace dcmt::analyzer

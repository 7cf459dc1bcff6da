#include "analyzer/gate/fact.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analyzer/compare/trainers.h"

namespace dcmt::gate {
namespace {

using analyzer::DeviceFacts;
using analyzer::MemoryFacts;

/// FNV-1a, shortened. It distinguishes orders; it protects nothing.
std::string hash_of(const std::vector<analyzer::OperatorFact>& operators) {
  std::uint64_t hash = 14695981039346656037u;
  for (const analyzer::OperatorFact& op : operators) {
    for (const char c : op.name + "\n") hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  constexpr std::size_t kDigits = 8;
  std::string text(kDigits, '0');
  for (char& digit : text) {
    digit = "0123456789abcdef"[hash >> 60];
    hash <<= 4;
  }
  return text;
}

class Facts {
 public:
  explicit Facts(std::vector<Fact>& facts) : facts_(facts) {}

  void highest(const std::string& name, Bytes value, std::int64_t rank,
               const std::vector<analyzer::AllocationLine>& lines) {
    Fact& fact = named(name, Unit::kBytes);
    if (fresh_ || value.value > fact.value) {
      fact.value = value.value;
      fact.rank = rank;
      fact.lines = lines;
    }
  }
  void sum(const std::string& name, std::int64_t count) { named(name, Unit::kCount).value += count; }

 private:
  Fact& named(const std::string& name, Unit unit) {
    const auto found = std::ranges::find(facts_, name, &Fact::name);
    fresh_ = found == facts_.end();
    if (!fresh_) return *found;
    facts_.push_back({name, unit, 0, -1, {}});
    return facts_.back();
  }

  std::vector<Fact>& facts_;
  bool fresh_ = false;
};

void add_devices(const MemoryFacts& rank, Facts& facts) {
  if (rank.devices.empty()) return;
  const DeviceFacts& main = rank.devices.front();
  const auto add = [&](const analyzer::PeakFact& peak) {
    facts.highest("peak." + peak.name, peak.bytes, rank.rank, peak.lines);
  };
  for (const analyzer::PeakFact& peak : main.peaks) add(peak);
  if (main.reserved) facts.highest("reserved", *main.reserved, rank.rank, {});
  if (main.growth) facts.highest("growth.step", *main.growth, rank.rank, main.grown);
  for (const analyzer::PeakFact& peak : analyzer::peaks_beside(rank, &main)) add(peak);
}

}  // namespace

const Fact* Recording::fact(const std::string& name) const {
  const auto found = std::ranges::find(facts, name, &Fact::name);
  return found != facts.end() ? &*found : nullptr;
}

Recording recording_of(std::vector<MemoryFacts> processes) {
  Recording recording;
  std::vector<MemoryFacts> ranks = analyzer::trainers_of(std::move(processes)).ranks;
  const bool ranked = ranks.front().rank >= 0;
  const MemoryFacts& main = *std::ranges::max_element(ranks, {}, analyzer::work_of);
  const std::string device = main.devices.empty() ? "cpu" : analyzer::kind_of(main.devices.front().device);
  recording.section = device + ", torch " + main.torch;
  recording.arguments = main.arguments;
  recording.ranks = ranked ? static_cast<std::int64_t>(ranks.size()) : 1;
  recording.steps = main.steps;
  recording.sizes = main.sizes;
  recording.made = main.made;
  recording.operators = static_cast<std::int64_t>(main.operators.size());
  recording.order = hash_of(main.operators);
  Facts facts(recording.facts);
  for (MemoryFacts& rank : ranks) {
    recording.paths.push_back(rank.path);
    for (std::string& why : rank.unfit) recording.unfit.push_back(rank.path + ": " + std::move(why));
    add_devices(rank, facts);
  }
  for (MemoryFacts& rank : ranks) {
    if (rank.residual.value > 0 || rank.counts.contains("releases.final")) {
      facts.highest("residual.bytes", rank.residual, rank.rank, {});
    }
    for (const auto& [name, count] : rank.counts) facts.sum(name, count);
  }
  for (MemoryFacts& rank : ranks) {
    std::ranges::move(rank.findings, std::back_inserter(recording.findings));
  }
  return recording;
}

}  // namespace dcmt::gate

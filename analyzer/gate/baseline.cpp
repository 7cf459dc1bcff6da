#include "analyzer/gate/baseline.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace dcmt::gate {
namespace {

/// The recordings' facts of this name, by value. A count that a recording lacks is 0. Bytes that it lacks, of a part of
/// the run that did not run, are left out.
std::vector<Fact> in_order(const std::vector<Recording>& recordings, const std::string& name) {
  std::vector<Fact> facts;
  for (const Recording& recording : recordings) {
    if (const Fact* fact = recording.fact(name)) facts.push_back(*fact);
  }
  if (!facts.empty() && facts.front().unit == Unit::kCount) {
    facts.resize(recordings.size(), Fact{name, Unit::kCount, 0, -1, {}});
  }
  std::ranges::stable_sort(facts, {}, &Fact::value);
  return facts;
}

/// Names of facts that at least one recording has, in the order of the first such recording.
std::vector<std::string> names_of(const std::vector<Recording>& recordings) {
  std::vector<std::string> names;
  for (const Recording& recording : recordings) {
    for (const Fact& fact : recording.facts) {
      if (std::ranges::find(names, fact.name) == names.end()) names.push_back(fact.name);
    }
  }
  return names;
}

const Fact& middle_fact(const std::vector<Fact>& facts) { return facts[(facts.size() - 1) / 2]; }

/// `facts`: the facts of so many recordings, by value.
BaselineFact fact_of(const std::vector<Fact>& facts, std::size_t recordings) {
  constexpr std::int64_t kMostShare = 100;
  const Fact& middle = middle_fact(facts);
  BaselineFact fact;
  fact.name = middle.name;
  fact.unit = middle.unit;
  fact.value = middle.value;
  fact.tolerance = facts.back().value - facts.front().value;
  if (fact.unit == Unit::kBytes && middle.name.starts_with("peak.")) {
    fact.tolerance = std::min(fact.tolerance, fact.value / kMostShare);
  }
  fact.optional = facts.size() < recordings;
  fact.composition = analyzer::short_composition_of(middle.lines);
  return fact;
}

}  // namespace

const BaselineFact* Section::fact(const std::string& fact_name) const {
  const auto found = std::ranges::find(facts, fact_name, &BaselineFact::name);
  return found != facts.end() ? &*found : nullptr;
}

const Section* Baseline::section(const std::string& name) const {
  const auto found = std::ranges::find(sections, name, &Section::name);
  return found != sections.end() ? &*found : nullptr;
}

Recording middle_of(const std::vector<Recording>& recordings) {
  Recording middle = recordings.front();
  middle.facts.clear();
  for (const std::string& name : names_of(recordings)) middle.facts.push_back(middle_fact(in_order(recordings, name)));
  return middle;
}

Recording nearest_of(const std::vector<Recording>& recordings, const Baseline& baseline) {
  Recording nearest = recordings.front();
  const Section* section = baseline.section(nearest.section);
  if (section == nullptr) return nearest;
  nearest.facts.clear();
  for (const std::string& name : names_of(recordings)) {
    const std::vector<Fact> facts = in_order(recordings, name);
    const BaselineFact* before = section->fact(name);
    // If the baseline lacks the fact, or has it as optional, a missing one is nearest; else the least one is.
    const bool missing = facts.size() < recordings.size();
    if (before == nullptr ? missing || facts.front().value == 0 : missing && before->optional) continue;
    const std::int64_t wanted = before != nullptr ? before->value : 0;
    nearest.facts.push_back(
        *std::ranges::min_element(facts, {}, [wanted](const Fact& each) { return std::abs(each.value - wanted); }));
  }
  return nearest;
}

bool differ(const std::vector<Recording>& recordings) {
  return std::ranges::any_of(names_of(recordings), [&](const std::string& name) {
    const std::vector<Fact> facts = in_order(recordings, name);
    return facts.size() < recordings.size() || facts.front().value != facts.back().value;
  });
}

void update(Baseline& baseline, const std::vector<Recording>& recordings, const std::string& today, bool new_anchors) {
  const Recording& last = recordings.back();
  Section section;
  section.name = last.section;
  section.operators = last.operators;
  section.order = last.order;
  section.arguments = last.arguments;
  section.ranks = last.ranks;
  section.steps = last.steps;
  section.sizes = last.sizes;
  const auto at = std::ranges::lower_bound(baseline.sections, section.name, {}, &Section::name);
  const bool known = at != baseline.sections.end() && at->name == section.name;
  const auto add = [&](const std::string& name) {
    const std::vector<Fact> facts = in_order(recordings, name);
    if (facts.empty() || section.fact(name) != nullptr) return;
    BaselineFact fact = fact_of(facts, recordings.size());
    const BaselineFact* before = known ? at->fact(name) : nullptr;
    const bool keeps = before != nullptr && !new_anchors;
    fact.anchor = keeps ? before->anchor : fact.value;
    fact.since = keeps ? before->since : today;
    section.facts.push_back(std::move(fact));
  };
  // Existing facts keep their positions, so that a changed fact changes only its own line.
  if (known) {
    for (const BaselineFact& fact : at->facts) add(fact.name);
  }
  for (const std::string& name : names_of(recordings)) add(name);
  if (known) {
    *at = std::move(section);
  } else {
    baseline.sections.insert(at, std::move(section));
  }
}

}  // namespace dcmt::gate

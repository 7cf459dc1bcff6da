#include "analyzer/gate/baseline.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace dcmt::gate {
namespace {

/// The recordings that have this fact, by its value.
std::vector<const Fact*> in_order(const std::vector<Recording>& recordings, const std::string& name) {
  std::vector<const Fact*> facts;
  for (const Recording& recording : recordings) {
    if (const Fact* fact = recording.fact(name)) facts.push_back(fact);
  }
  std::ranges::stable_sort(facts, {}, &Fact::value);
  return facts;
}

BaselineFact fact_of(const std::vector<const Fact*>& facts) {
  constexpr std::int64_t kMostShare = 100;
  const Fact& middle = *facts[(facts.size() - 1) / 2];
  BaselineFact fact;
  fact.name = middle.name;
  fact.unit = middle.unit;
  fact.value = middle.value;
  fact.tolerance = facts.back()->value - facts.front()->value;
  if (fact.unit == Unit::kBytes && middle.name.starts_with("peak.")) {
    fact.tolerance = std::min(fact.tolerance, fact.value / kMostShare);
  }
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
  for (Fact& fact : middle.facts) {
    const std::vector<const Fact*> facts = in_order(recordings, fact.name);
    fact = Fact(*facts[(facts.size() - 1) / 2]);
  }
  return middle;
}

Recording nearest_of(const std::vector<Recording>& recordings, const Baseline& baseline) {
  Recording nearest = recordings.front();
  const Section* section = baseline.section(nearest.section);
  if (section == nullptr) return nearest;
  nearest.facts.clear();
  for (const Recording& recording : recordings) {
    for (const Fact& fact : recording.facts) {
      if (nearest.fact(fact.name) != nullptr) continue;
      const std::vector<const Fact*> facts = in_order(recordings, fact.name);
      const BaselineFact* before = section->fact(fact.name);
      // What the baseline does not have is nearest to it where it is missing, else where it is least.
      if (before == nullptr && facts.size() < recordings.size()) continue;
      const std::int64_t wanted = before != nullptr ? before->value : 0;
      nearest.facts.push_back(
          **std::ranges::min_element(facts, {}, [wanted](const Fact* each) { return std::abs(each->value - wanted); }));
    }
  }
  return nearest;
}

bool differ(const std::vector<Recording>& recordings) {
  return std::ranges::any_of(recordings.front().facts, [&](const Fact& fact) {
    const std::vector<const Fact*> facts = in_order(recordings, fact.name);
    return facts.front()->value != facts.back()->value;
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
    const std::vector<const Fact*> facts = in_order(recordings, name);
    if (facts.empty() || section.fact(name) != nullptr) return;
    BaselineFact fact = fact_of(facts);
    const BaselineFact* before = known ? at->fact(name) : nullptr;
    const bool keeps = before != nullptr && !new_anchors;
    fact.anchor = keeps ? before->anchor : fact.value;
    fact.since = keeps ? before->since : today;
    section.facts.push_back(std::move(fact));
  };
  // Facts stay where they are, so that a change of one is a change of its line alone.
  if (known) {
    for (const BaselineFact& fact : at->facts) add(fact.name);
  }
  for (const Recording& recording : recordings) {
    for (const Fact& fact : recording.facts) add(fact.name);
  }
  if (known) {
    *at = std::move(section);
  } else {
    baseline.sections.insert(at, std::move(section));
  }
}

}  // namespace dcmt::gate

#include "analyzer/gate/judge.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "analyzer/gate/day.h"
#include "trace/base/quantities.h"

namespace dcmt::gate {
namespace {

using analyzer::FindingFact;
using analyzer::LineChange;

constexpr int kDaysAhead = 14;

std::vector<std::string> not_comparable(const Baseline& baseline, const Recording& recording) {
  const Section* section = baseline.section(recording.section);
  if (section == nullptr) {
    std::string known;
    for (const Section& each : baseline.sections) known += (known.empty() ? "" : "; ") + each.name;
    return {"this run is of " + recording.section + ", the baseline of " + (known.empty() ? "nothing yet" : known)};
  }
  std::vector<std::string> why;
  const auto differs = [&why](const std::string& what, const std::string& was, const std::string& is) {
    if (was != is)
      why.push_back(what + (was.empty() ? "none" : was) + " in the baseline, " + (is.empty() ? "none" : is) + " now");
  };
  differs("the program's arguments: ", section->arguments, recording.arguments);
  differs("ranks: ", std::to_string(section->ranks), std::to_string(recording.ranks));
  differs("steps: ", std::to_string(section->steps), std::to_string(recording.steps));
  std::size_t found = 0;
  for (const Bytes size : section->sizes) found += static_cast<std::size_t>(std::ranges::count(recording.made, size));
  if (2 * found < section->sizes.size() && !recording.made.empty()) {
    why.push_back("of the " + counted(static_cast<std::int64_t>(section->sizes.size()), "largest size") +
                  " that a step allocates, " + std::to_string(found) +
                  " are as in the baseline: another batch, shape or type of numbers");
  }
  const bool by_phase =
      std::ranges::any_of(section->facts, [](const BaselineFact& fact) { return fact.name == "peak.run"; });
  if (recording.fact("peak.run") != nullptr && !by_phase) {
    why.emplace_back(
        "not all steps of this run were kept, so it has no peaks by phase: run fewer steps, or raise --max-disk");
  }
  return why;
}

/// The finding about storages that were made at a line; nullptr if there is none.
const FindingFact* finding_at(const Recording& recording, const analyzer::AllocationLine& line) {
  if (line.file.empty()) return nullptr;
  for (const FindingFact& finding : recording.findings) {
    if (finding.file == line.file && finding.line == line.line) return &finding;
    if (std::ranges::count(finding.made, std::pair(line.file, line.line)) > 0) return &finding;
  }
  return nullptr;
}

std::vector<Cause> causes_of(std::int64_t change, const std::vector<LineChange>& changes, const Recording& recording) {
  constexpr std::size_t kMostCauses = 4;
  constexpr double kLeastShare = 0.02;
  std::vector<Cause> causes;
  for (const auto& [each, share] : analyzer::shares_of(changes, change)) {
    if (share < kLeastShare || causes.size() == kMostCauses) break;
    Cause cause;
    cause.file = each.line.file;
    cause.line = each.line.line;
    cause.function = each.line.function;
    cause.caller = each.line.caller;
    cause.holder = each.line.holder;
    cause.bytes = each.change;
    cause.share = share;
    if (const FindingFact* finding = change > 0 ? finding_at(recording, each.line) : nullptr; finding != nullptr) {
      cause.finding = finding->number;
      cause.title = finding->title;
      cause.fix = finding->fix;
      if (!finding->holder.empty()) cause.holder = finding->holder;
    }
    causes.push_back(std::move(cause));
  }
  if (!causes.empty() || recording.findings.empty() || change < 0) return causes;
  // Facts without lines, such as residual bytes, are explained by the largest finding.
  const FindingFact& finding = *std::ranges::max_element(recording.findings, {}, &FindingFact::bytes);
  causes.push_back(
      {finding.file, finding.line, "", "", finding.holder, finding.bytes.value,
       std::min(1.0, static_cast<double>(finding.bytes.value) / static_cast<double>(std::max<std::int64_t>(1, change))),
       finding.number, finding.title, finding.fix});
  return causes;
}

/// Adds the causes of changed bytes.
void add_causes(const Section& section, const Recording& recording, std::vector<CheckedFact>& facts) {
  std::vector<CheckedFact*> explained;
  std::vector<std::vector<LineChange>> changes;
  for (CheckedFact& each : facts) {
    const Fact* now = recording.fact(each.name);
    const bool differs = each.failed || each.state == State::kGrew || each.state == State::kGained;
    if (each.unit != Unit::kBytes || now == nullptr || !differs) continue;
    const BaselineFact* before = section.fact(each.name);
    explained.push_back(&each);
    changes.push_back(
        analyzer::line_changes(before != nullptr ? before->composition : analyzer::Composition(), now->lines));
  }
  analyzer::settle_by_others(changes);
  for (std::size_t i = 0; i < explained.size(); ++i) {
    explained[i]->causes = causes_of(explained[i]->change(), changes[i], recording);
  }
}

void judge_bytes(CheckedFact& fact, std::int64_t expected, const Rules& rules) {
  const std::int64_t change = fact.change();
  if (change > fact.tolerance + expected) {
    fact.state = State::kGrew;
    fact.failed = true;
  } else if (change > fact.tolerance) {
    fact.state = State::kRetained;
  } else if (change < -fact.tolerance) {
    fact.state = State::kGained;
    fact.failed = rules.strict;
  } else {
    fact.state = change == 0 ? State::kEqual : State::kWithin;
  }
}

void judge_count(CheckedFact& fact) {
  const std::int64_t change = std::abs(fact.change());
  if (change <= fact.tolerance) {
    fact.state = change == 0 ? State::kEqual : State::kWithin;
  } else {
    fact.state = *fact.baseline > 0 && fact.now == 0 ? State::kVacuous : State::kChanged;
  }
  fact.failed = fact.state == State::kVacuous || fact.state == State::kChanged;
}

/// Judges a fact that the baseline lacks: a path that did not run then, or a part of the run above all others.
void judge_new(CheckedFact& fact, const Section& section, const Rules& rules) {
  fact.state = State::kNew;
  fact.failed = rules.strict;
  if (fact.unit == Unit::kCount) {
    fact.state = State::kChanged;
    fact.failed = true;
    return;
  }
  std::int64_t highest = 0;
  for (const BaselineFact& each : section.facts) {
    if (fact.name.starts_with("peak.") && each.name.starts_with("peak."))
      highest = std::max(highest, each.value + std::max(each.tolerance, rules.allowance.of(each.value, section)));
  }
  if (fact.now <= highest) return;
  fact.state = State::kGrew;
  fact.failed = true;
}

/// False for parts of a run that may be missing without a defect.
bool is_phase(const std::string& name) {
  return name.starts_with("peak.") && name != "peak.other" && name != "peak.after" && name != "peak.first_step";
}

bool is_about(const FindingFact& finding, const std::string& text) {
  const auto has = [&text](const std::string& where) { return where.find(text) != std::string::npos; };
  return has(finding.holder) || has(finding.title) || has(finding.rule) || has(finding.identity.born) ||
         has(finding.identity.holder.value_or("")) || has(finding.identity.released);
}

/// The additional bytes that facts may have because of expected findings. Adds warnings and reasons about them.
std::int64_t expected_bytes(const Baseline& baseline, const Recording& recording, const Rules& rules,
                            Verdict& verdict) {
  std::int64_t bytes = 0;
  for (const Retention& each : baseline.expect) {
    const bool there = std::ranges::any_of(recording.findings,
                                           [&](const FindingFact& finding) { return is_about(finding, each.finding); });
    const std::string name = "expected retention '" + each.finding + "' (" + each.reason + ")";
    const std::optional<std::int64_t> until = day_of(each.until);
    const std::optional<std::int64_t> today = day_of(rules.today);
    if (!there) {
      verdict.warnings.push_back(name + " is not in this run: its entry can go");
      continue;
    }
    const std::int64_t days = until && today ? *until - *today : -1;
    if (days < 0 && rules.on_main) {
      verdict.reasons.push_back(name + " has expired on " + each.until);
      continue;
    }
    bytes += each.bytes;
    if (days < 0) {
      verdict.warnings.push_back(name + " has expired on " + each.until + ": this fails on the main branch");
    } else if (days <= kDaysAhead) {
      verdict.warnings.push_back(name + " expires on " + each.until + ", in " + counted(days, "day"));
    }
  }
  return bytes;
}

void add_sentences(const Section& section, const Recording& recording, Verdict& verdict) {
  if (recording.operators > 0) {
    const std::string now = counted(recording.operators, "operator") + " recorded in the last step";
    verdict.order = section.order == recording.order ? "the order of operators is that of the baseline (" + now + ")"
                                                     : "the operators of a step differ from those of the baseline (" +
                                                           now + ", " + std::to_string(section.operators) + " there)";
  }
  const auto count = [&](const char* name) {
    const Fact* fact = recording.fact(name);
    return fact != nullptr ? fact->value : 0;
  };
  if (count("gathers") == 0 && count("releases.final") == 0) return;
  verdict.ran =
      counted(count("gathers"), "gather") + ", " + counted(count("releases.final"), "final non-persistent release");
}

/// Parameters that are persistent are kept by design: if all are, releases have freed nothing, and nothing was tested.
std::optional<std::string> vacuous(const Section& section, const Recording& recording) {
  const BaselineFact* before = section.fact("releases.final");
  if (before == nullptr || before->value == 0 || recording.fact("releases.final") != nullptr) return std::nullopt;
  const Fact* persistent = recording.fact("releases.persistent");
  return persistent != nullptr
             ? "all " + std::to_string(persistent->value) +
                   " releases are of persistent parameters: nothing was to be freed, so nothing was tested"
             : "no release ran, so nothing was tested";
}

}  // namespace

Expected<Verdict> judge(const std::string& baseline_path, const Baseline& baseline, const Recording& recording,
                        const Rules& rules) {
  Verdict verdict;
  verdict.baseline = baseline_path;
  verdict.section = recording.section;
  verdict.traces = recording.paths;
  std::vector<std::string> require = baseline.require;
  require.insert(require.end(), rules.require.begin(), rules.require.end());
  DCMT_ASSIGN_OR_RETURN(std::vector<std::string> lacking, unmet(require, recording));
  if (!recording.unfit.empty()) {
    verdict.outcome = Outcome::kUnfit;
    verdict.reasons = recording.unfit;
    return verdict;
  }
  const Section* section = baseline.section(recording.section);
  verdict.reasons = not_comparable(baseline, recording);
  const bool comparable = verdict.reasons.empty();
  if (!comparable) verdict.outcome = Outcome::kNotComparable;
  if (section == nullptr) return verdict;
  if (comparable) {
    if (std::optional<std::string> why = vacuous(*section, recording)) lacking.push_back(std::move(*why));
    verdict.reasons = std::move(lacking);
  }
  const std::int64_t expected = expected_bytes(baseline, recording, rules, verdict);
  const auto add = [&](const BaselineFact* before, const Fact* now, const std::string& name, Unit unit) {
    CheckedFact& fact = verdict.facts.emplace_back();
    fact.name = name;
    fact.unit = unit;
    fact.now = now != nullptr ? now->value : 0;
    fact.rank = recording.ranks > 1 && now != nullptr ? now->rank : -1;
    if (before == nullptr) {
      judge_new(fact, *section, rules);
      return;
    }
    fact.baseline = before->value;
    fact.tolerance = before->tolerance;
    if (unit == Unit::kBytes) fact.tolerance = std::max(fact.tolerance, rules.allowance.of(before->value, *section));
    fact.anchor = before->anchor;
    fact.since = before->since;
    if (now == nullptr && before->optional) {
      fact.state = State::kAbsent;
    } else if (now == nullptr && is_phase(name)) {
      fact.state = State::kVacuous;
      fact.failed = true;
    } else {
      unit == Unit::kBytes ? judge_bytes(fact, expected, rules) : judge_count(fact);
    }
  };
  for (const BaselineFact& before : section->facts) {
    add(&before, recording.fact(before.name), before.name, before.unit);
  }
  for (const Fact& now : recording.facts) {
    if (section->fact(now.name) == nullptr) add(nullptr, &now, now.name, now.unit);
  }
  add_causes(*section, recording, verdict.facts);
  add_sentences(*section, recording, verdict);
  if (comparable && (!verdict.reasons.empty() || verdict.failed_facts() > 0)) verdict.outcome = Outcome::kFailed;
  return verdict;
}

std::int64_t Verdict::failed_facts() const {
  return std::ranges::count_if(facts, [](const CheckedFact& fact) { return fact.failed; });
}

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return "passed";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kNotComparable:
      return "not comparable";
    case Outcome::kUnfit:
      return "unfit";
  }
  return "";
}

std::string_view name_of(State state) {
  switch (state) {
    case State::kEqual:
      return "equal";
    case State::kWithin:
      return "within tolerance";
    case State::kGrew:
      return "grew";
    case State::kGained:
      return "gained";
    case State::kChanged:
      return "changed";
    case State::kVacuous:
      return "vacuous";
    case State::kRetained:
      return "retained";
    case State::kNew:
      return "new";
    case State::kAbsent:
      return "absent";
  }
  return "";
}

std::string_view name_of(Unit unit) { return unit == Unit::kBytes ? "bytes" : "count"; }

}  // namespace dcmt::gate

#include "cli/check_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

namespace dcmt::cli {
namespace {

using gate::Cause;
using gate::CheckedFact;
using gate::Outcome;
using gate::State;
using gate::Unit;
using gate::Verdict;

constexpr std::size_t kLabel = 8;  // columns

std::string line(std::string_view label, const std::string& text, const Style& style) {
  return "  " + style.dim(left(label, kLabel)) + text + "\n";
}

std::string signed_number(std::int64_t number) { return (number > 0 ? "+" : "") + grouped(number); }

std::string signed_percent(std::int64_t change, std::int64_t of) {
  const double share = static_cast<double>(change) / static_cast<double>(of);
  return fmt::format("{}{}", share > 0 ? "+" : "", percent(share, std::abs(share) < 0.1 ? 2 : 1));
}

std::string state_text(const CheckedFact& fact) {
  switch (fact.state) {
    case State::kVacuous:
      return "  did not run";
    case State::kNew:
      return "  not in the baseline";
    case State::kRetained:
      return "  expected for a while";
    case State::kGained:
      return fact.failed ? "  a gain that the baseline does not have" : "  a gain";
    default:
      return "";
  }
}

std::string table(const Verdict& verdict) {
  std::size_t names = 0;
  std::size_t before = 0;
  std::size_t now = 0;
  const auto value_of = [](std::optional<std::int64_t> value) { return value ? grouped(*value) : "-"; };
  for (const CheckedFact& fact : verdict.facts) {
    if (fact.is_as_before()) continue;
    names = std::max(names, fact.name.size());
    before = std::max(before, value_of(fact.baseline).size());
    now = std::max(now, grouped(fact.now).size());
  }
  std::string text;
  for (const CheckedFact& fact : verdict.facts) {
    if (fact.is_as_before()) continue;
    text += fmt::format("  {}  {} → {}{}{}{}\n", left(fact.name, names), right(value_of(fact.baseline), before),
                        right(grouped(fact.now), now), fact.unit == Unit::kBytes ? " B" : "",
                        fact.rank >= 0 ? fmt::format("  rank {}", fact.rank) : "", state_text(fact));
  }
  return text;
}

/// The fact in the headline: of the failed facts, the one that changed most; of several, the highest.
const CheckedFact* worst(const Verdict& verdict) {
  const CheckedFact* worst = nullptr;
  for (const CheckedFact& fact : verdict.facts) {
    if (!fact.failed) continue;
    const auto weight = [](const CheckedFact& each) {
      return std::tuple(each.unit == Unit::kBytes, std::abs(each.change()), each.now);
    };
    const bool more = worst == nullptr || weight(fact) > weight(*worst);
    if (more) worst = &fact;
  }
  return worst;
}

/// Explains the failed facts: the worst one in full, and of the others what has not been printed yet.
std::string why_lines(const Verdict& verdict, const Style& style) {
  std::string text;
  std::vector<std::pair<std::string, std::int64_t>> said;
  std::vector<std::int64_t> fixed;  // findings whose fix was printed
  const auto add = [&](const CheckedFact& fact, const Cause& cause) {
    if (std::ranges::count(said, std::pair(cause.file, cause.line)) > 0) return;
    said.emplace_back(cause.file, cause.line);
    text += line(text.empty() ? "why" : "", fact.name + ": " + cause_text(fact, cause), style);
    if (!cause.caller.empty()) text += line("", "  called at " + cause.caller, style);
    if (!cause.fix || std::ranges::count(fixed, *cause.finding) > 0) return;
    fixed.push_back(*cause.finding);
    text += line("", "  fix: " + *cause.fix, style);
  };
  const CheckedFact* first = worst(verdict);
  if (first != nullptr) {
    for (const Cause& cause : first->causes) add(*first, cause);
  }
  for (const CheckedFact& fact : verdict.facts) {
    if (!fact.is_as_before() && fact.change() > 0 && !fact.causes.empty()) add(fact, fact.causes.front());
  }
  return text;
}

std::string since_lines(const Verdict& verdict, const Style& style) {
  std::string text;
  for (const CheckedFact& fact : verdict.facts) {
    // The baseline was updated since the anchor: shows the sum of all updates.
    if (!fact.anchor || *fact.anchor == 0 || fact.anchor == fact.baseline || fact.state == State::kAbsent) continue;
    // "+0.00 %" says nothing.
    constexpr double kLeastShare = 0.00005;
    const auto change = static_cast<double>(std::abs(fact.now - *fact.anchor));
    if (change < kLeastShare * static_cast<double>(*fact.anchor)) continue;
    text += line(text.empty() ? "since" : "",
                 fmt::format("{}: {} {} in all ({} then)", fact.since, fact.name,
                             signed_percent(fact.now - *fact.anchor, *fact.anchor), grouped(*fact.anchor)),
                 style);
  }
  return text;
}

std::int64_t count_of(const Verdict& verdict, bool as_before) {
  return std::ranges::count(verdict.facts, as_before, &CheckedFact::is_as_before);
}

std::string highest_peak(const Verdict& verdict) {
  const CheckedFact* highest = nullptr;
  for (const CheckedFact& fact : verdict.facts) {
    if (fact.name.starts_with("peak.") && (highest == nullptr || fact.now > highest->now)) highest = &fact;
  }
  return highest != nullptr ? fmt::format(", {} {}", highest->name, rounded_bytes(highest->now)) : "";
}

std::string painted(const Verdict& verdict, const Style& style) {
  const std::string text(outcome_text(verdict.outcome));
  return verdict.outcome == Outcome::kPassed ? style.good(text) : style.bad(text);
}

}  // namespace

std::string_view outcome_text(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return "PASS";
    case Outcome::kFailed:
      return "FAIL";
    case Outcome::kNotComparable:
      return "NOT COMPARABLE";
    case Outcome::kUnfit:
      return "NO VERDICT";
  }
  return "";
}

std::string path_from_here(const std::string& file) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  if (error || file.empty()) return file;
  const std::filesystem::path relative = std::filesystem::path(file).lexically_relative(here);
  const bool below = !relative.empty() && *relative.begin() != "..";
  return below ? relative.string() : file;
}

std::string change_text(const CheckedFact& fact) {
  std::string text = fact.name + " " + signed_number(fact.change());
  if (fact.unit == Unit::kBytes) text += " B";
  if (fact.baseline.value_or(0) > 0) text += " (" + signed_percent(fact.change(), *fact.baseline) + ")";
  return text;
}

std::string cause_text(const CheckedFact& fact, const Cause& cause) {
  std::string text;
  if (cause.finding) text += fmt::format("finding {} ({}), ", *cause.finding, cause.title.value_or(""));
  if (!cause.file.empty()) {
    text += fmt::format("{}:{}", path_from_here(cause.file), cause.line);
    // Only "step" of "train.py step" if the file was already printed.
    if (const std::size_t space = cause.function.rfind(' '); space != std::string::npos)
      text += cause.function.substr(space);
  } else {
    text += cause.function;
  }
  text += fmt::format(": {} B, {} of the {}", signed_number(cause.bytes), percent(cause.share, 0),
                      fact.change() > 0 ? "growth" : "gain");
  if (!cause.holder.empty()) text += ", held by " + cause.holder;
  return text;
}

std::string headline_of(const Verdict& verdict) {
  if (verdict.outcome == Outcome::kPassed) {
    return fmt::format("{} as in {} ({}){}", counted(count_of(verdict, true), "fact"), verdict.baseline,
                       verdict.section, highest_peak(verdict));
  }
  const CheckedFact* fact = worst(verdict);
  if (!verdict.reasons.empty()) return verdict.reasons.front();
  return fact != nullptr ? change_text(*fact) : "";
}

std::string updated_text(const Verdict& accepted, const Style& style) {
  const std::int64_t changed = count_of(accepted, false);
  std::string text = fmt::format("{}: {} of {}, {} changed{}\n", style.bold(accepted.baseline),
                                 counted(static_cast<std::int64_t>(accepted.facts.size()), "fact"), accepted.section,
                                 changed, highest_peak(accepted));
  return text + table(accepted) + since_lines(accepted, style);
}

std::string check_text(const Verdict& verdict, const CheckAdvice& advice, const Style& style) {
  std::string text = painted(verdict, style) + "  " + headline_of(verdict);
  const CheckedFact* fact = verdict.outcome == Outcome::kFailed ? worst(verdict) : nullptr;
  if (fact != nullptr && verdict.reasons.empty()) {
    text += fact->unit == Unit::kBytes ? fmt::format("          tolerance {}", exact_bytes(fact->tolerance)) : "";
  }
  text += "\n";
  for (std::size_t i = 1; i < verdict.reasons.size(); ++i) text += line("", verdict.reasons[i], style);
  text += table(verdict);
  if (verdict.outcome != Outcome::kPassed) {
    text += why_lines(verdict, style);
    if (!verdict.order.empty()) text += line("where", verdict.order, style);
    const std::int64_t others = count_of(verdict, true);
    if (!verdict.ran.empty()) text += line("ran", verdict.ran, style);
    std::vector<std::string> rest;
    if (others > 0) rest.push_back(counted(others, "other fact") + " equal");
    if (verdict.recordings > 1) rest.push_back(fmt::format("the same in each of {} recordings", verdict.recordings));
    if (!rest.empty()) text += line("rest", joined(rest, "; "), style);
  }
  text += since_lines(verdict, style);
  for (const std::string& warning : verdict.warnings) text += line("note", warning, style);
  if (verdict.outcome == Outcome::kPassed) return text;
  if (!advice.redo.empty()) text += line("redo", advice.redo, style);
  const bool keeps = verdict.outcome != Outcome::kUnfit && !advice.update.empty();
  if (keeps) text += line("keep", "intended? " + advice.update + ", and commit " + verdict.baseline, style);
  text.pop_back();
  return text + fmt::format("  [exit {}]\n", advice.exit_code);
}

}  // namespace dcmt::cli

#include "cli/oom_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/holder_text.h"
#include "trace/base/shell_words.h"

namespace dcmt::cli {
namespace {

using model::Finding;
using model::Group;
using model::OutOfMemory;

constexpr std::size_t kMostGroups = 3;

std::string asked(const OutOfMemory& error) {
  std::string text = exact_bytes(error.requested.value);
  if (error.by.outer_operator) text += fmt::format(" by {}", *error.by.outer_operator);
  if (!error.by.stack.empty()) text += " at " + error.by.site;
  return text;
}

std::string figures(const OutOfMemory& error) {
  std::string text = "allocated " + exact_bytes(error.allocated.value);
  if (error.reserved) text += " · reserved " + exact_bytes(error.reserved->value);
  if (error.free && error.total) {
    text += fmt::format(" · free {} of {}", exact_bytes(error.free->value), exact_bytes(error.total->value));
  }
  return text;
}

std::string alive_lines(const std::optional<model::Groups>& alive, const Style& style) {
  if (!alive) return labelled("alive", "not kept of that part of the run", style);
  const std::vector<Group>& groups = alive->groups;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostGroups, groups.size()); ++i) {
    const std::string from = groups[i].blocks != 0 ? counted(groups[i].blocks, "block") + " from" : "blocks";
    text += labelled(i == 0 ? "alive" : "",
                     fmt::format("{} in {} {}", exact_bytes(groups[i].bytes.value), from, groups[i].name), style);
  }
  if (groups.size() > kMostGroups) {
    text += labelled("", counted(static_cast<std::int64_t>(groups.size() - kMostGroups), "more place"), style);
  }
  return text;
}

std::string dead_lines(const Finding& finding, const OutOfMemory& error, const Style& style) {
  const std::vector<std::int64_t>& findings = finding.memory_ran_out->findings;
  const std::string of =
      findings.empty() ? "" : (findings.size() == 1 ? ": finding " : ": findings ") + ranges(findings);
  std::string text = labelled("dead",
                              fmt::format("{} released and still held, in {}{}", exact_bytes(error.dead.value),
                                          counted(static_cast<std::int64_t>(finding.items.size()), "storage"), of),
                              style);
  if (finding.holders) {
    text += holder_lines(*finding.holders, finding.items.size() > 1 ? "   the largest, at that moment" : "", style);
  }
  return text + labelled("without it",
                         fmt::format("allocated {}; {} were missing: the request {}",
                                     exact_bytes(error.without_dead.value), exact_bytes(error.missing.value),
                                     error.fits_without_dead ? "fits" : "still does not fit"),
                         style);
}

}  // namespace

std::string out_of_memory_text(const std::string& path, const Finding& finding, const Style& style) {
  const OutOfMemory& error = finding.out_of_memory.front();
  const auto times = static_cast<std::int64_t>(finding.out_of_memory.size());
  std::string where(error.device);
  if (error.step) where += fmt::format(" · step {}", *error.step);
  if (error.phase) where += fmt::format(" · {}", *error.phase);
  std::string text = fmt::format("{}  {}   {}{}\n", finding.number, style.bad("OUT OF MEMORY"), where,
                                 times > 1 ? fmt::format("   {} times", grouped(times)) : "");
  text += labelled("asked", asked(error), style);
  text += labelled("had", figures(error), style);
  text += alive_lines(finding.memory_ran_out->alive, style);
  if (error.dead.value > 0) text += dead_lines(finding, error, style);
  text += labelled("because", finding.why, style);
  text +=
      labelled("after it",
               finding.memory_ran_out->all_went_on ? "the program went on" : "nothing more ran on that thread", style);
  text += labelled("fix", finding.fix, style);
  const std::string which = error.index > 1 ? fmt::format("#{}", error.index) : "";
  return text + labelled("next", fmt::format("dc-memtrace show live {} --at oom{}", shell_word(path), which), style);
}

}  // namespace dcmt::cli

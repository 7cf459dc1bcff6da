#include "cli/oom_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/holder_text.h"

namespace dcmt::cli {
namespace {

using analyzer::Group;
using model::Finding;
using model::OutOfMemory;

constexpr std::size_t kMostGroups = 3;

std::string asked(const OutOfMemory& error, const Style& style) {
  std::string text = style.bytes(error.requested);
  if (error.by.outer_operator) text += fmt::format(" by {}", *error.by.outer_operator);
  if (!error.by.stack.empty()) text += " at " + error.by.site;
  return text;
}

std::string figures(const OutOfMemory& error, const Style& style) {
  std::string text = "allocated " + style.bytes(error.allocated);
  if (error.reserved) text += " · reserved " + style.bytes(*error.reserved);
  if (error.free && error.total) {
    text += fmt::format(" · free {} of {}", style.bytes(*error.free), style.bytes(*error.total));
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
                     fmt::format("{} in {} {}", style.bytes(groups[i].bytes), from, groups[i].name), style);
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
                              fmt::format("{} released and still held, in {}{}", style.bytes(error.dead),
                                          counted(static_cast<std::int64_t>(finding.items.size()), "storage"), of),
                              style);
  if (finding.holders) {
    text +=
        holder_lines(*finding.holders, finding.items.size() > 1 ? "   the largest, at the out-of-memory" : "", style);
  }
  return text +
         labelled("without it",
                  fmt::format("allocated {}; {} were missing: the request {}", style.bytes(error.without_dead),
                              style.bytes(error.missing), error.fits_without_dead ? "fits" : "still does not fit"),
                  style);
}

}  // namespace

std::string out_of_memory_text(const Finding& finding, const Style& style) {
  const OutOfMemory& error = finding.out_of_memory.front();
  const auto times = static_cast<std::int64_t>(finding.out_of_memory.size());
  std::string where(error.device);
  if (error.step) where += fmt::format(" · step {}", *error.step);
  if (error.phase) where += fmt::format(" · {}", *error.phase);
  std::string text = fmt::format("{}  {}   {}{}\n", finding.number, style.bad("OUT OF MEMORY"), where,
                                 times > 1 ? fmt::format("   {} times", grouped(times)) : "");
  text += labelled("asked", asked(error, style), style);
  text += labelled("had", figures(error, style), style);
  text += alive_lines(finding.memory_ran_out->alive, style);
  if (error.dead.value > 0) text += dead_lines(finding, error, style);
  text += labelled("because", finding.why, style);
  text +=
      labelled("after it",
               finding.memory_ran_out->all_went_on ? "the program went on" : "nothing more ran on that thread", style);
  return text + labelled("fix", finding.fix, style);
}

}  // namespace dcmt::cli

#include "render/wording/device_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "render/wording/holder_words.h"
#include "render/wording/story_words.h"
#include "trace/base/demangled.h"

namespace dcmt::wording {
namespace {

using analyzer::Group;
using analyzer::InFlightEvent;
using analyzer::ReusedInFlight;
using analyzer::WaitingSite;
using analyzer::WaitsAtPeak;
using model::OutOfMemory;
using model::ReportedFinding;

/// "cuda:0 · step 3 · forward".
std::string where_of(std::string_view device, const std::optional<std::int64_t>& step,
                     const std::optional<std::string_view>& phase) {
  std::string where(device);
  if (step) where += fmt::format(" · step {}", *step);
  if (phase) where += fmt::format(" · {}", *phase);
  return where;
}

std::string asked(const OutOfMemory& error, const Form& form) {
  const std::string by = by_text(error.by);
  return form.bytes(error.requested) + (error.by.outer_operator ? " by " : by.empty() ? "" : " ") + by;
}

std::string figures(const OutOfMemory& error, const Form& form) {
  std::string text = "allocated " + form.bytes(error.allocated);
  if (error.reserved) text += " · reserved " + form.bytes(*error.reserved);
  if (error.free) text += " · free " + form.bytes(*error.free);
  if (error.free && error.total) text += " of " + form.bytes(*error.total);
  return text;
}

/// Adds the first of a list, and the number of the others.
template <class List, class Describe>
void add_list(std::string_view label, const List& list, const Form& form, LabelledLines& facts,
              const Describe& describe, std::string_view kind = "place") {
  for (std::size_t i = 0; i < std::min(form.most, list.size()); ++i) {
    facts.push_back({i == 0 ? std::string(label) : std::string(), describe(list[i])});
  }
  if (list.size() > form.most) {
    facts.push_back({"", counted(static_cast<std::int64_t>(list.size() - form.most), fmt::format("more {}", kind))});
  }
}

void add_alive(const model::OutOfMemoryStory& story, const Form& form, LabelledLines& facts) {
  const std::optional<model::Groups>& alive = story.alive;
  if (!alive) {
    facts.push_back({"alive", "not kept of that part of the run"});
    return;
  }
  add_list("alive", alive->groups, form, facts, [&form](const Group& group) {
    const std::string from = group.blocks != 0 ? counted(group.blocks, "block") + " from" : "blocks";
    return fmt::format("{} in {} {}", form.bytes(group.bytes), from, group.name);
  });
  const auto by = [&form](const Group& group) { return fmt::format("{} by {}", form.bytes(group.bytes), group.name); };
  add_list("held", story.held.groups, form, facts, by, "holder");
}

void add_dead(const ReportedFinding& finding, const OutOfMemory& error, const Form& form, LabelledLines& facts) {
  const std::vector<std::int64_t>& findings = finding.memory_ran_out->findings;
  const std::string of =
      findings.empty() ? "" : (findings.size() == 1 ? ": finding " : ": findings ") + ranges(findings);
  facts.push_back({"dead", fmt::format("{} released and still held, in {}{}", form.bytes(error.dead),
                                       counted(static_cast<std::int64_t>(finding.items.size()), "storage"), of)});
  if (finding.holders) {
    std::ranges::move(
        holder_facts(*finding.holders, finding.items.size() > 1 ? "   the largest, at the out-of-memory" : "", form),
        std::back_inserter(facts));
  }
  facts.push_back(
      {"without it", fmt::format("allocated {}; {} were missing: the request {}", form.bytes(error.without_dead),
                                 form.bytes(error.missing), error.fits_without_dead ? "fits" : "still does not fit")});
}

std::string stream_name(std::optional<std::int32_t> stream) {
  if (stream == 0) return "the default stream";
  return stream.value_or(-1) > 0 ? fmt::format("stream {}", *stream) : "a stream that is not known";
}

std::string times(std::int64_t blocks, TimeNs median, TimeNs longest) {
  if (blocks == 1) return duration(longest.value);
  return fmt::format("{} (median) to {}", duration(median.value), duration(longest.value));
}

/// Of which classes, where, how much.
std::string about(const ReportedFinding& finding, const std::string& where, const Form& form) {
  return fmt::format("  ({})   {}   {}", fmt::join(finding.classes, ", "), where, form.bytes(finding.bytes));
}

/// "on stream 1 by aten::mul (vectorized_elementwise_kernel) at train.py:12 main".
std::string event_text(const InFlightEvent& event) {
  std::string text = event.stream ? "on " + stream_name(event.stream) : std::string();
  const std::string name = event.name ? short_function(*event.name) : std::string();
  const std::string by = event.by ? std::string(*event.by) + (name.empty() ? "" : " (" + name + ")") : name;
  if (!by.empty()) text += (text.empty() ? "by " : " by ") + by;
  return text + (text.empty() ? "at " : " at ") + event.site;
}

/// The program's own frames that lead there, as many as are shown.
void add_event(std::string_view label, const InFlightEvent& event, const Form& form, LabelledLines& facts) {
  facts.push_back({std::string(label), event_text(event)});
  std::size_t shown = 0;
  bool is_first = true;
  for (const analyzer::FrameText& frame : event.stack) {
    if (frame.library()) continue;
    if (!std::exchange(is_first, false) && shown++ < form.most) {
      facts.push_back({"", fmt::format("  from {}:{} {}", shown_path(frame.file), frame.line, frame.function)});
    }
  }
}

}  // namespace

FindingWords in_flight_words(const ReportedFinding& finding, const Form& form) {
  const ReusedInFlight& reused = *finding.in_flight;
  FindingWords words{finding_title(finding), about(finding, std::string(finding.device.value_or("")), form), {}};
  if (reused.times > 1) words.about += fmt::format("   {} times", grouped(reused.times));
  LabelledLines& facts = words.facts;
  facts.push_back({"allocated", event_text(reused.allocated)});
  add_event("used", reused.used, form, facts);
  add_event("freed", reused.freed, form, facts);
  add_event("again", reused.allocated_again, form, facts);
  facts.push_back({"used again", event_text(reused.used_again)});
  facts.push_back({"because", finding.why});
  if (finding.confidence != analyzer::Confidence::kCertain) {
    facts.push_back({"not certain", "a kernel that is given an address need not use it"});
  }
  facts.push_back({"fix", finding.fix});
  return words;
}

FindingWords out_of_memory_words(const ReportedFinding& finding, const Form& form) {
  const OutOfMemory& error = finding.out_of_memory.front();
  const auto times = static_cast<std::int64_t>(finding.out_of_memory.size());
  FindingWords words{finding_title(finding), "   " + where_of(error.device, error.step, error.phase), {}};
  if (times > 1) words.about += fmt::format("   {} times", grouped(times));
  LabelledLines& facts = words.facts;
  facts.push_back({"asked", asked(error, form)});
  facts.push_back({"had", figures(error, form)});
  add_alive(*finding.memory_ran_out, form, facts);
  if (error.dead.value > 0) add_dead(finding, error, form, facts);
  facts.push_back({"because", finding.why});
  if (const std::optional<bool> went_on = finding.memory_ran_out->all_went_on)
    facts.push_back({"after it", *went_on ? "the program went on" : "nothing more ran on that thread"});
  facts.push_back({"fix", finding.fix});
  return words;
}

FindingWords waits_words(const ReportedFinding& finding, const Form& form) {
  const WaitsAtPeak& waits = *finding.waits;
  FindingWords words{finding_title(finding), about(finding, where_of(waits.device, waits.step, waits.phase), form), {}};
  LabelledLines& facts = words.facts;
  facts.push_back({"waited", fmt::format("{}, {} of the {} active at their peak, for {}",
                                         counted(waits.blocks, "block"), percent(waits.waiting_share(), 1),
                                         form.bytes(waits.active), times(waits.blocks, waits.median, waits.longest))});
  facts.push_back({"without it", fmt::format("at most {} active; waiting at once were {} at most",
                                             form.bytes(waits.without_waits), form.bytes(waits.most_waiting))});
  add_list("allocated", waits.sites, form, facts, [&form](const WaitingSite& site) {
    return fmt::format("{} in {} on {} from {}: {}", form.bytes(site.bytes), counted(site.blocks, "block"),
                       stream_name(site.stream), site.site, times(site.blocks, site.median, site.longest));
  });
  facts.push_back({"because", finding.why});
  facts.push_back(
      {"seen",
       fmt::format("{} of {} had to wait", grouped(waits.frees_that_waited), counted(waits.frees, "freed block")) +
           (waits.run_active > waits.active
                ? fmt::format("; at most active were {}, where no rows were kept", form.bytes(waits.run_active))
                : "")});
  facts.push_back({"fix", finding.fix});
  return words;
}

}  // namespace dcmt::wording

#include "render/wording/finding_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "render/wording/device_words.h"
#include "render/wording/forked_words.h"
#include "render/wording/fragmented_words.h"
#include "render/wording/growth_words.h"
#include "render/wording/holder_words.h"
#include "render/wording/native_words.h"
#include "render/wording/object_growth_words.h"
#include "render/wording/proof_words.h"
#include "render/wording/story_words.h"
#include "trace/base/shell_words.h"

namespace dcmt::wording {
namespace {

using analyzer::LaunchCounts;
using analyzer::OperatorCount;
using model::ReportedFinding;
using model::ReportedItem;

/// The names of the parameters if all have one, else their numbers.
std::string keys_of_graph(const model::ParametersOfGraph& parameters) {
  constexpr std::size_t kMostNames = 4;
  if (parameters.names.empty()) return (parameters.keys.size() == 1 ? "id " : "ids ") + ranges(parameters.keys);
  std::vector<std::string> names = parameters.names;
  if (names.size() > kMostNames) {
    names.resize(kMostNames);
    names.push_back(fmt::format("{} more", parameters.names.size() - kMostNames));
  }
  return joined(names, ", ");
}

std::string parameters_text(const ReportedFinding& finding) {
  std::vector<std::string> parts;
  for (const model::ParametersOfGraph& parameters : finding.parameters) {
    std::string text = keys_of_graph(parameters);
    if (finding.parameters.size() > 1 || parameters.graph != 0) text += " of " + parameters.graph_name;
    parts.push_back(std::move(text));
  }
  return joined(parts, "; ");
}

/// The parameters and steps of a finding.
std::string subject_text(const ReportedFinding& finding) {
  const std::string steps = steps_text(finding.steps);
  return parameters_text(finding) + (steps.empty() ? "" : " · " + steps);
}

std::string bytes_text(const ReportedFinding& finding, const Form& form) {
  if (const auto each = finding.bytes_each) {
    return finding.keys == 1 ? form.bytes(*each) : fmt::format("{} × {}", finding.keys, form.bytes(*each));
  }
  return fmt::format("{}, {}", counted(finding.keys, "storage"), form.bytes(finding.bytes));
}

std::string operators_text(const OperatorCount& count) {
  if (count.exact()) return counted(count.at_least, "operator");
  if (count.at_most) return fmt::format("{} to {} operators", grouped(count.at_least), grouped(*count.at_most));
  return fmt::format("at least {}", counted(count.at_least, "operator"));
}

/// Launches that do not show what memory they use.
std::string opaque_text(const LaunchCounts& counts) {
  if (counts.opaque() == 0) return "none opaque";
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t count, std::string_view one, std::string_view many) {
    if (count > 0) parts.push_back(counted(count, one, many));
  };
  add(counts.graphs, "graph", "graphs");
  add(counts.nccl, "NCCL kernel", "NCCL kernels");
  add(counts.unknown, "with unknown parameters", "with unknown parameters");
  add(counts.copies, "copy of several parts", "copies of several parts");
  return fmt::format("{} opaque ({})", grouped(counts.opaque()), joined(parts, ", "));
}

std::string none_seen_text(const ReportedFinding& finding) {
  const std::string operators = operators_text(finding.coverage);
  if (!finding.launches) {
    return fmt::format("after the release: none seen in {}; calls past the dispatcher are not observed", operators);
  }
  return fmt::format("after the release: none seen in {} and {}, {}{}", operators,
                     counted(finding.launches->counts.calls, "launch", "launches"),
                     opaque_text(finding.launches->counts),
                     finding.launches->whole ? "" : "; launches were not recorded all the time");
}

/// The readers: operators and kernels separately, because a reading operator launches reading kernels.
std::string readers_text(const ReportedFinding& finding) {
  std::vector<std::string> parts;
  if (finding.reads > 0) parts.push_back(counted(finding.reads, "operator"));
  if (finding.kernel_reads > 0) parts.push_back(counted(finding.kernel_reads, "kernel"));
  return joined(parts, " and ");
}

std::string freed_text(const model::HeldFor& held) {
  const std::string operators =
      held.least_operators == held.most_operators
          ? counted(held.most_operators, "operator")
          : fmt::format("{} to {} operators", grouped(held.least_operators), grouped(held.most_operators));
  return fmt::format("{}: {}{}, {} after the release", gone_text(held.gone), held.exact ? "" : "at least ", operators,
                     durations(held.shortest, held.longest));
}

std::string released_text(const ReportedFinding& finding, const model::Mark& release) {
  std::string countdown;
  if (release.declared && release.remaining) {
    countdown = fmt::format(" (use count {} → {})", *release.remaining + 1, *release.remaining);
  }
  const std::string steps = steps_text(finding.steps);
  return fmt::format("{}, {}: final{}, not persistent{}", release.name.value_or(""), parameters_text(finding),
                     countdown, steps.empty() ? "" : " · " + steps);
}

void add(LabelledLines& facts, LabelledLines more) { std::ranges::move(more, std::back_inserter(facts)); }

LabelledLines facts_of_residual(const ReportedFinding& finding, const Form& form) {
  const ReportedItem first = finding.items.front();
  const model::Mark release = *first.release();
  LabelledLines facts{{"released", released_text(finding, release)}};
  facts.push_back({"", finding.only_tensor_cleared
                           ? "only the registered tensor was emptied; the shared storage kept its bytes"
                           : fmt::format("the storage kept {} of {} bytes", grouped(first.bytes().value),
                                         grouped(release.bytes.value_or(first.bytes()).value))});
  if (finding.holders) {
    add(facts,
        holder_facts(*finding.holders,
                     finding.more_alike > 0 ? fmt::format("   {} more alike", grouped(finding.more_alike)) : "", form));
  } else {
    facts.push_back({"held by", "not known: no census was taken at these releases"});
  }
  facts.push_back({"because", finding.why});
  if (finding.held_for) facts.push_back({"freed", freed_text(*finding.held_for)});
  if (finding.not_freed > 0) {
    facts.push_back({finding.held_for ? "" : "freed",
                     fmt::format("{} not freed to the end of the trace", grouped(finding.not_freed))});
  }
  if (finding.holders) {
    facts.push_back({"counts", count_text(*finding.holders)});
    if (finding.censuses > 1) {
      facts.push_back(
          {"", fmt::format("over {}: {} explained + {} unexplained", counted(finding.censuses, "census", "censuses"),
                           grouped(finding.explained), grouped(finding.unexplained))});
    }
  }
  facts.push_back({"reads", none_seen_text(finding)});
  if (finding.proof) {
    add(facts, proof_facts(*finding.proof, form));
  } else {
    facts.push_back({"proof", "not proved: reads are observed, not prevented"});
  }
  return facts;
}

LabelledLines with_stack(std::string_view label, std::string head, const model::Actor& by, const Form& form) {
  LabelledLines facts{{std::string(label), std::move(head)}};
  add(facts, stack_facts(by, form));
  return facts;
}

std::string read_text(const model::Read& read, Bytes bytes, const Form& form) {
  std::string text(read.name.value_or(""));
  if (read.by_kernel) {
    text = "kernel " + cut(text, kKernelName);
  } else if (read.backward) {
    text += fmt::format(" in {}", *read.backward);
  }
  if (read.ordinal) text += fmt::format(", operator {}", grouped(*read.ordinal));
  return text + (bytes.value == 0 ? ": the storage had no bytes" : fmt::format(": {} still there", form.bytes(bytes)));
}

LabelledLines facts_of_use(const ReportedFinding& finding, const Form& form) {
  const ReportedItem first = finding.items.front();
  const model::Read read = first.reads().front();
  const model::Mark release = *first.release();
  LabelledLines facts{{"parameter", subject_text(finding)}};
  add(facts, with_stack("first read", read_text(read, first.bytes(), form), read.by, form));
  add(facts,
      with_stack("released", fmt::format("{}, {} before", release.name.value_or(""), duration(first.lasted().value)),
                 release.by, form));
  if (const auto gather = first.gather()) {
    add(facts,
        with_stack("gathered",
                   fmt::format("{}, cycle {}", gather->name.value_or(""), std::max<std::int64_t>(1, gather->cycle)),
                   gather->by, form));
  }
  facts.push_back({"because", finding.why});
  facts.push_back({"reads", fmt::format("by {} after the release, before the next gather", readers_text(finding))});
  if (finding.proof) add(facts, proof_facts(*finding.proof, form));
  return facts;
}

LabelledLines facts_of_never(const ReportedFinding& finding, const Form& form) {
  const ReportedItem first = finding.items.front();
  const model::Mark gather = *first.gather();
  LabelledLines facts =
      with_stack("gathered", fmt::format("{}, {}", gather.name.value_or(""), subject_text(finding)), gather.by, form);
  if (const auto release = first.release()) {
    facts.push_back({"released", fmt::format("{} ran, {} uses left of {}", release->name.value_or(""),
                                             release->remaining.value_or(0), release->declared.value_or(0))});
  } else {
    facts.push_back({"released", "never"});
  }
  facts.push_back({"because", finding.why});
  const auto gone = first.gone();
  facts.push_back(
      {"freed", gone ? fmt::format("{}, {} after the gather", gone_text(*gone), duration(first.lasted().value))
                     : "not to the end of the trace"});
  // What the set adds to the peak, and its upper bound: the sum of its gathered bytes, each parameter once.
  if (finding.alive_share) {
    facts.push_back({"at the peak", fmt::format("{} of it alive, {} of the peak; at most {}, each parameter once",
                                                form.bytes(finding.alive_at_peak), percent(*finding.alive_share, 1),
                                                form.bytes(finding.bytes))});
  }
  return facts;
}

FindingWords duplicate_words(const ReportedFinding& finding, const Form& form) {
  const analyzer::Duplicate& duplicate = *finding.duplicate;
  FindingWords words{finding_title(finding),
                     fmt::format("   {} in {} exist twice at the peak", form.bytes(duplicate.bytes),
                                 counted(duplicate.storages, "storage")),
                     {}};
  words.facts = {{"one", fmt::format("{}   freed first", duplicate.made)},
                 {"the other", duplicate.other + (duplicate.bytes == duplicate.other_bytes
                                                      ? ""
                                                      : fmt::format("   {}", form.bytes(duplicate.other_bytes)))}};
  if (finding.predicted_peak) words.facts.push_back({"without", "the peak is " + form.bytes(*finding.predicted_peak)});
  words.facts.push_back({"because", finding.why});
  words.facts.push_back({"fix", finding.fix});
  return words;
}

/// "certain", with the number of certain releases if not all are.
std::string holder_confidence(const ReportedFinding& finding) {
  const auto releases = static_cast<std::int64_t>(finding.items.size());
  if (finding.censuses == 0 || finding.censuses == releases) return std::string(name_of(finding.confidence));
  return fmt::format("{}, {} of {} inspected", finding.certain_where_inspected ? "certain" : "partial",
                     grouped(finding.censuses), counted(releases, "release"));
}

}  // namespace

FindingWords finding_words(const std::string& path, const ReportedFinding& finding, const Form& form) {
  if (finding.memory_ran_out) return out_of_memory_words(finding, form);
  if (finding.waits) return waits_words(finding, form);
  if (finding.in_flight) return in_flight_words(finding, form);
  if (finding.fragmentation) return fragmented_words(finding, form);
  if (finding.growth) return growth_words(finding, form);
  if (finding.outside) return outside_growth_words(finding, form);
  if (finding.objects) return object_growth_words(finding, form);
  if (finding.forked) return forked_words(finding, form);
  if (finding.native) return native_words(finding, form);
  if (finding.duplicate) return duplicate_words(finding, form);
  const bool is_residual = finding.rule == "residual";
  const bool is_use = finding.rule == "use_after_release";
  FindingWords words{finding_title(finding),
                     fmt::format("  ({})   {}{}", joined(finding.classes, ", "),
                                 is_use ? counted(finding.keys, "parameter") : bytes_text(finding, form),
                                 is_residual ? "   holder: " + holder_confidence(finding) : ""),
                     {}};
  if (is_residual) words.facts = facts_of_residual(finding, form);
  if (is_use) words.facts = facts_of_use(finding, form);
  if (finding.rule == "never_released") words.facts = facts_of_never(finding, form);
  // The origins of the gathers, if they say more than the names of the gathering operators.
  if (!finding.origins_besides.empty()) {
    const char* trial = finding.trial ? ", which tries the program out: it is not the training" : "";
    words.facts.push_back({"origin", "gathered by " + joined(finding.origins_besides, ", ") + trial});
  }
  words.facts.push_back({"fix", finding.fix});
  const std::int64_t storage = finding.items.front().storage().value_or(StorageId()).value;
  words.facts.push_back({"its story", fmt::format("dc-memtrace show storage {} {}", shell_word(path), storage)});
  return words;
}

std::string next_command(const std::string& path, const ReportedFinding& finding) {
  const std::string trace = shell_word(path);
  if (finding.memory_ran_out) {
    const std::int64_t index = finding.out_of_memory.front().index;
    return fmt::format("dc-memtrace show live {} --at oom{}", trace, index > 1 ? fmt::format("#{}", index) : "");
  }
  if (finding.waits) return fmt::format("dc-memtrace show live {} --at {}", trace, finding.waits->at.seq.value);
  if (finding.in_flight) {
    return fmt::format("dc-memtrace show live {} --at {}", trace, finding.in_flight->used_again.at.seq.value);
  }
  if (finding.fragmentation && finding.fragmentation->at) {
    return fmt::format("dc-memtrace show reserved {}{}", trace, finding.fragmentation->at_error ? " --at oom" : "");
  }
  if (finding.fragmentation) return fmt::format("dc-memtrace show peak {}", trace);
  if (finding.growth) return fmt::format("dc-memtrace show holders {} {}", trace, finding.number);
  if (finding.outside || finding.objects || finding.forked) return fmt::format("dc-memtrace show memory {}", trace);
  if (finding.native) return fmt::format("dc-memtrace show native {}", trace);
  if (finding.duplicate) return fmt::format("dc-memtrace show peak {} --by site", trace);
  return fmt::format("dc-memtrace reproduce {} --finding {}", trace, finding.number);
}

}  // namespace dcmt::wording

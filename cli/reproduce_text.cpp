#include "cli/reproduce_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "cli/report_text.h"

namespace dcmt::cli {
namespace {

using analyzer::Finding;
using analyzer::name_of;
using analyzer::ReleaseFacts;
using analyzer::ReplayDo;
using analyzer::ReplayEvent;
using analyzer::ReplayFacts;
using analyzer::ReplayPlan;
using analyzer::ReplayRegion;

std::string region_text(const ReplayRegion& region) {
  if (region.steps.empty()) return region.from > Sequence(1) ? "what comes after the last step" : "the whole run";
  const std::int64_t first = region.steps.front().number;
  const std::int64_t last = region.steps.back().number;
  return first == last ? fmt::format("step {}", first) : fmt::format("steps {} to {}", first, last);
}

std::string verdicts_text(const ReplayFacts& facts) {
  std::map<std::string_view, std::int64_t> counts;
  for (const ReleaseFacts& release : facts.releases) ++counts[name_of(release.verdict)];
  std::string text;
  for (const auto& [verdict, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(count), verdict);
  }
  return text.empty() ? "no release" : text;
}

std::int64_t count_of(const ReplayPlan& plan, ReplayDo what) {
  return std::count_if(plan.events.begin(), plan.events.end(),
                       [&](const ReplayEvent& event) { return event.what == what; });
}

std::string heading(const Replay& replay) {
  std::string text;
  for (const Finding* finding : replay.findings) {
    std::string title = finding->title;
    std::transform(title.begin(), title.end(), title.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    text += fmt::format("{}{}  {}", text.empty() ? "" : "\n", finding->number, title);
  }
  return text.empty() ? region_text(replay.plan.region) : text;
}

std::string outcome(const LoadedTrace& trace, const Replay& replay, const Style& style) {
  const std::vector<ReleaseFacts>& releases = replay.plan.facts.releases;
  if (!replay.difference) {
    const bool looked = std::any_of(releases.begin(), releases.end(),
                                    [](const ReleaseFacts& release) { return !release.holder_kinds.empty(); });
    return labelled("reproduced",
                    style.good(fmt::format("yes: {} ({}), allocated bytes at each of them{}, findings, peak",
                                           counted(static_cast<std::int64_t>(releases.size()), "verdict"),
                                           verdicts_text(replay.plan.facts), looked ? ", kinds of holders" : "")),
                    style);
  }
  const analyzer::ReplayDifference& difference = *replay.difference;
  std::string where = difference.what;
  std::string next;
  if (difference.release) {
    const ReleaseFacts& release = releases[*difference.release];
    where += fmt::format(" of release {} of {}: id {} of graph {}", *difference.release + 1, releases.size(),
                         release.key.key, release.key.graph);
    if (release.storage.valid())
      next = fmt::format("dc-memtrace show storage {} {}", trace.path, release.storage.value);
  }
  std::string text = labelled("reproduced", style.bad("no, the first difference: " + where), style);
  text += labelled("", "recorded " + difference.recorded, style);
  text += labelled("", "replayed " + difference.replayed, style);
  if (!next.empty()) text += labelled("next", next, style);
  return text;
}

std::string with_switches(const Replay& replay, const Style& style) {
  std::string text = labelled("switches", fmt::format("{}", fmt::join(replay.switches, ", ")), style);
  text += labelled("verdicts", fmt::format("{} → {}", verdicts_text(replay.plan.facts), verdicts_text(replay.facts)),
                   style);
  std::string peak =
      fmt::format("{} → {}", exact_bytes(replay.plan.facts.peak.value), exact_bytes(replay.facts.peak.value));
  // What is predicted is the peak of releases that free.
  const bool of_release = std::any_of(replay.switches.begin(), replay.switches.end(), [](const std::string& one) {
    return one == "release_clears_tensor_only=off" || one == "wrapper_keeps_aliases=off";
  });
  if (of_release && replay.plan.facts.predicted_peak) {
    const std::int64_t predicted = replay.plan.facts.predicted_peak->value;
    peak +=
        fmt::format("   predicted {}{}", exact_bytes(predicted), predicted == replay.facts.peak.value ? ": equal" : "");
  }
  return text + labelled("peak", peak, style);
}

// --- the program -----------------------------------------------------------------------------------------------------

constexpr std::size_t kColumns = 108;
constexpr std::ptrdiff_t kMostLines = 100;

constexpr char kHead[] = R"(from __future__ import annotations

import sys

import torch

FIXED = "--fixed" in sys.argv  # a release gives the storage's bytes back, not the registered tensor's only
)";

constexpr char kBody[] = R"(
registered: dict[str, torch.Tensor] = {}  # what a release can reach
names: dict[str, torch.Tensor] = {}  # what the program kept: an alias of the same storage
uses: dict[str, int] = {}


def gather(name: str) -> None:
    base = torch.empty(BYTES[name], dtype=torch.uint8).fill_(1)
    registered[name], names[name] = base, base[:]
    uses.pop(name, None)


def release(name: str, users: int) -> None:
    uses[name] = uses.get(name, users) - 1
    base = registered.get(name)
    if uses[name] > 0 or base is None:
        return
    if FIXED or name in FREED:
        base.untyped_storage().resize_(0)
    registered.pop(name).data = torch.empty(0, dtype=torch.uint8)
    check(name)


def left(name: str) -> int:
    """What is alive of it, by the alias that the program kept."""
    return names[name].untyped_storage().nbytes() if name in names else 0


def check(name: str) -> None:
    print(f"{name}: {left(name):,} of {BYTES[name]:,} B alive after the release")
    alive.append(left(name))


alive: list[int] = []
torch.set_grad_enabled(False)
for word in EVENTS.split():
    what, _, rest = word.partition(":")
    name, _, users = rest.partition("/")
    if what == "gather":
        gather(name)
    elif what == "release":
        release(name, int(users))
    elif what == "read":
        print(f"{name}: read after its release, {left(name):,} B there")
    elif what == "empty" and name in names:
        names[name].untyped_storage().resize_(0)
    elif what == "drop":
        names.pop(name, None)
never = [name for name in registered if name in names]
for name in never:
    print(f"{name}: {BYTES[name]:,} B, released by nobody")
print(f"{sum(alive):,} bytes were still alive after their release,")
print(f"{sum(BYTES[name] for name in never):,} bytes were never released")
)";

/// `words` in lines of a text, indented.
std::vector<std::string> wrapped(const std::vector<std::string>& words) {
  std::vector<std::string> lines;
  for (const std::string& word : words) {
    if (lines.empty() || lines.back().size() + word.size() + 1 > kColumns) lines.emplace_back("   ");
    lines.back() += " " + word;
  }
  return lines;
}

struct Story {
  std::vector<std::string> sizes, freed, events;
};

Story story_of(const ReplayPlan& plan, const std::vector<std::size_t>& shown) {
  std::map<std::size_t, std::string> names;
  std::map<analyzer::Key, int> cycles;
  for (const std::size_t number : shown) {
    const analyzer::ReplayBuffer& buffer = plan.buffers[number];
    names[number] = fmt::format("g{}.id{}.{}", buffer.key.graph, buffer.key.key, ++cycles[buffer.key]);
  }
  Story story;
  for (const std::size_t number : shown) {
    story.sizes.push_back(fmt::format("\"{}\": {},", names[number], plan.buffers[number].bytes.value));
  }
  for (const ReplayEvent& event : plan.events) {
    const auto name = names.find(event.buffer);
    if (name == names.end()) continue;
    if (event.what == ReplayDo::kGather && !event.again) story.events.push_back("gather:" + name->second);
    if (event.what == ReplayDo::kRead) story.events.push_back("read:" + name->second);
    if (event.what == ReplayDo::kEmpty) story.events.push_back("empty:" + name->second);
    if (event.what == ReplayDo::kDrop) story.events.push_back("drop:" + name->second);
    if (event.what == ReplayDo::kRelease && !plan.buffers[event.buffer].persistent) {
      story.events.push_back(fmt::format("release:{}/{}", name->second, event.users));
      if (!event.clears_tensor_only) story.freed.push_back(fmt::format("\"{}\",", name->second));
    }
  }
  return story;
}

std::string program_of(const LoadedTrace& trace, const ReplayPlan& plan, const std::vector<std::size_t>& shown) {
  const Story story = story_of(plan, shown);
  std::string text = fmt::format("\"\"\"Parameters that are gathered and released, as recorded in {}, {}.\n\n",
                                 trace.path.substr(trace.path.rfind('/') + 1), region_text(plan.region));
  text += fmt::format(
      "{} of {} gathered storages. Needs torch only; --fixed shows the same with releases that free.\n\"\"\"\n\n",
      shown.size(), plan.buffers.size());
  text += kHead;
  const auto lines = [&](const std::vector<std::string>& words) {
    for (const std::string& line : wrapped(words)) text += line + "\n";
  };
  text += "BYTES = {\n";
  lines(story.sizes);
  text += "}\n";
  if (story.freed.empty()) {
    text += "FREED: set[str] = set()  # by their releases\n";
  } else {
    text += "FREED = {  # by their releases\n";
    lines(story.freed);
    text += "}\n";
  }
  text += "EVENTS = \"\"\"\n";
  lines(story.events);
  text += "\"\"\"\n";
  return text + kBody;
}

}  // namespace

std::string reproduce_text(const LoadedTrace& trace, const std::vector<Replay>& replays, const Style& style) {
  std::string text;
  for (const Replay& replay : replays) {
    const ReplayPlan& plan = replay.plan;
    if (!text.empty()) text += "\n";
    text += style.bold(heading(replay)) + "\n";
    text += labelled("replayed",
                     fmt::format("{}: {}, {}, {} on {}", region_text(plan.region),
                                 counted(count_of(plan, ReplayDo::kGather), "gather"),
                                 counted(count_of(plan, ReplayDo::kRelease), "release"),
                                 counted(static_cast<std::int64_t>(plan.events.size()), "event"),
                                 counted(static_cast<std::int64_t>(plan.threads().size()), "thread")),
                     style);
    text += replay.switches.empty() ? outcome(trace, replay, style) : with_switches(replay, style);
    for (const std::string& note : plan.notes) text += labelled("note", note, style);
  }
  return text;
}

std::string story_program(const LoadedTrace& trace, const ReplayPlan& plan, const Finding* finding) {
  // The finding's storages first: they are the story.
  std::vector<std::size_t> shown;
  const auto told = [&](std::size_t number) {
    return finding != nullptr && std::any_of(finding->items.begin(), finding->items.end(), [&](const auto& item) {
             return item.storage == plan.buffers[number].storage;
           });
  };
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    if (told(i)) shown.push_back(i);
  }
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    if (!told(i)) shown.push_back(i);
  }
  for (;;) {
    std::string text = program_of(trace, plan, shown);
    const bool fits = std::count(text.begin(), text.end(), '\n') <= kMostLines;
    if (fits || shown.size() == 1) return text;
    shown.resize(shown.size() - std::max<std::size_t>(shown.size() / 10, 1));
  }
}

}  // namespace dcmt::cli

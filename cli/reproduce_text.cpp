#include "cli/reproduce_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

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

constexpr std::size_t kColumns = 116;
constexpr std::ptrdiff_t kMostLines = 100;

constexpr char kHead[] = R"(import sys

import torch

FIXED = "--fixed" in sys.argv  # a release gives the storage's bytes back, not the registered tensor's only
)";

constexpr char kStorages[] = R"(
# of each gathered storage graph.id.cycle, and :bytes/uses where they are not those of the one before
STORAGES = """
)";

constexpr char kEvents[] = R"("""
# of storage N: gN is its gather, rN its release, fN one that frees it, xN a read after its release, eN takes its bytes
# without a release, dN drops its last name; grN: one after the other, rN*3: three times
EVENTS = """
)";

constexpr char kBody[] = R"("""
names, sizes, uses = [], [], []
for word in STORAGES.split():
    name, _, given = word.partition(":")
    if given:
        size, users = map(int, given.split("/"))
    names.append("g{}.id{}.{}".format(*name.split(".")))
    sizes.append(size)
    uses.append(users)
registered: dict[int, torch.Tensor] = {}  # what a release can reach
kept: dict[int, torch.Tensor] = {}  # what the program kept: an alias of the same storage
alive: list[int] = []


def left(one: int) -> int:
    return kept[one].untyped_storage().nbytes() if one in kept else 0


def release(one: int, frees: bool) -> None:
    uses[one] -= 1
    if uses[one] > 0 or one not in registered:
        return
    base = registered.pop(one)
    if FIXED or frees:
        base.untyped_storage().resize_(0)
    base.data = torch.empty(0, dtype=torch.uint8)
    alive.append(left(one))
    print(f"{names[one]}: {left(one):,} of {sizes[one]:,} B alive after the release")


torch.set_grad_enabled(False)
for word in EVENTS.split():
    events, _, times = word.partition("*")
    whats = events.rstrip("0123456789")
    one = int(events[len(whats):])
    for what in whats:
        if what == "g":
            registered[one] = torch.empty(sizes[one], dtype=torch.uint8).fill_(1)
            kept[one] = registered[one][:]
        elif what in "rf":
            for _ in range(int(times or 1)):
                release(one, what == "f")
        elif what == "x":
            print(f"{names[one]}: read {times or 1}x after its release, {left(one):,} B there")
        elif what == "e" and one in kept:
            kept[one].untyped_storage().resize_(0)
        elif what == "d":
            kept.pop(one, None)
never = [one for one in registered if one in kept]
for one in never:
    print(f"{names[one]}: {sizes[one]:,} B, released by nobody")
print(f"{sum(alive):,} bytes were still alive after their release,")
print(f"{sum(sizes[one] for one in never):,} bytes were never released")
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
  std::vector<std::string> storages, events;
};

/// The first letter of the word for an event; 0: the story does without it.
char letter_of(const ReplayEvent& event, const analyzer::ReplayBuffer& buffer) {
  switch (event.what) {
    case ReplayDo::kGather:
      return event.again ? '\0' : 'g';
    case ReplayDo::kRelease:
      if (buffer.persistent) return '\0';
      return event.clears_tensor_only ? 'r' : 'f';
    case ReplayDo::kRead:
      return 'x';
    case ReplayDo::kEmpty:
      return 'e';
    case ReplayDo::kDrop:
      return 'd';
    default:
      return '\0';
  }
}

/// An event of a storage of the story, as often as it comes in a row.
struct Run {
  std::size_t number;
  char letter;
  std::int64_t times;
};

/// Runs of one storage in a row are one word.
std::vector<std::string> words_of(const std::vector<Run>& runs) {
  std::vector<std::string> words;
  std::string letters;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    letters += run.letter;
    const Run* next = i + 1 < runs.size() ? &runs[i + 1] : nullptr;
    const bool goes_on = next != nullptr && next->number == run.number && next->times == 1 && run.times == 1;
    if (goes_on) continue;
    words.push_back(fmt::format("{}{}", letters, run.number));
    if (run.times > 1) words.back() += fmt::format("*{}", run.times);
    letters.clear();
  }
  return words;
}

Story story_of(const ReplayPlan& plan, const std::vector<std::size_t>& shown) {
  std::map<std::size_t, std::size_t> numbers;  // in the story, of buffers
  for (const std::size_t buffer : shown) numbers.emplace(buffer, numbers.size());
  struct Uses {
    std::int64_t declared = 1, releases = 0;  // what the first release declares counts
  };
  std::map<std::size_t, Uses> uses;  // by number
  std::vector<Run> runs;
  for (const ReplayEvent& event : plan.events) {
    const auto number = numbers.find(event.buffer);
    const char letter = number == numbers.end() ? '\0' : letter_of(event, plan.buffers[event.buffer]);
    if (letter == '\0') continue;
    const bool release = event.what == ReplayDo::kRelease;
    Uses& of_storage = uses[number->second];
    if (release && of_storage.releases++ == 0) of_storage.declared = event.users;
    const bool again = !runs.empty() && runs.back().number == number->second && runs.back().letter == letter;
    if (again) {
      ++runs.back().times;
    } else {
      runs.push_back({number->second, letter, 1});
    }
  }
  // How a storage ends is no part of the story once it has been released, and nothing reads it any more.
  std::set<std::size_t> goes_on;
  std::vector<Run> told;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    const Uses& of_storage = uses[run->number];
    const bool end = run->letter == 'd' || run->letter == 'e';
    const bool released = of_storage.releases >= of_storage.declared;
    if (end && released && !goes_on.contains(run->number)) continue;
    goes_on.insert(run->number);
    told.push_back(*run);
  }
  std::reverse(told.begin(), told.end());

  Story story;
  story.events = words_of(told);
  std::map<analyzer::Key, int> cycles;
  std::string before;
  for (const std::size_t number : shown) {
    const analyzer::ReplayBuffer& buffer = plan.buffers[number];
    const std::string given = fmt::format(":{}/{}", buffer.bytes.value, uses[numbers[number]].declared);
    story.storages.push_back(fmt::format("{}.{}.{}{}", buffer.key.graph, buffer.key.key, ++cycles[buffer.key],
                                         given == before ? "" : given));
    before = given;
  }
  return story;
}

std::string program_of(const LoadedTrace& trace, const ReplayPlan& plan, const std::vector<std::size_t>& shown) {
  const Story story = story_of(plan, shown);
  // The name goes into a program: nothing in it may end the text around it.
  std::string name = trace.path.substr(trace.path.rfind('/') + 1);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '"' || c == '\\'; }, '_');
  std::string text = fmt::format("\"\"\"Parameters that are gathered and released, as recorded in {}, {}.\n\n", name,
                                 region_text(plan.region));
  text += fmt::format(
      "{} of {} gathered storages. Needs torch only; --fixed shows the same with releases that free.\n\"\"\"\n\n",
      shown.size(), plan.buffers.size());
  text += kHead;
  const auto lines = [&](const std::vector<std::string>& words) {
    for (const std::string& line : wrapped(words)) text += line + "\n";
  };
  text += kStorages;
  lines(story.storages);
  text += kEvents;
  lines(story.events);
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
    if (fits || shown.size() == 1) return text;  // a storage has few words, whatever it went through
    shown.resize(shown.size() - std::max<std::size_t>(shown.size() / 10, 1));
  }
}

}  // namespace dcmt::cli

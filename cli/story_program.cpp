#include "cli/story_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analyzer/replay/replay_story.h"

namespace dcmt::cli {
namespace {

using analyzer::ReplayPlan;
using analyzer::ReplayRegion;
using analyzer::ReplayStory;
using analyzer::StoryRun;
using What = StoryRun::What;

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
    print(f"{names[one]}: {sizes[one]:,} B, never released")
print(f"{sum(alive):,} bytes were still alive after their release,")
print(f"{sum(sizes[one] for one in never):,} bytes were never released")
)";

/// `words` as indented lines of text.
std::vector<std::string> wrapped(const std::vector<std::string>& words) {
  std::vector<std::string> lines;
  for (const std::string& word : words) {
    if (lines.empty() || lines.back().size() + word.size() + 1 > kColumns) lines.emplace_back("   ");
    lines.back() += " " + word;
  }
  return lines;
}

char letter_of(What what) {
  switch (what) {
    case What::kGather:
      return 'g';
    case What::kRelease:
      return 'r';
    case What::kReleaseAndFree:
      return 'f';
    case What::kRead:
      return 'x';
    case What::kEmpty:
      return 'e';
    case What::kDrop:
      break;
  }
  return 'd';
}

/// Consecutive runs of one storage are one word.
std::vector<std::string> words_of(const std::vector<StoryRun>& runs) {
  std::vector<std::string> words;
  std::string letters;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const StoryRun& run = runs[i];
    letters += letter_of(run.what);
    const StoryRun* next = i + 1 < runs.size() ? &runs[i + 1] : nullptr;
    const bool goes_on = next != nullptr && next->storage == run.storage && next->times == 1 && run.times == 1;
    if (goes_on) continue;
    words.push_back(fmt::format("{}{}", letters, run.storage));
    if (run.times > 1) words.back() += fmt::format("*{}", run.times);
    letters.clear();
  }
  return words;
}

/// Values that equal those of the previous storage are omitted.
std::vector<std::string> words_of(const std::vector<analyzer::StoryStorage>& storages) {
  std::vector<std::string> words;
  std::string before;
  for (const analyzer::StoryStorage& storage : storages) {
    const std::string given = fmt::format(":{}/{}", storage.bytes.value, storage.uses);
    words.push_back(
        fmt::format("{}.{}.{}{}", storage.key.graph, storage.key.key, storage.cycle, given == before ? "" : given));
    before = given;
  }
  return words;
}

std::string region_text(const ReplayRegion& region) {
  if (region.steps.empty()) return region.from > Sequence(1) ? "what comes after the last step" : "the whole run";
  const std::int64_t first = region.steps.front().number;
  const std::int64_t last = region.steps.back().number;
  return first == last ? fmt::format("step {}", first) : fmt::format("steps {} to {}", first, last);
}

std::string program_of(const std::string& path, const ReplayPlan& plan, const std::vector<std::size_t>& shown) {
  const ReplayStory story = analyzer::story_of(plan, shown);
  // The name is written into a program: nothing in it may end the surrounding string.
  std::string name = path.substr(path.rfind('/') + 1);
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
  lines(words_of(story.storages));
  text += kEvents;
  lines(words_of(story.runs));
  return text + kBody;
}

}  // namespace

std::string story_program(const std::string& path, const ReplayPlan& plan, const analyzer::Finding* finding) {
  // The finding's storages come first: the story is about them.
  std::vector<std::size_t> shown = analyzer::buffers_for(plan, finding);
  for (;;) {
    std::string text = program_of(path, plan, shown);
    const bool fits = std::count(text.begin(), text.end(), '\n') <= kMostLines;
    if (fits || shown.size() == 1) return text;  // one storage needs only few words, whatever its events
    shown.resize(shown.size() - std::max<std::size_t>(shown.size() / 10, 1));
  }
}

}  // namespace dcmt::cli

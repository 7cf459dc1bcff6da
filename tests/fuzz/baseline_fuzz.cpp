// Hands `check` baselines that no `--update` would write: values of any kind in any place, arrays within arrays,
// damaged bytes. See harness.h for the command line. A baseline may be refused with one line; otherwise it can be
// written and read again, compared with a recording, and updated by it.
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/gate/baseline.h"
#include "analyzer/gate/judge.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/random.h"

namespace {

using namespace dcmt;  // NOLINT(google-build-using-namespace)
using fuzz::Outcome;
using fuzz::wrong;

constexpr char kToday[] = "2026-11-25";

gate::Recording recorded(fuzz::Random& random) {
  gate::Recording recording;
  recording.section = "cpu, torch 2.15";
  recording.arguments = "--batch 8";
  recording.steps = 6;
  recording.sizes = recording.made = {Bytes(1 << 20), Bytes(1 << 16)};
  analyzer::AllocationLine line;
  line.function = "train.py forward";
  for (const char* phase : {"peak.first_step", "peak.forward", "peak.backward", "growth.step"}) {
    line.bytes = Bytes(static_cast<std::int64_t>(random.below(1 << 20)));
    recording.facts.push_back({phase, gate::Unit::kBytes, 1 << 20, -1, {line, line}});
  }
  recording.facts.push_back({"gathers.hook", gate::Unit::kCount, 12, -1, {}});
  return recording;
}

/// In place of a value.
std::string odd(fuzz::Random& random) {
  static const std::vector<std::string> kValues = {"null",     "true",   "1e400", "-0.5", "\"text\\n\\u001b[2J\"",
                                                   "\"\xff\"", "[[[]]]", "{}",    "[1]",  "{\"a\":1}"};
  switch (random.below(4)) {
    case 0:
      return std::to_string(random.interesting());
    case 1:
      return "-" + std::to_string(random.interesting());
    case 2: {
      const std::size_t depth = random.chance(2) ? 200'000 : random.below(50);
      return std::string(depth, '[') + std::string(depth, ']');
    }
    default:
      return random.pick(kValues);
  }
}

std::string damaged(std::string text, fuzz::Random& random) {
  for (std::uint64_t times = 1 + random.below(3); times > 0 && !text.empty(); --times) {
    const std::size_t at = random.below(text.size());
    // The value after the next colon, to the next comma: of the document, not of the text.
    const std::size_t from = text.find(": ", at);
    const std::size_t to = text.find_first_of(",}]\n", from);
    switch (random.below(5)) {
      case 0:
      case 1:
      case 2:
        if (to != std::string::npos) text.replace(from + 2, to - from - 2, odd(random));
        break;
      case 3:
        text[at] = static_cast<char>(random.bits());
        break;
      default:
        text.insert(at, text.substr(random.below(text.size()), random.below(200)));
    }
  }
  if (random.chance(5)) text.resize(random.below(text.size() + 1));
  return text;
}

Outcome run(std::uint64_t seed, const std::string& /*folder*/) {
  fuzz::Random random(seed);
  gate::Baseline written;
  written.command = {"python", "train.py"};
  written.require = {"gathers.hook > 0"};
  written.expect = {{"main.seen", 4096, "the probe goes in spring", "2027-03-31"}};
  gate::update(written, {recorded(random), recorded(random), recorded(random)}, kToday, false);
  const bool pristine = random.chance(5);
  const std::string text = gate::baseline_text(written);
  Expected<gate::Baseline> baseline = gate::parse_baseline("b.json", pristine ? text : damaged(text, random));
  if (!baseline.ok()) {
    const std::string& message = baseline.error().message;
    if (pristine || message.empty() || message.find('\n') != std::string::npos) {
      return wrong("refused with: '" + message + "'");
    }
    return Outcome::kRefused;
  }
  const std::string again = gate::baseline_text(*baseline);
  const Expected<gate::Baseline> reread = gate::parse_baseline("b.json", again);
  if (!reread.ok()) return wrong("written and refused: " + reread.error().message);
  if (gate::baseline_text(*reread) != again) return wrong("another text when written again");
  const gate::Recording now = recorded(random);
  const Expected<gate::Verdict> verdict = gate::judge("b.json", *baseline, now, {.today = kToday});
  if (!verdict.ok()) return wrong("no verdict: " + verdict.error().message);
  gate::update(*baseline, {now, recorded(random)}, kToday, false);
  return gate::baseline_text(*baseline).empty() ? wrong("nothing was written") : Outcome::kDone;
}

}  // namespace

int main(int argc, char** argv) { return fuzz::fuzz_main(argc, argv, "read", run); }

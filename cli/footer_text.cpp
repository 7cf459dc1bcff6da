#include "cli/footer_text.h"

#include <fmt/format.h>

#include <vector>

namespace dcmt::cli {
namespace {

using analyzer::DiagnosticFact;
using analyzer::RunFacts;

constexpr std::int64_t kMostNotes = 5;

std::string_view reason_text(Kept why) {
  switch (why) {
    case Kept::kAll:
      return "until a tenth of the disk bound was used";
    case Kept::kSteps:
      return "asked for";
    case Kept::kEvery:
      return "regular";
    case Kept::kPeak:
      return "for a new peak";
    case Kept::kFinding:
      return "for a new finding";
    case Kept::kLast:
      return "at the end";
    case Kept::kNo:
      break;
  }
  return "";
}

/// What was not kept of a long run, and what is known nevertheless.
std::string kept_note(const RunFacts& facts) {
  if (facts.steps_kept == facts.steps) return {};
  std::vector<std::string> parts;
  for (const analyzer::KeptFact& fact : facts.kept) {
    if (fact.steps > 0) parts.push_back(fmt::format("{} {}", grouped(fact.steps), reason_text(fact.why)));
  }
  std::string text = fmt::format(
      "note: {} of {} {} kept in full: {}\n"
      "      of the others there are exact sums and peaks only; findings and predictions are of the steps kept\n",
      grouped(facts.steps_kept), counted(facts.steps, "step"), facts.steps_kept == 1 ? "is" : "are",
      joined(parts, ", "));
  if (facts.residual_releases > 0) {
    text += fmt::format("note: over the whole run, {} of {} left bytes alive\n", grouped(facts.residual_releases),
                        counted(facts.final_releases, "final release"));
  }
  return text;
}

/// How the program ended, if not normally.
std::string exit_text(const std::string& exit) {
  if (exit == "unseen") return "how the program ended was not seen";
  if (exit == "still running") return "the program still ran when the recording ended";
  if (exit == "exec") return "the process went on with another program";
  if (exit == "unknown") return "the program ended without its exit handlers: killed, crashed or by _exit";
  if (exit.empty() || exit == "exit 0" || exit == "exit unseen") return {};
  return "the program ended with " + exit;
}

std::string facts_line(const model::Report& report) {
  const RunFacts& facts = report.facts;
  std::vector<std::string> parts;
  if (facts.steps > 0) parts.push_back(counted(facts.steps, "step"));
  if (facts.steps == 0 && facts.records && !facts.of_snapshot()) parts.emplace_back("no steps");
  if (facts.records) parts.push_back(counted(*facts.records, "record") + fmt::format(", {} lost", grouped(facts.lost)));
  if (report.not_followed > 0) parts.push_back(counted(report.not_followed, "release") + " not followed");
  if (!facts.records && facts.lost > 0) parts.push_back(fmt::format("{} lost", counted(facts.lost, "record")));
  if (facts.sequence_gaps.value_or(0) > 0) parts.push_back(counted(*facts.sequence_gaps, "gap") + " in the sequence");
  if (facts.releases_with_bytes > 0)
    parts.push_back(fmt::format("census {}/{}", facts.censuses, facts.releases_with_bytes));
  if (facts.unexplained > 0) parts.push_back(fmt::format("{} unexplained", counted(facts.unexplained, "reference")));
  if (facts.recorder_cores) parts.push_back(fmt::format("recorder {:.1f} core", *facts.recorder_cores));
  if (facts.state == "recording") parts.emplace_back("still recording");
  if (facts.state == "recovered") parts.emplace_back("recovered: the recorder had died");
  if (std::string exit = exit_text(facts.exit); !exit.empty()) parts.push_back(std::move(exit));
  return joined(parts, " · ");
}

std::string diagnostic_notes(const std::vector<DiagnosticFact>& diagnostics) {
  std::string text;
  std::int64_t shown = 0;
  for (const DiagnosticFact& fact : diagnostics) {
    if (fact.ends_program()) continue;  // the report begins with it
    if (++shown > kMostNotes) continue;
    text +=
        fmt::format("note: {}{}\n", fact.text, fact.count > 1 ? fmt::format(" ({} alike)", grouped(fact.count)) : "");
  }
  if (shown > kMostNotes)
    text += fmt::format("note: {}; all: --json\n", counted(shown - kMostNotes, "more kind", "more kinds"));
  return text;
}

}  // namespace

std::string footer_text(const model::Report& report, const Style& style) {
  std::string text = style.dim(facts_line(report)) + "\n" + kept_note(report.facts);
  for (const analyzer::Remark& remark : report.remarks) text += "remark: " + remark.text() + "\n";
  for (const analyzer::LossFact& loss : report.facts.losses) {
    text += fmt::format("note: {} lost ({}): counts and verdicts may be incomplete\n", counted(loss.count, "record"),
                        loss.reason);
  }
  return text + diagnostic_notes(report.facts.diagnostics);
}

}  // namespace dcmt::cli

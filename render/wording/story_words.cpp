#include "render/wording/story_words.h"

#include <fmt/format.h>

#include <utility>

namespace dcmt::wording {
namespace {

using analyzer::EndedBy;
using analyzer::MarkKind;
using analyzer::Verdict;
using model::GoneWhen;
using model::Release;
using model::StoryEvent;
using What = StoryEvent::What;

std::string who(std::string text, const model::Actor& by) {
  if (!by.stack.empty()) text += fmt::format("{}at {}", text.empty() ? "" : ", ", by.site);
  return text;
}

std::string_view kind_text(MarkKind kind) {
  switch (kind) {
    case MarkKind::kGather:
      return "gathered";
    case MarkKind::kWait:
      return "waited for";
    case MarkKind::kPersist:
      return "made persistent";
    case MarkKind::kRead:
      return "read";
    case MarkKind::kTouch:
      return "last used by a kernel";
    case MarkKind::kResize:
      return "resized";
    case MarkKind::kRepoint:
      return "tensor re-pointed";
    case MarkKind::kRelease:
      return "released";
    case MarkKind::kCensus:
      return "census";
    case MarkKind::kFence:
      return "fenced";
    case MarkKind::kFenceTouch:
      return "touched";
    default:
      return "mark";
  }
}

std::string how_final(const StoryEvent& event) {
  return event.final ? " (final)" : fmt::format(" ({} uses left)", event.uses_left);
}

std::string bytes_or_dash(const std::optional<Bytes>& bytes) { return bytes ? grouped(bytes->value) : "-"; }

std::string mark_text(const StoryEvent& event, const Form& form) {
  std::string text(kind_text(event.kind));
  const Bytes bytes = event.bytes.value_or(Bytes(0));
  if (event.key) {
    text += fmt::format(" id {}{}", event.key->key, event.graph_name.empty() ? "" : " of " + event.graph_name);
  }
  switch (event.kind) {
    case MarkKind::kResize:
      return text + fmt::format(" to {}", form.bytes(bytes));
    case MarkKind::kRelease:
      return text + how_final(event) +
             fmt::format(": {} → {} B", bytes_or_dash(event.bytes), bytes_or_dash(event.bytes_after));
    case MarkKind::kTouch:
      return text + fmt::format(", {} before the release", duration(event.lasted.value));
    case MarkKind::kRead:
      return text + fmt::format("{}: {}", event.by_kernel ? " by a kernel" : "", form.bytes(bytes));
    default:
      return text;
  }
}

}  // namespace

std::string event_text(const StoryEvent& event, const Form& form) {
  switch (event.what) {
    case What::kFirstSeen:
      return "first seen";
    case What::kBorn:
      return "born";
    case What::kLastReference:
      return "last reference gone";
    case What::kBlockAllocated:
      return fmt::format("block of {} allocated", form.bytes(*event.bytes));
    case What::kBlockFreed:
      return fmt::format("block of {} freed", form.bytes(*event.bytes));
    case What::kMark:
      break;
  }
  return mark_text(event, form);
}

std::string short_event_text(const StoryEvent& event) {
  const std::string text(kind_text(event.kind));
  return event.kind == MarkKind::kRelease ? text + how_final(event) : text;
}

std::string event_by(const StoryEvent& event) {
  if (event.what == What::kMark) return who(cut(event.name, kKernelName), event.by);
  return who(event.by.outer_operator ? fmt::format("in {}", *event.by.outer_operator) : "", event.by);
}

std::string by_text(const model::Actor& by) {
  std::string text(by.outer_operator.value_or(""));
  if (!by.stack.empty()) text += (text.empty() ? "at " : " at ") + by.site;
  return text;
}

LabelledLines stack_facts(const model::Actor& by, const Form& form) {
  LabelledLines facts;
  for (const analyzer::FrameText& frame : by.stack) {
    if (facts.size() == form.most) break;
    if (frame.library()) continue;
    facts.push_back({"", fmt::format("  {}:{}  {}", shown_path(frame.file), frame.line, frame.function)});
  }
  return facts;
}

std::string end_text(const model::StorageView& view) {
  switch (view.ended_by) {
    case EndedBy::kAlive:
      return "Its bytes are there to the end of the trace.";
    case EndedBy::kRelease:
      return "Freed by its release; references that were left hold no bytes.";
    case EndedBy::kOther:
      return "Freed outside of a release, while references were left.";
    case EndedBy::kLastReference:
      break;
  }
  if (!view.held_for) return "Freed by its last reference.";
  if (view.let_go_by) {
    return fmt::format("Freed late, {} after the final release: {} still held it.", duration(view.held_for->value),
                       *view.let_go_by);
  }
  return fmt::format("Freed by its last reference, {} after the final release, which freed nothing.",
                     duration(view.held_for->value));
}

std::string verdict_text(Verdict verdict) {
  return verdict == Verdict::kNoGather ? "no gather" : std::string(name_of(verdict));
}

std::string gone_after(const Release& release) {
  switch (release.gone_when()) {
    case GoneWhen::kNotAsked:
      return "-";
    case GoneWhen::kAtOnce:
      return "at once";
    case GoneWhen::kNotToTheEnd:
      return "not to the end";
    case GoneWhen::kLater:
      break;
  }
  const analyzer::OperatorCount operators = release.operators_held();
  return fmt::format("{}{}, {}", operators.exact() ? "" : "≥ ", counted(operators.at_least, "op"),
                     duration(release.held().value));
}

std::string reading_text(const model::Reading& reading) {
  const std::string time = duration(reading.after_start.value);
  return reading.step ? fmt::format("step {}, {}", *reading.step, time) : time;
}

}  // namespace dcmt::wording

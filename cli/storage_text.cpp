// The life of one storage, as printed by `show storage`.
#include <fmt/format.h>

#include "cli/holder_text.h"
#include "cli/show_text.h"

namespace dcmt::cli {
namespace {

using analyzer::EndedBy;
using analyzer::MarkKind;
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
    default:
      return "mark";
  }
}

std::string bytes_or_dash(const std::optional<Bytes>& bytes) { return bytes ? grouped(bytes->value) : "-"; }

std::string mark_text(const StoryEvent& event, const Style& style) {
  std::string text(kind_text(event.kind));
  const Bytes bytes = event.bytes.value_or(Bytes(0));
  if (event.key) {
    text += fmt::format(" id {}{}", event.key->key, event.graph_name.empty() ? "" : " of " + event.graph_name);
  }
  switch (event.kind) {
    case MarkKind::kResize:
      return text + fmt::format(" to {}", style.bytes(bytes));
    case MarkKind::kRelease:
      return text + (event.final ? " (final)" : fmt::format(" ({} uses left)", event.uses_left)) +
             fmt::format(": {} → {} B", bytes_or_dash(event.bytes), bytes_or_dash(event.bytes_after));
    case MarkKind::kTouch:
      return text + fmt::format(", {} before the release", duration(event.lasted.value));
    case MarkKind::kRead:
      return text + fmt::format("{}: {}", event.by_kernel ? " by a kernel" : "", style.bytes(bytes));
    default:
      return text;
  }
}

std::string what_text(const StoryEvent& event, const Style& style) {
  switch (event.what) {
    case What::kFirstSeen:
      return "first seen";
    case What::kBorn:
      return "born";
    case What::kLastReference:
      return "last reference gone";
    case What::kBlockAllocated:
      return fmt::format("block of {} allocated", style.bytes(*event.bytes));
    case What::kBlockFreed:
      return fmt::format("block of {} freed", style.bytes(*event.bytes));
    case What::kMark:
      break;
  }
  return mark_text(event, style);
}

std::string who_text(const StoryEvent& event) {
  if (event.what == What::kMark) return who(cut(event.name, kKernelName), event.by);
  return who(event.by.outer_operator ? fmt::format("in {}", *event.by.outer_operator) : "", event.by);
}

std::string end_text(const model::StorageView& view) {
  switch (view.ended_by) {
    case EndedBy::kAlive:
      return "Its bytes are there to the end of the trace.\n";
    case EndedBy::kRelease:
      return "Freed by its release; references that were left hold no bytes.\n";
    case EndedBy::kOther:
      return "Freed outside of a release, while references were left.\n";
    case EndedBy::kLastReference:
      break;
  }
  if (!view.held_for) return "Freed by its last reference.\n";
  return fmt::format("Freed by its last reference, {} after the final release, which freed nothing.\n",
                     duration(view.held_for->value));
}

std::string owners_text(const std::vector<model::StoryOwner>& owners, const Style& style) {
  if (owners.empty()) return {};
  std::string text = "\n" + style.bold("held by, when the memory was read") + "\n";
  for (const model::StoryOwner& owner : owners) {
    text += fmt::format("  {}{}\n", placed(owner.path, owner.place),
                        owner.confirmed ? "" : "   (changed while it was read)");
  }
  return text;
}

}  // namespace

std::string storage_text(const model::StorageView& view, const Style& style) {
  std::string text = style.bold(fmt::format("storage {}   {}", view.storage.value, style.bytes(view.bytes_at_birth))) +
                     (view.gathered ? "   gathered parameter\n" : "\n");
  Table table({"seq", "after start", "what", "by"}, {true, true, false, false});
  for (const StoryEvent& event : view.events) {
    table.add({grouped(event.at.seq.value),
               fmt::format("{:.3f} ms", static_cast<double>(event.after_start.value) * 1e-6), what_text(event, style),
               who_text(event)});
  }
  text += table.text(style, "  ") + end_text(view) + owners_text(view.owners, style);
  for (const analyzer::Holders& holders : view.censuses) {
    text += "\n" +
            style.bold(fmt::format("census at seq {}{}", grouped(holders.at().seq.value),
                                   holders.at_error() ? ", as memory ran out" : "")) +
            "\n" + holder_lines(holders, "", style) + labelled("counts", count_text(holders), style);
  }
  return text;
}

}  // namespace dcmt::cli

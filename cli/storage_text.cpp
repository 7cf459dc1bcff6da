// The life of one storage, as printed by `show storage`.
#include <fmt/format.h>

#include "cli/show_text.h"
#include "render/wording/holder_words.h"
#include "render/wording/story_words.h"

namespace dcmt::cli {
namespace {

std::string owners_text(const std::vector<model::StoryOwner>& owners, const Style& style) {
  if (owners.empty()) return {};
  std::string text = "\n" + style.bold("held by, when the memory was read") + "\n";
  for (const model::StoryOwner& owner : owners) {
    text += fmt::format("  {}{}\n", wording::placed(owner.path, owner.place),
                        owner.confirmed ? "" : "   (changed while it was read)");
  }
  return text;
}

}  // namespace

std::string storage_text(const model::StorageView& view, const Style& style) {
  std::string text = style.bold(fmt::format("storage {}   {}", view.storage.value, style.bytes(view.bytes_at_birth))) +
                     (view.gathered ? "   gathered parameter\n" : "\n");
  Table table({"seq", "after start", "what", "by"}, {true, true, false, false});
  for (const model::StoryEvent& event : view.events) {
    table.add({grouped(event.at.seq.value),
               fmt::format("{:.3f} ms", static_cast<double>(event.after_start.value) * 1e-6),
               wording::event_text(event, style.form()), wording::event_by(event)});
  }
  text += table.text(style, "  ") + wording::end_text(view) + "\n" + references_text(view.references, style) +
          owners_text(view.owners, style);
  for (const analyzer::Holders& holders : view.censuses) {
    text += "\n" +
            style.bold(fmt::format("census at seq {}{}", grouped(holders.at().seq.value),
                                   holders.at_error() ? ", as memory ran out" : "")) +
            "\n" + lines_of(wording::holder_facts(holders, "", style.form()), style) +
            labelled("counts", wording::count_text(holders), style);
  }
  return text;
}

}  // namespace dcmt::cli

// What was saved for backward, as printed by `show saved`.
#include <fmt/format.h>

#include "cli/show_text.h"

namespace dcmt::cli {
namespace {

constexpr std::size_t kMostFields = 20;
constexpr std::size_t kMostHolders = 3;

std::string holders_of(const model::SavedField& field) {
  std::vector<std::string> names = field.holders;
  if (names.size() > kMostHolders) {
    const auto more = static_cast<std::int64_t>(names.size() - kMostHolders);
    names.resize(kMostHolders);
    names.push_back(fmt::format("{} more", more));
  }
  return joined(names, ", ");
}

}  // namespace

std::string saved_text(const model::SavedView& view, const std::optional<Grouping>& by, const Style& style) {
  std::string text = style.bold(fmt::format("saved for backward   {} in {}", style.bytes(view.bytes),
                                            counted(view.storages, "storage"))) +
                     fmt::format("   alive at seq {} · the memory was read {}\n", grouped(view.at_seq.value),
                                 counted(view.readings, "time"));
  if (view.readings == 0) return text + "The memory was not read: what autograd keeps is not known.\n";
  if (view.fields.empty()) return text + "No reading found any of what was alive then in the field of a node.\n";
  if (by) {
    return text + module_table(by->depth != 0 ? analyzer::at_depth(view.by_module, by->depth) : view.by_module,
                               kMostFields, style);
  }
  Table table({"bytes", "storages", "elsewhere too", "node", "field", "graph held by"},
              {true, true, true, false, false, false});
  for (std::size_t i = 0; i < view.fields.size() && i < kMostFields; ++i) {
    const model::SavedField& field = view.fields[i];
    table.add({style.bytes(field.bytes), grouped(field.storages), style.bytes(field.elsewhere), field.node, field.field,
               holders_of(field)});
  }
  text += table.text(style, "  ");
  if (view.fields.size() > kMostFields) {
    text += fmt::format("  and {}; all of them: --json\n",
                        counted(static_cast<std::int64_t>(view.fields.size() - kMostFields), "more field"));
  }
  return text;
}

}  // namespace dcmt::cli

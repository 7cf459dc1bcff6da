#include "cli/groups_text.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "trace/base/shell_words.h"

namespace dcmt::cli {
namespace {

using analyzer::GroupBy;

std::string_view name_of_group_column(GroupBy by) {
  switch (by) {
    case GroupBy::kSite:
      return "allocated at";
    case GroupBy::kOperator:
      return "operator";
    case GroupBy::kPhase:
      return "phase";
    case GroupBy::kOwner:
      return "gathered for";
    case GroupBy::kOrigin:
      return "gathered by";
    case GroupBy::kHolder:
      return "held by";
    case GroupBy::kCategory:
      return "category";
    case GroupBy::kKind:
      break;
  }
  return "kind";
}

}  // namespace

std::string group_table(const model::Groups& all, GroupBy by, std::size_t most, const Style& style) {
  const std::vector<analyzer::Group>& groups = all.groups;
  Table table({"bytes", "share", "blocks", "largest id", std::string(name_of_group_column(by))},
              {true, true, true, true, false});
  for (std::size_t i = 0; i < groups.size() && i < most; ++i) {
    const analyzer::Group& group = groups[i];
    table.add({style.bytes(group.bytes), percent(group.share, 1), group.blocks != 0 ? grouped(group.blocks) : "-",
               group.largest_storage ? std::to_string(group.largest_storage->value) : "-", group.name});
  }
  std::string text = table.text(style, "  ");
  if (groups.size() > most) {
    text += fmt::format("  and {} with {}; all of them: --json\n",
                        counted(static_cast<std::int64_t>(groups.size() - most), "more group"),
                        style.bytes(all.bytes_from(most)));
  }
  return text;
}

std::string next_storage_line(const model::Groups& all, const std::string& path) {
  for (const analyzer::Group& group : all.groups) {
    if (!group.largest_storage) continue;
    return fmt::format("next: dc-memtrace show storage {} {}\n", shell_word(path), group.largest_storage->value);
  }
  return {};
}

}  // namespace dcmt::cli

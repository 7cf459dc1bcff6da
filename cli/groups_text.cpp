#include "cli/groups_text.h"

#include <fmt/format.h>

#include <vector>

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
  const std::vector<model::Group>& groups = all.groups;
  Table table({"bytes", "share", "blocks", std::string(name_of_group_column(by))}, {true, true, true, false});
  for (std::size_t i = 0; i < groups.size() && i < most; ++i) {
    const std::string blocks = groups[i].blocks != 0 ? grouped(groups[i].blocks) : "-";
    table.add({exact_bytes(groups[i].bytes.value), percent(groups[i].share, 1), blocks, groups[i].name});
  }
  std::string text = table.text(style, "  ");
  if (groups.size() > most) {
    text += fmt::format("  and {} with {}; all of them: --json\n",
                        counted(static_cast<std::int64_t>(groups.size() - most), "more group"),
                        exact_bytes(all.bytes_from(most).value));
  }
  return text;
}

}  // namespace dcmt::cli

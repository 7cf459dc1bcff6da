#include "cli/groups_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/base/followed_bytes.h"
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
    case GroupBy::kModule:
      return "module";
    case GroupBy::kKind:
      break;
  }
  return "kind";
}

/// `groups`: of type Group or ModuleGroup.
template <class Each>
double share_of(const std::vector<Each>& groups, std::string_view name) {
  const auto found = std::ranges::find(groups, name, &Each::name);
  return found != groups.end() ? found->share : 0;
}

/// What helps where most bytes are in blocks without rows.
std::string small_blocks_line(double share) {
  constexpr double kMuch = 0.5;
  return share > kMuch ? "  small blocks are recorded one by one by: dc-memtrace run --detail full\n" : "";
}

/// The categories that most bytes of all modules have.
std::vector<std::string> columns_of(const std::vector<analyzer::ModuleGroup>& groups) {
  constexpr std::size_t kMostColumns = 5;
  std::map<std::string, std::int64_t> bytes;
  for (const analyzer::ModuleGroup& group : groups) {
    for (const analyzer::Group& category : group.categories) {
      if (category.name != kSmallBlocks) bytes[category.name] += category.bytes.value;
    }
  }
  std::vector<std::pair<std::int64_t, std::string>> sorted;
  for (const auto& [name, sum] : bytes) sorted.emplace_back(-sum, name);
  std::ranges::sort(sorted);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < sorted.size() && i < kMostColumns; ++i) names.push_back(sorted[i].second);
  return names;
}

}  // namespace

std::optional<Grouping> Grouping::named(const std::string& name) {
  const std::size_t colon = name.find(':');
  for (const auto& [each, by] : analyzer::kGroupNames) {
    if (each != name.substr(0, colon)) continue;
    if (colon == std::string::npos) return Grouping{by, 0};
    const std::string depth = name.substr(colon + 1);
    const bool is_number =
        !depth.empty() && depth.size() < 4 && std::ranges::all_of(depth, [](char c) { return c >= '0' && c <= '9'; });
    if (by != GroupBy::kModule || !is_number || std::stoul(depth) == 0) return std::nullopt;
    return Grouping{by, std::stoul(depth)};
  }
  return std::nullopt;
}

std::string module_table(const std::vector<analyzer::ModuleGroup>& groups, std::size_t most, const Style& style) {
  const std::vector<std::string> categories = columns_of(groups);
  std::vector<std::string> head = {"bytes", "share"};
  head.insert(head.end(), categories.begin(), categories.end());
  std::vector<bool> right(head.size(), true);
  head.emplace_back("module, or where outside of modules");
  right.push_back(false);
  Table table(std::move(head), std::move(right));
  std::int64_t left_out = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const analyzer::ModuleGroup& group = groups[i];
    if (i >= most) {
      left_out += group.bytes.value;
      continue;
    }
    std::vector<std::string> cells = {style.bytes(group.bytes), percent(group.share, 1)};
    for (const std::string& name : categories) {
      const auto found = std::ranges::find(group.categories, name, &analyzer::Group::name);
      cells.push_back(found != group.categories.end() ? style.bytes(found->bytes) : "-");
    }
    cells.push_back(group.name);
    table.add(std::move(cells));
  }
  std::string text = table.text(style, "  ");
  if (groups.size() > most) {
    text += fmt::format("  and {} with {}; all of them: --json\n",
                        counted(static_cast<std::int64_t>(groups.size() - most), "more group"),
                        style.bytes(Bytes(left_out)));
  }
  return text;
}

std::string live_table(const model::LiveSet& live, const Grouping& grouping, std::size_t most, const std::string& path,
                       const Style& style) {
  if (grouping.by == GroupBy::kModule) {
    const std::vector<analyzer::ModuleGroup> groups = live.by_module();
    const std::string table =
        module_table(grouping.depth != 0 ? analyzer::at_depth(groups, grouping.depth) : groups, most, style);
    return table + small_blocks_line(share_of(groups, kSmallBlocks));
  }
  const model::Groups groups = live.by(grouping.by);
  std::string text = group_table(groups, grouping.by, most, style);
  if (share_of(groups.groups, analyzer::kNoOperator) > 0) {
    text += "  operators are recorded by: dc-memtrace run --detail operators\n";
  }
  return text + small_blocks_line(share_of(groups.groups, kSmallBlocks)) + next_storage_line(groups, path);
}

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

#include "cli/holder_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace dcmt::cli {
namespace {

using analyzer::GoneBy;
using analyzer::HolderKind;
using analyzer::HolderName;
using analyzer::HolderPath;

constexpr std::size_t kMostPaths = 3;    // shown per census
constexpr std::size_t kAssignment = 56;  // characters of a source line

std::string holder_head(const HolderPath& path) {
  std::vector<std::string> names;
  for (const HolderName& name : path.names) names.emplace_back(name.name.value_or("(evaluation stack)"));
  std::string text = fmt::format("{}: {}", path.function.value_or(""), joined(names, ", "));
  if (names.size() > 1) text += " (one object)";
  if (!path.certain) text += " (unproven)";
  return text;
}

/// Where the names were assigned, where they end, and the model's line.
std::string holder_places(const HolderPath& path, const Style& style) {
  struct Line {
    std::string place, source, fate;
  };
  std::vector<Line> lines;
  for (const HolderName& name : path.names) {
    if (!name.name || !name.line) continue;
    std::string fate;
    if (name.delete_line) {
      fate = fmt::format("deleted at line {}", *name.delete_line);
    } else if (name.kind == HolderKind::kLocal) {
      fate = "no delete before the return";
      if (path.return_line) fate += fmt::format(" (line {})", *path.return_line);
    }
    lines.push_back({fmt::format("{}:{}", shown_path(path.file.value_or("")), *name.line),
                     cut(name.assignment.value_or(""), kAssignment), std::move(fate)});
  }
  if (path.model_file) {
    lines.push_back({fmt::format("{}:{}", shown_path(*path.model_file), path.model_line.value_or(0)),
                     cut(path.model_text.value_or(""), kAssignment), "the model's line"});
  }
  std::size_t places = 0;
  std::size_t sources = 0;
  for (const Line& line : lines) {
    places = std::max(places, width(line.place));
    sources = std::max(sources, width(line.source));
  }
  std::string text;
  for (const Line& line : lines) {
    text += labelled("", fmt::format("{}   {}   {}", left(line.place, places), left(line.source, sources), line.fate),
                     style);
  }
  return text;
}

}  // namespace

std::string placed(std::string_view path, std::optional<std::string_view> place) {
  std::string text(path);
  if (place) text.insert(std::min(text.find(": "), text.size()), fmt::format(" ({})", *place));
  return text;
}

std::string held_text(std::string_view path, std::optional<std::string_view> place,
                      std::optional<std::string_view> type) {
  const std::string holder = placed(path, place);
  return type ? fmt::format("{} [{}]", holder, *type) : holder;
}

std::string holder_lines(const analyzer::Holders& holders, std::string_view suffix, const Style& style) {
  std::string text;
  for (std::size_t i = 0; i < holders.paths.size() && i < kMostPaths; ++i) {
    text +=
        labelled(i == 0 ? "held by" : "", holder_head(holders.paths[i]) + (i == 0 ? std::string(suffix) : ""), style);
    text += holder_places(holders.paths[i], style);
  }
  if (holders.paths.size() > kMostPaths) {
    const auto more = static_cast<std::int64_t>(holders.paths.size() - kMostPaths);
    text += labelled("", fmt::format("and {}", counted(more, "more frame")), style);
  }
  if (holders.paths.empty()) {
    text += labelled("held by",
                     holders.tensors.empty() ? "no holder that the census found"
                                             : counted(static_cast<std::int64_t>(holders.tensors.size()), "tensor") +
                                                   " without a named holder",
                     style);
  }
  return text;
}

std::string count_text(const analyzer::Holders& holders) {
  std::vector<std::string> parts;
  for (const analyzer::CountSum& sum : holders.sums()) {
    std::string name(name_of(sum.subject));
    if (sum.number > 1) name = fmt::format("{} {}s", sum.number, name);
    parts.push_back(
        fmt::format("{}: {} = {} explained + {} unexplained", name, sum.count, sum.explained, sum.unexplained));
  }
  return parts.empty() ? "none read" : joined(parts, " · ");
}

std::string gone_text(const model::Gone& gone) {
  const std::string text = gone.how == GoneBy::kResize      ? "by a resize to 0"
                           : gone.how == GoneBy::kBlockFree ? "by a free of its block"
                                                            : "by the last reference";
  if (gone.at_return_of) return text + fmt::format(", at the return of {}", *gone.at_return_of);
  return gone.by.stack.empty() ? text : text + ", at " + gone.by.site;
}

}  // namespace dcmt::cli

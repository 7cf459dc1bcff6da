#include "render/wording/holder_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "render/wording/columns.h"

namespace dcmt::wording {
namespace {

using analyzer::GoneBy;
using analyzer::HolderKind;
using analyzer::HolderName;
using analyzer::HolderPath;

constexpr std::size_t kAssignment = 56;  // characters of a source line

/// Where the names were assigned, where they end, and the model's line.
void add_places(const HolderPath& path, LabelledLines& facts) {
  struct SourceLine {
    std::string place, source, fate;
  };
  std::vector<SourceLine> lines;
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
  for (const SourceLine& line : lines) {
    places = std::max(places, width(line.place));
    sources = std::max(sources, width(line.source));
  }
  for (const SourceLine& line : lines) {
    facts.push_back({"", fmt::format("{}   {}   {}", left(line.place, places), left(line.source, sources), line.fate)});
  }
}

}  // namespace

std::string holder_head(const HolderPath& path) {
  std::vector<std::string> names;
  for (const HolderName& name : path.names) names.emplace_back(name.name.value_or("(evaluation stack)"));
  std::string text = fmt::format("{}: {}", path.function.value_or(""), joined(names, ", "));
  if (names.size() > 1) text += " (one object)";
  if (!path.certain) text += " (unproven)";
  return text;
}

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

LabelledLines holder_facts(const analyzer::Holders& holders, std::string_view suffix, const Form& form) {
  LabelledLines facts;
  for (std::size_t i = 0; i < holders.paths.size() && i < form.most; ++i) {
    facts.push_back(
        {i == 0 ? "held by" : "", holder_head(holders.paths[i]) + (i == 0 ? std::string(suffix) : std::string())});
    add_places(holders.paths[i], facts);
  }
  if (holders.paths.size() > form.most) {
    const auto more = static_cast<std::int64_t>(holders.paths.size() - form.most);
    facts.push_back({"", "and " + counted(more, "more frame")});
  }
  if (holders.paths.empty()) {
    facts.push_back({"held by", holders.tensors.empty()
                                    ? "no holder that the census found"
                                    : counted(static_cast<std::int64_t>(holders.tensors.size()), "tensor") +
                                          " without a named holder"});
  }
  return facts;
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

}  // namespace dcmt::wording

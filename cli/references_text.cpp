// Who took each reference to a storage, and who gave it back, as printed by `show storage`.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/show_text.h"
#include "render/wording/reference_words.h"

namespace dcmt::cli {
namespace {

using model::CountStory;
using model::ReferenceRow;

constexpr std::size_t kMostRows = 24;  ///< of references that outlived their line
constexpr std::size_t kMostLines = 6;  ///< of those that took references and gave them back

std::string sure(const ReferenceRow& row) { return row.certain ? "" : "   likely"; }

std::string taken_text(const CountStory& story, const ReferenceRow& row) {
  if (!row.taken) return "before it was watched";
  return wording::reference_place(*row.taken) + "   " + wording::reference_function(story, *row.taken);
}

/// References that a tensor took along as it left the storage are not left of the storage.
bool has_left(const CountStory& story) { return (!story.to && story.last > 0) || !story.at_exit.empty(); }

std::string left_text(const CountStory& story, const Style& style) {
  std::string text;
  const auto add = [&](const std::vector<ReferenceRow>& rows, std::string_view how) {
    for (const ReferenceRow& row : rows) {
      const std::string count = fmt::format("  {:>4} {}   ", row.count, how);
      text += (has_left(story) ? style.bad(count) : count) + taken_text(story, row);
      if (row.taken) text += fmt::format("   {:.3f} ms", static_cast<double>(row.after_start.value) * 1e-6);
      text += sure(row) + "\n";
    }
  };
  // What gave back the references of a count that is 0 is missing.
  add(story.left, story.last == 0 ? "gone" : story.to ? "there" : "left");
  add(story.at_exit, "to the exit");
  return text;
}

std::string given_back_text(const CountStory& story) {
  std::string text;
  std::map<std::string, std::int64_t> within;  // by line
  std::size_t rows = 0;
  for (const ReferenceRow& row : story.given_back) {
    if (wording::is_within_a_line(row)) {
      within[wording::reference_place(*row.taken)] += row.count;
      continue;
    }
    if (++rows > kMostRows) continue;
    text += fmt::format("  {:>4} ×      {}\n           → {}   {}{}\n", row.count, taken_text(story, row),
                        wording::reference_place(*row.given_back), wording::reference_function(story, *row.given_back),
                        sure(row));
  }
  if (rows > kMostRows) {
    text += fmt::format("              {}: --json\n", counted(static_cast<std::int64_t>(rows - kMostRows), "more row"));
  }
  std::vector<std::pair<std::int64_t, std::string>> lines;
  for (const auto& [line, count] : within) lines.emplace_back(-count, line);
  std::ranges::sort(lines);
  for (std::size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) {
    text += fmt::format("  {:>4} ×      within {}\n", -lines[i].first, lines[i].second);
  }
  if (lines.size() > kMostLines) {
    text += fmt::format("              within {}: --json\n",
                        counted(static_cast<std::int64_t>(lines.size() - kMostLines), "more line"));
  }
  return text;
}

}  // namespace

std::string references_text(const std::vector<CountStory>& stories, const Style& style) {
  if (stories.empty()) return {};
  std::string text = "\n" + style.bold("who took each reference → who gave it back") +
                     "   (likely: a count does not say which of its references is given back)\n";
  // What is left first; of that and of the rest Python's objects, whose lines say most.
  std::vector<const CountStory*> ordered;
  for (const CountStory& story : stories) ordered.push_back(&story);
  std::ranges::stable_sort(ordered, {}, [](const CountStory* story) {
    return std::pair(!has_left(*story), -static_cast<int>(story->subject));
  });
  for (const CountStory* story : ordered) {
    text += fmt::format(" {}: {}\n", wording::count_name(*story), wording::count_history(*story)) +
            left_text(*story, style) + given_back_text(*story);
  }
  return text;
}

}  // namespace dcmt::cli

#include "render/wording/fragmented_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "render/wording/reserved_words.h"

namespace dcmt::wording {
namespace {

using analyzer::Fragmentation;
using analyzer::Remedy;
using analyzer::RemedyKind;

constexpr std::size_t kMostStreams = 8;

/// What is changed: "expandable_segments:True".
std::string change_text(const Remedy& remedy) {
  switch (remedy.kind) {
    case RemedyKind::kSetting:
      return remedy.change;
    case RemedyKind::kWithoutSetting:
      return "without " + remedy.change;
    case RemedyKind::kOneStream:
      return "all on one stream";
    case RemedyKind::kOnePool:
      return "one private pool";
    case RemedyKind::kOwnPool:
      return "a pool of its own for " + remedy.change;
  }
  return {};
}

std::string streams_text(const Fragmentation& found, const Form& form) {
  std::vector<std::string> parts;
  for (const analyzer::StreamPool& pool : found.streams) {
    if (parts.size() == kMostStreams) break;
    const std::int32_t stream = pool.stream.value_or(-1);
    parts.push_back(fmt::format("{} {}", stream == 0 ? "default" : std::to_string(stream), form.bytes(pool.peak)));
  }
  if (found.streams.size() > kMostStreams) parts.push_back(fmt::format("{} more", found.streams.size() - kMostStreams));
  return joined(parts, ", ");
}

/// Everything but what was asked for.
void add_rows(const Fragmentation& found, const Form& form, LabelledLines& facts) {
  std::string label = found.at_error ? "at error" : "at peak";
  for (const analyzer::ReservedRow& row : found.rows) {
    if (row.kind == analyzer::ReservedKind::kRequested) continue;
    facts.push_back({std::move(label), fmt::format("{} {}", form.bytes(row.bytes), reserved_text(row, found.stream))});
    label.clear();
  }
}

void add_kept(const Fragmentation& found, const Form& form, LabelledLines& facts) {
  std::string label = "kept by";
  for (const analyzer::KeptSegment& segment : found.kept) {
    const analyzer::KeepingBlock& block = segment.largest.front();
    std::string text = fmt::format("a block of {} from {}", form.bytes(block.bytes), block.site);
    if (block.holder) text += " · " + *block.holder;
    if (block.waits) text += " · freed, another stream still uses it";
    if (segment.blocks > 1) text += fmt::format(", and {} more", segment.blocks - 1);
    facts.push_back({std::move(label),
                     fmt::format("{}: {} of {} are free", text, form.bytes(segment.free), form.bytes(segment.bytes))});
    label.clear();
  }
  const std::int64_t more = found.kept_segments - static_cast<std::int64_t>(found.kept.size());
  if (more > 0) facts.push_back({"", counted(more, "more segment")});
}

void add_remedies(const Fragmentation& found, const Form& form, LabelledLines& facts) {
  if (found.not_predicted) return;
  std::vector<std::string> vain;
  std::string label = "would help";
  std::size_t shown = 0;
  for (const Remedy& remedy : found.remedies) {
    if (!remedy.helps) {
      vain.push_back(change_text(remedy));
    } else if (shown++ < form.most) {
      facts.push_back({std::move(label), remedy_text(remedy, form)});
      label.clear();
    }
  }
  if (found.best() == nullptr) facts.push_back({"no help", joined(vain, ", ")});
}

}  // namespace

std::string remedy_text(const Remedy& remedy, const Form& form) {
  if (remedy.fits == true) return change_text(remedy) + ": the request fits";
  return fmt::format("{}: at most {} reserved, {} less", change_text(remedy), form.bytes(remedy.reserved_peak),
                     form.bytes(remedy.gives_back));
}

std::string fragmented_sentence(const Fragmentation& found, const Form& form) {
  std::string text = fmt::format("Of {} reserved on {}, {} were never active at once", form.bytes(found.reserved),
                                 found.device, form.bytes(found.idle()));
  if (const Remedy* best = found.best()) {
    text += best->fits == true
                ? fmt::format("; with {} the request fits", change_text(*best))
                : fmt::format("; with {} {} are reserved", change_text(*best), form.bytes(best->reserved_peak));
  }
  return text + ". ";
}

FindingWords fragmented_words(const model::ReportedFinding& finding, const Form& form) {
  const Fragmentation& found = *finding.fragmentation;
  FindingWords words{finding_title(finding),
                     fmt::format("  ({})   {}   {}{}", joined(finding.classes, ", "), found.device,
                                 form.bytes(finding.bytes), found.not_predicted ? "   cause: unknown" : ""),
                     {}};
  LabelledLines& facts = words.facts;
  facts.push_back(
      {"reserved", fmt::format("{} at most, and {} active at most: {} of it never in use at once",
                               form.bytes(found.reserved), form.bytes(found.active), percent(found.idle_share(), 1))});
  add_rows(found, form, facts);
  add_kept(found, form, facts);
  if (found.streams.size() > 1) {
    facts.push_back({"by streams", fmt::format("{}: {}, each with its own peak: {}", form.bytes(found.by_streams),
                                               counted(static_cast<std::int64_t>(found.streams.size()), "stream"),
                                               streams_text(found, form))});
  }
  for (std::size_t i = 0; i < std::min(form.most, found.sites.size()); ++i) {
    facts.push_back(
        {i == 0 ? "alternates" : "", fmt::format("{} on {} from {}", form.bytes(found.sites[i].bytes),
                                                 counted(found.sites[i].streams, "stream"), found.sites[i].site)});
  }
  facts.push_back({"because", finding.why});
  add_remedies(found, form, facts);
  if (found.known() < found.blocks || found.only_steps_kept) {
    facts.push_back(
        {"seen", fmt::format("the stream of {} of {}{}", grouped(found.known()), counted(found.blocks, "block"),
                             found.only_steps_kept ? ", of the steps kept: by streams it may be more" : "")});
  }
  facts.push_back({"fix", finding.fix});
  return words;
}

}  // namespace dcmt::wording

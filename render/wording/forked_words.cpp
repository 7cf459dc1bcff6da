#include "render/wording/forked_words.h"

#include <fmt/format.h>

#include "render/wording/growth_parts.h"
#include "render/wording/holder_words.h"

namespace dcmt::wording {

using analyzer::ForkedChildren;
using analyzer::ForkedGrowth;

std::string children_text(const ForkedChildren& children) {
  return fmt::format("{} ({}){}", counted(children.most, "forked child", "forked children"), children.name,
                     children.children > children.most ? " at a time" : "");
}

std::string forked_sentence(const model::Report& report, const Form& form) {
  for (const model::ReportedFinding& finding : report.findings) {
    if (!finding.forked) continue;
    const ForkedGrowth& growth = *finding.forked;
    return fmt::format("{} {} {} {} {}. ", counted(growth.of.most, "forked child", "forked children"),
                       growth.of.most == 1 ? "has" : "have", growth.inherited ? "copied" : "added",
                       form.bytes(finding.bytes), (growth.inherited ? "of " : "to ") + short_name(growth.holder));
  }
  return {};
}

FindingWords forked_words(const model::ReportedFinding& finding, const Form& form) {
  const ForkedGrowth& growth = *finding.forked;
  FindingWords words{
      finding_title(finding),
      fmt::format("  {}   {} × {}", short_name(growth.holder), grouped(growth.of.most), form.bytes(growth.each)),
      {}};
  words.facts.push_back({"held by", held_text(growth.holder, growth.place, growth.type)});
  const std::string entries = counted(growth.entries, "entry", "entries") +
                              (growth.entry_type ? fmt::format(", most of type {}", *growth.entry_type) : "");
  words.facts.push_back({"entries", fmt::format("{}: about {}, of which the child that was read does not share {}",
                                                entries, form.bytes(growth.bytes), form.bytes(growth.each))});
  if (!growth.inherited) {
    words.facts.push_back(
        {"grew", fmt::format("from {} to {} entries", grouped(growth.entries_before), grouped(growth.entries))});
  }
  words.facts.push_back(
      {"children", fmt::format("{}: {} that they do not share, {} when they were sampled first",
                               children_text(growth.of), form.bytes(growth.of.unshared), form.bytes(growth.of.first))});
  words.facts.push_back({"because", finding.why});
  words.facts.push_back({"fix", finding.fix});
  return words;
}

}  // namespace dcmt::wording

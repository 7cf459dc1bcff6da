#include "render/wording/growth_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "render/wording/forked_words.h"
#include "render/wording/growth_parts.h"
#include "render/wording/holder_words.h"
#include "render/wording/memory_class.h"
#include "render/wording/native_words.h"
#include "render/wording/object_growth_words.h"

namespace dcmt::wording {
namespace {

using analyzer::GrowthBase;
using model::ReportedFinding;

constexpr std::size_t kMostNamed = 3;

/// "30.0 MiB " and `how` of the findings of one rule; empty if there are none.
std::string sum_sentence(const model::Report& report, std::string_view rule, std::string_view how, const Form& form) {
  std::int64_t bytes = 0;
  for (const ReportedFinding& finding : report.findings) {
    if (finding.rule == rule) bytes += finding.bytes.value;
  }
  return bytes == 0 ? std::string() : fmt::format("{} {}. ", form.bytes(Bytes(bytes)), how);
}

std::string outside_sentence(const model::Report& report, const Form& form) {
  std::string text;
  for (const ReportedFinding& finding : report.findings) {
    if (!finding.outside) continue;
    text +=
        fmt::format("Memory that is not torch's grows by {} a {}: {}{}. ", form.bytes(finding.outside->per_step),
                    finding.outside->unit, memory_class_text(finding.outside->kind),
                    finding.outside->holder ? fmt::format(", held by {}", short_name(*finding.outside->holder)) : "");
  }
  return text;
}

/// Storages made after the last reading are taken to be held like others of the same place.
std::string holder_confidence(const GrowthBase& growth) {
  if (growth.holder.empty()) return "unknown";
  if (growth.holder == analyzer::kHeldByCpp) return "not found";
  if (growth.seen == growth.count) return "certain";
  return fmt::format("certain for {} of {} storages", grouped(growth.seen), grouped(growth.count));
}

}  // namespace

std::string growth_sentence(const model::Report& report, const Form& form) {
  std::vector<std::string> holders;
  std::string_view round;
  for (const ReportedFinding& finding : report.findings) {
    if (!finding.growth || finding.growth->rounds == 0) continue;
    holders.push_back(short_name(finding.growth->holder));
    round = name_of(finding.growth->kind);
  }
  std::string kept = sum_sentence(report, "kept_by_traceback", "kept by the traceback of an exception", form) +
                     sum_sentence(report, "graphs_without_backward", "saved for a backward that never ran", form);
  kept += outside_sentence(report, form) + object_growth_sentence(report, form) + forked_sentence(report, form) +
          native_sentence(report, form);
  if (holders.empty()) return kept;
  if (holders.size() > kMostNamed) {
    const auto more = static_cast<std::int64_t>(holders.size() - kMostNamed);
    holders.resize(kMostNamed);
    holders.push_back(fmt::format("{} more", more));
  }
  return fmt::format("Memory grows by {} a {}, held by {}. ", form.bytes(report.summary.growth_per_step), round,
                     joined(holders, ", ")) +
         kept;
}

FindingWords growth_words(const ReportedFinding& finding, const Form& form) {
  const GrowthBase& growth = *finding.growth;
  const std::string how = growth.rounds > 0
                              ? fmt::format(" in {}, {} more each", counted(growth.rounds, name_of(growth.kind)),
                                            form.bytes(growth.per_round))
                              : std::string();
  FindingWords words{
      finding_title(finding),
      fmt::format("  {}   {}{}   holder: {}", growth.holder.empty() ? "graphs" : short_name(growth.holder),
                  form.bytes(finding.bytes), how, holder_confidence(growth)),
      {}};
  if (!growth.holder.empty()) words.facts.push_back({"held by", held_text(growth.holder, growth.place, growth.type)});
  for (const std::string& each : growth.also) words.facts.push_back({"and by", short_name(each)});
  add_stored_by(growth.stored_by, growth.called_at, form, words.facts);
  for (std::size_t i = 0; i < std::min(form.most, growth.made_at.size()); ++i) {
    const analyzer::GrowthSite& site = growth.made_at[i];
    const std::string sum = fmt::format("   {}, {}", counted(site.storages, "storage"), form.bytes(site.bytes));
    words.facts.push_back({i == 0 ? "made at" : "", site.called_from.value_or(site.site) + sum});
    if (site.called_from) words.facts.push_back({"", "  in " + site.site});
  }
  if (growth.made_at.size() > form.most) {
    words.facts.push_back({"", counted(static_cast<std::int64_t>(growth.made_at.size() - form.most), "more place")});
  }
  add_bounds(finding, form, words.facts);
  if (!growth.holder.empty() && growth.holder != analyzer::kHeldByCpp)
    words.facts.push_back({"alone", fmt::format("{} are freed if only this is emptied", form.bytes(growth.alone))});
  words.facts.push_back({"because", finding.why});
  words.facts.push_back({"fix", finding.fix});
  return words;
}

FindingWords outside_growth_words(const ReportedFinding& finding, const Form& form) {
  const analyzer::OutsideGrowth& growth = *finding.outside;
  const std::string name = growth.holder ? short_name(*growth.holder) : std::string(memory_class_text(growth.kind));
  FindingWords words{finding_title(finding),
                     fmt::format("  {}   {} more each {}, not torch's", name, form.bytes(growth.per_step), growth.unit),
                     {}};
  if (growth.holder) {
    words.facts.push_back({"held by", held_text(*growth.holder, growth.place, growth.type)});
    const std::int64_t count = growth.arrays.value_or(0);
    const std::string of_it =
        growth.kind == "graph" ? counted(count, "node") : counted(count, "array of numpy", "arrays of numpy");
    words.facts.push_back({"of it", of_it + ", " + form.bytes(growth.after)});
    add_stored_by(growth.stored_by, growth.called_at, form, words.facts);
  } else {
    if (growth.file) words.facts.push_back({"file", std::string(*growth.file)});
    words.facts.push_back({"grew", fmt::format("from {} to {} in {}", form.bytes(growth.before),
                                               form.bytes(growth.after), counted(growth.steps, growth.unit))});
  }
  words.facts.push_back({"because", finding.why});
  words.facts.push_back({"fix", finding.fix});
  return words;
}

}  // namespace dcmt::wording

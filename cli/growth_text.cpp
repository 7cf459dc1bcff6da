#include "cli/growth_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cli/holder_text.h"

namespace dcmt::cli {
namespace {

using model::Finding;
using model::Growth;

constexpr std::size_t kMostSites = 3;
constexpr std::size_t kMostNamed = 3;

/// "probe.seen": the name that people use, without the function that has it.
std::string short_name(std::string_view holder) {
  const std::size_t root = holder.find(": ");
  return std::string(root == std::string_view::npos ? holder : holder.substr(root + 2));
}

std::string kept_sentence(const model::Report& report, const Style& style) {
  std::int64_t bytes = 0;
  for (const Finding& finding : report.findings) {
    if (finding.growth && finding.growth->steps == 0) bytes += finding.bytes.value;
  }
  return bytes == 0 ? std::string()
                    : fmt::format("{} kept by the traceback of an exception. ", style.bytes(Bytes(bytes)));
}

/// The name of a kind of memory that is not torch's.
std::string kind_name(const model::OutsideGrowth& growth) {
  if (growth.kind == "numpy") return "arrays of numpy";
  if (growth.kind == "malloc") return "the C library's allocator";
  if (growth.kind == "python") return "Python's small objects";
  if (growth.kind == "shared tensors") return "tensors shared with other processes";
  if (growth.kind == "files") return "mapped files";
  if (growth.kind == "other") return "anonymous mappings";
  return std::string(growth.kind);
}

std::string outside_sentence(const model::Report& report, const Style& style) {
  std::string text;
  for (const Finding& finding : report.findings) {
    if (!finding.outside) continue;
    text +=
        fmt::format("Memory that is not torch's grows by {} a step: {}{}. ", style.bytes(finding.outside->per_step),
                    kind_name(*finding.outside),
                    finding.outside->holder ? fmt::format(", held by {}", short_name(*finding.outside->holder)) : "");
  }
  return text;
}

/// Storages made after the last reading are taken to be held like others of the same place.
std::string holder_confidence(const Growth& growth) {
  if (growth.seen == growth.storages) return "certain";
  return fmt::format("certain for {} of {} storages", grouped(growth.seen), grouped(growth.storages));
}

/// Found by text: a single statement is probably the right one; of several, nothing shows which one it was.
std::string statements_text(std::string_view label, const std::vector<model::StoringStatement>& statements,
                            const Style& style) {
  std::string text;
  if (statements.size() > kMostSites) return text;
  for (const model::StoringStatement& each : statements) {
    text += labelled(text.empty() ? label : "", each.site + "   " + each.text, style);
  }
  return text;
}

std::string stored_by_text(const Growth& growth, const Style& style) {
  return statements_text(growth.stored_by.size() == 1 ? "added at" : "one of", growth.stored_by, style) +
         statements_text("called at", growth.called_at, style);
}

}  // namespace

std::string growth_sentence(const model::Report& report, const Style& style) {
  std::vector<std::string> holders;
  std::string_view round;
  for (const Finding& finding : report.findings) {
    if (!finding.growth || finding.growth->steps == 0) continue;
    holders.push_back(short_name(finding.growth->holder));
    round = finding.growth->unit;
  }
  std::string kept = kept_sentence(report, style);
  kept += outside_sentence(report, style);
  if (holders.empty()) return kept;
  if (holders.size() > kMostNamed) {
    const auto more = static_cast<std::int64_t>(holders.size() - kMostNamed);
    holders.resize(kMostNamed);
    holders.push_back(fmt::format("{} more", more));
  }
  return fmt::format("Memory grows by {} a {}, held by {}. ", style.bytes(report.summary.growth_per_step), round,
                     joined(holders, ", ")) +
         kept;
}

std::string growth_text(const Finding& finding, const Style& style) {
  const Growth& growth = *finding.growth;
  const std::string how =
      growth.steps > 0
          ? fmt::format(" in {}, {} more each", counted(growth.steps, growth.unit), style.bytes(growth.per_step))
          : std::string();
  std::string text =
      fmt::format("{}  {}  {}   {}{}   holder: {}\n", finding.number, style.bad(growth.steps > 0 ? "GROWS" : "KEPT"),
                  short_name(growth.holder), style.bytes(finding.bytes), how, holder_confidence(growth));
  text += labelled("held by", held_text(growth.holder, growth.place, growth.type), style);
  text += stored_by_text(growth, style);
  for (std::size_t i = 0; i < std::min(kMostSites, growth.sites.size()); ++i) {
    const model::GrowthSite& site = growth.sites[i];
    const std::string sum = fmt::format("   {}, {}", counted(site.storages, "storage"), style.bytes(site.bytes));
    text += labelled(i == 0 ? "made at" : "", site.called_from.value_or(site.site) + sum, style);
    if (site.called_from) text += labelled("", "  in " + site.site, style);
  }
  if (growth.sites.size() > kMostSites) {
    text += labelled("", counted(static_cast<std::int64_t>(growth.sites.size() - kMostSites), "more place"), style);
  }
  text += labelled("alone", fmt::format("{} are freed if only this is emptied", style.bytes(growth.alone)), style);
  text += labelled("because", finding.why, style);
  return text + labelled("fix", finding.fix, style);
}

std::string outside_growth_text(const Finding& finding, const Style& style) {
  const model::OutsideGrowth& growth = *finding.outside;
  const std::string name = growth.holder ? short_name(*growth.holder) : kind_name(growth);
  std::string text = fmt::format("{}  {}  {}   {} more each step, not torch's\n", finding.number, style.bad("GROWS"),
                                 name, style.bytes(growth.per_step));
  if (growth.holder) {
    text += labelled("held by", held_text(*growth.holder, growth.place, growth.type), style);
    text += labelled("of it",
                     fmt::format("{}, {}", counted(growth.arrays.value_or(0), "array of numpy", "arrays of numpy"),
                                 style.bytes(growth.after)),
                     style);
  } else {
    if (growth.file) text += labelled("file", std::string(*growth.file), style);
    text += labelled("grew",
                     fmt::format("from {} to {} in {}", style.bytes(growth.before), style.bytes(growth.after),
                                 counted(growth.steps, "step")),
                     style);
  }
  text += labelled("because", finding.why, style);
  return text + labelled("fix", finding.fix, style);
}

}  // namespace dcmt::cli

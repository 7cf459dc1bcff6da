#include "render/wording/object_growth_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "render/wording/growth_parts.h"
#include "render/wording/holder_words.h"

namespace dcmt::wording {
namespace {

using analyzer::ObjectGrowth;

constexpr std::size_t kMostObjectsNamed = 3;

/// "0.3", "12", "1,200".
std::string few_digits(double number) {
  return number < 10 ? fmt::format("{:.1f}", number) : grouped(std::llround(number));
}

/// "12,000 entries of type dict".
std::string entries_text(const ObjectGrowth& growth) {
  const std::string entries = counted(growth.entries, "entry", "entries");
  return growth.entry_type ? fmt::format("{}, most of type {}", entries, *growth.entry_type) : entries;
}

}  // namespace

std::string object_growth_sentence(const model::Report& report, const Form& form) {
  std::vector<std::string> holders;
  Bytes bytes;
  std::string_view unit;
  for (const model::ReportedFinding& finding : report.findings) {
    if (!finding.objects || (!unit.empty() && finding.objects->unit != unit)) continue;
    holders.push_back(short_name(finding.objects->holder));
    bytes.value += finding.objects->per_round.value;
    unit = finding.objects->unit;
  }
  if (holders.empty()) return {};
  if (holders.size() > kMostObjectsNamed) {
    const std::size_t more = holders.size() - kMostObjectsNamed;
    holders.resize(kMostObjectsNamed);
    holders.push_back(fmt::format("{} more", more));
  }
  return fmt::format("Python objects grow by {} a {}, held by {}. ", form.bytes(bytes), unit, joined(holders, ", "));
}

FindingWords object_growth_words(const model::ReportedFinding& finding, const Form& form) {
  const ObjectGrowth& growth = *finding.objects;
  FindingWords words{finding_title(finding),
                     fmt::format("  {}   {} in {}, {} more each {}   holder: {}", short_name(growth.holder),
                                 form.bytes(growth.bytes), counted(growth.entries, "entry", "entries"),
                                 form.bytes(growth.per_round), growth.unit, name_of(finding.confidence)),
                     {}};
  words.facts.push_back({"held by", held_text(growth.holder, growth.place, growth.type)});
  if (growth.alike > 1) words.facts.push_back({"", fmt::format("{} with such a path", grouped(growth.alike))});
  const double each =
      static_cast<double>(growth.bytes.value) / static_cast<double>(std::max<std::int64_t>(1, growth.entries));
  words.facts.push_back(
      {"entries", fmt::format("{}; about {} each", entries_text(growth), form.bytes(Bytes(std::llround(each))))});
  if (growth.parts) words.facts.push_back({"refer to", *growth.parts});
  words.facts.push_back(
      {"grew",
       fmt::format("from {} to {} entries in {}, {} more each", grouped(growth.entries_before), grouped(growth.entries),
                   counted(growth.rounds, growth.unit), few_digits(growth.entries_per_round))});
  add_stored_by(growth.stored_by, growth.called_at, form, words.facts);
  words.facts.push_back({"because", finding.why});
  words.facts.push_back({"fix", finding.fix});
  return words;
}

}  // namespace dcmt::wording

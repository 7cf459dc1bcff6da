#include "render/wording/native_words.h"

#include <fmt/format.h>

#include <vector>

#include "render/wording/growth_parts.h"

namespace dcmt::wording {
namespace {

using analyzer::NativeGrowth;
using analyzer::NativePlace;

std::string object_name(const NativePlace& place) { return place.object.substr(place.object.rfind('/') + 1); }

std::string short_place(const NativePlace& place) {
  if (!place.function.empty()) return place.function;
  return place.object.empty() ? "an unknown place" : object_name(place);
}

}  // namespace

std::string native_place_text(const NativePlace& place) {
  if (place.object.empty()) return "an unknown place";
  const std::string object = object_name(place);
  if (place.source) return fmt::format("{}, {} ({})", place.function, *place.source, object);
  return fmt::format("{}+{:#x} ({})", place.function.empty() ? object : place.function, place.offset, object);
}

std::string native_sentence(const model::Report& report, const Form& form) {
  std::vector<std::string> places;
  Bytes bytes;
  std::string_view unit;
  for (const model::ReportedFinding& finding : report.findings) {
    if (!finding.native || (!unit.empty() && finding.native->unit != unit)) continue;
    places.push_back(short_place(finding.native->place));
    bytes.value += finding.native->per_round.value;
    unit = finding.native->unit;
  }
  if (places.empty()) return {};
  constexpr std::size_t kMostNative = 3;
  if (places.size() > kMostNative) {
    const std::size_t more = places.size() - kMostNative;
    places.resize(kMostNative);
    places.push_back(fmt::format("{} more", more));
  }
  return fmt::format("Memory of C and C++ grows by {} a {}, allocated by {}. ", form.bytes(bytes), unit,
                     joined(places, ", "));
}

FindingWords native_words(const model::ReportedFinding& finding, const Form& form) {
  const NativeGrowth& growth = *finding.native;
  FindingWords words{finding_title(finding),
                     fmt::format("  {}   {} alive, {} more each {}", short_place(growth.place),
                                 form.bytes(growth.live.bytes), form.bytes(growth.per_round), growth.unit),
                     {}};
  words.facts.push_back({"allocated", native_place_text(growth.place)});
  if (growth.place.python) words.facts.push_back({"called at", *growth.place.python});
  words.facts.push_back({"alive", fmt::format("{}, by {}; with 95 % between {} and {}", form.bytes(growth.live.bytes),
                                              counted(growth.live.samples, "sampled allocation"),
                                              form.bytes(growth.live.low), form.bytes(growth.live.high))});
  words.facts.push_back({"grew", fmt::format("from {} in {}, of {} that it allocated", form.bytes(growth.before),
                                             counted(growth.rounds, growth.unit), form.bytes(growth.made))});
  words.facts.push_back({"because", finding.why});
  words.facts.push_back({"fix", finding.fix});
  return words;
}

}  // namespace dcmt::wording

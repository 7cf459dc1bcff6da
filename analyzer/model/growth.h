// Findings about storages that outlive their step: memory that grows, or that a traceback keeps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/values.h"
#include "analyzer/rules/finding.h"
#include "analyzer/rules/stored_by.h"

namespace dcmt::model {

struct GrowthSite {
  std::string site;
  std::optional<std::string> called_from;
  Bytes bytes;
  std::int64_t storages = 0;

  static constexpr std::string_view kShape = "growth_site";
  static void describe(auto&& field) {
    field("site", &GrowthSite::site, "");
    field(
        "called_from", &GrowthSite::called_from,
        "the line of the user's own files that called the package where the site lies; null: the site is such a line, "
        "or none led there");
    field("bytes", &GrowthSite::bytes, "");
    field("storages", &GrowthSite::storages, "");
  }
};

struct Growth {
  std::string_view holder;
  std::vector<std::string> also;
  std::optional<std::string_view> place, type;
  std::int64_t steps = 0, storages = 0, seen = 0;
  Bytes per_step, alone;
  std::string_view unit;
  bool by_calls = false;
  std::vector<GrowthSite> sites;
  std::vector<analyzer::StoringStatement> stored_by, called_at, used_at;
  std::optional<StorageId> example;

  static constexpr std::string_view kShape = "growth";
  static void describe(auto&& field) {
    field(
        "holder", &Growth::holder,
        "what holds the storages, as \"main: probe.seen\"; \"C++\": of a program without Python, no reading found it");
    field("also", &Growth::also,
          "other parts of the same object that grow in the same rounds, and have some of the storages");
    field("place", &Growth::place,
          "where the frame stood that is the root of this path, at the last reading; null: another root");
    field("type", &Growth::type, "of the container that has them as entries, as \"list\"; null: it is none");
    field("steps", &Growth::steps, "in which it grew, to the last one; 0: it does not grow");
    field("unit", &Growth::unit,
          "what is counted in `steps`: \"step\", \"backward\" or, where neither fits, \"call\" of the place that "
          "made the storages");
    field("per_step_bytes", &Growth::per_step, "mean over these");
    field("by_calls", &Growth::by_calls, "`unit` is \"call\"");
    field("storages", &Growth::storages, "alive when the program makes its last storage");
    field("seen", &Growth::seen,
          "of them, those that a reading of the memory found there; the others were made at the same places");
    field("alone_bytes", &Growth::alone, "bytes freed if only this holder is cleared");
    field("sites", &Growth::sites, "where they were made, most bytes first");
    field("stored_by", &Growth::stored_by,
          "statements that may have put them there, found by their text in the user's files through which they were "
          "made: one is likely the one, of several nothing says which; empty: none was found");
    field("called_at", &Growth::called_at,
          "lines of the user's files that call the functions in which these statements stand: those that called them "
          "when a storage was made, else found by their text; if no line of both lists names what was made, lines "
          "that pass it to a call of which nothing has the result");
    field("used_at", &Growth::used_at,
          "statements of the same object that use its entries, found by their text: what they need is to stay, so "
          "`predicted_peak_bytes` is the least");
    field("example", &Growth::example, "the storage of it that was made last");
  }
};

/// nullopt if the finding is not about storages that outlive their step.
[[nodiscard]] std::optional<Growth> growth_of(const TraceData& data, const analyzer::Finding& finding);

}  // namespace dcmt::model

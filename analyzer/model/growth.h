// Findings about storages that outlive their step: memory that grows, or that a traceback keeps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/values.h"
#include "analyzer/rules/finding.h"

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

struct StoringStatement {
  std::string site, text;

  static constexpr std::string_view kShape = "storing_statement";
  static void describe(auto&& field) {
    field("site", &StoringStatement::site, "as \"train.py:11\"");
    field("text", &StoringStatement::text, "the line's code");
  }
};

struct Growth {
  std::string_view holder;
  std::optional<std::string_view> place, type;
  std::int64_t steps = 0, storages = 0, seen = 0;
  Bytes per_step, alone;
  std::string_view unit;
  bool by_calls = false;
  std::vector<GrowthSite> sites;
  std::vector<StoringStatement> stored_by, called_at;
  std::optional<StorageId> example;

  static constexpr std::string_view kShape = "growth";
  static void describe(auto&& field) {
    field("holder", &Growth::holder, "what holds the storages, as \"main: probe.seen\"");
    field("place", &Growth::place,
          "where the frame stood that is the root of this path, at the last reading; null: another root");
    field("type", &Growth::type, "of the container that has them as entries, as \"list\"; null: it is none");
    field("steps", &Growth::steps, "in which it grew, to the last one; 0: it does not grow");
    field("unit", &Growth::unit,
          "what is counted in `steps`: \"step\", \"backward\" or, where neither fits, \"call\" of the place that "
          "made the storages");
    field("per_step_bytes", &Growth::per_step, "mean over these");
    field("by_calls", &Growth::by_calls,
"`unit` is \"call\"");
    field("storages", &Growth::storages, "alive when the program makes its last storage");
    field("seen", &Growth::seen,
          "of them, those that a reading of the memory found there; the others were made at the same places");
    field("alone_bytes", &Growth::alone,
          "of them, what goes if it alone lets go; the rest is held by other findings, too, or by more");
    field("sites", &Growth::sites, "where they were made, most bytes first");
    field("stored_by", &Growth::stored_by,
          "statements that may have put them there, found by their text in the user's files through which they were "
          "made: one is likely the one, of several nothing says which; empty: none was found");
    field("called_at", &Growth::called_at,
          "lines of the user's files that call the functions in which these statements stand, found by their text");
    field("example", &Growth::example, "the storage of it that was made last");
  }
};

/// Growth of memory that is not torch's.
struct OutsideGrowth {
  std::string_view kind;
  std::optional<std::string_view> holder, place, type, file;
  std::int64_t steps = 0;
  Bytes per_step, before, after;
  std::optional<std::int64_t> arrays;

  static constexpr std::string_view kShape = "outside_growth";
  static void describe(auto&& field) {
    field("kind", &OutsideGrowth::kind,
          "\"numpy\" (arrays), else the name of a memory_class: \"malloc\", \"python\", \"shared tensors\", \"shared "
          "memory\", \"files\", \"other\"");
    field("holder", &OutsideGrowth::holder, "of arrays: what holds them, as \"main: rows\"");
    field("place", &OutsideGrowth::place, "where the frame stood that is the root of this path");
    field("type", &OutsideGrowth::type, "of the holder, as \"list\"; null: a variable");
    field("file", &OutsideGrowth::file, "of the largest mapping of this kind");
    field("steps", &OutsideGrowth::steps, "from the first reading of the classes to the last");
    field("per_step_bytes", &OutsideGrowth::per_step, "the median of the slopes between samples");
    field("before_bytes", &OutsideGrowth::before, "of the kind, without torch's, at the first reading");
    field("after_bytes", &OutsideGrowth::after, "the same at the last; of arrays, those that are held");
    field("arrays", &OutsideGrowth::arrays, "that are held");
  }
};

/// nullopt if the finding is not about such memory.
[[nodiscard]] std::optional<OutsideGrowth> outside_growth_of(const analyzer::Finding& finding);
/// nullopt if the finding is not about storages that outlive their step.
[[nodiscard]] std::optional<Growth> growth_of(const TraceData& data, const analyzer::Finding& finding);

}  // namespace dcmt::model

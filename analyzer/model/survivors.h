// Storages that outlive their step, with their places.
#pragma once

#include <vector>

#include "analyzer/model/range.h"
#include "analyzer/model/values.h"
#include "analyzer/storages/survivors.h"

namespace dcmt::model {

struct SurvivorSite {
  std::string site;
  Bytes bytes;
  std::int64_t storages = 0;
  std::optional<StorageId> largest_storage;

  static constexpr std::string_view kShape = "survivor_site";
  static void describe(auto&& field) {
    field("site", &SurvivorSite::site, "where they were born");
    field("bytes", &SurvivorSite::bytes, "");
    field("storages", &SurvivorSite::storages, "");
    field("largest_storage", &SurvivorSite::largest_storage, "");
  }
};

/// Storages that were made in a step and outlive it.
struct Survivors {
  std::int64_t step = 0;
  RunPoint end;
  std::int64_t storages = 0;
  Bytes bytes;
  std::optional<std::int64_t> storages_next;
  std::optional<Bytes> bytes_next;
  std::vector<SurvivorSite> sites;

  static constexpr std::string_view kShape = "survivors";
  static void describe(auto&& field) {
    field("step", &Survivors::step, "");
    field("end", &Survivors::end, "");
    field("storages", &Survivors::storages, "born in the step, with bytes at its end");
    field("bytes", &Survivors::bytes, "");
    field("storages_next", &Survivors::storages_next, "of them, at the end of the next step");
    field("bytes_next", &Survivors::bytes_next, "");
    field("sites", &Survivors::sites, "of those alive one step later");
  }
};

/// Storages of the last step but one that outlive the last step, too.
struct Outliving {
  Bytes bytes;
  std::int64_t storages = 0, born_in = 0, outlive = 0;  ///< the last two are numbers of steps
  std::string site;                                     ///< the site with the most bytes
};

[[nodiscard]] Range<Survivors> survivors_of(const TraceData& data, const std::vector<analyzer::StepSurvivors>& steps);
/// nullopt if there are none.
[[nodiscard]] std::optional<Outliving> outliving(const TraceData& data,
                                                 const std::vector<analyzer::StepSurvivors>& steps);

}  // namespace dcmt::model

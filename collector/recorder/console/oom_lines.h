// What is said on standard error at the moment of an out-of-memory error: ten lines at most.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/base/oom_figures.h"

namespace dcmt::recorder {

/// Blocks that were allocated at one place.
struct OomGroup {
  std::int64_t bytes = 0, blocks = 0;
  std::string site;
};

/// Released storages that one function still names.
struct OomHolder {
  std::int64_t bytes = 0, storages = 0;
  std::string function;                 ///< empty: no census named a holder
  std::vector<std::string> names;       ///< of one of the storages
  std::string place, assignment;        ///< of the first name; empty if not known
  bool kept_by_generated_code = false;  ///< a compiled wrapper's, not deleted before its return
};

struct OomFacts {
  std::int64_t number = 1;  ///< in its process, from 1
  std::string device, operator_name, site;
  OomFigures figures;
  std::optional<std::int64_t> total;  ///< of the device
  std::int64_t alive = 0;             ///< bytes of the blocks that the recorder knows
  std::vector<OomGroup> groups;       ///< most bytes first
  bool has_releases = false;          ///< some parameter was released in this run
  std::int64_t held = 0;              ///< bytes released and still held
  std::int64_t held_storages = 0;
  std::vector<OomHolder> holders;  ///< most bytes first
};

/// At most ten lines, each ended.
/// @param who  ", rank 0", or nothing  @param folder  of the run
[[nodiscard]] std::string oom_lines(const OomFacts& facts, const std::string& who, const std::string& folder);

}  // namespace dcmt::recorder

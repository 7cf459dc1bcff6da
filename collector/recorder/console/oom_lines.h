// The message on standard error after an out-of-memory error: at most ten lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/base/oom_figures.h"

namespace dcmt::recorder {

/// Blocks that were allocated at the same place.
struct OomGroup {
  std::int64_t bytes = 0, blocks = 0;
  std::string site;
  std::string holder = {};  ///< what holds most of it: "main (train.py:12): kept [list of 3]"; empty: not known
  std::int64_t held = 0;    ///< bytes of these
};

/// So many groups are shown.
inline constexpr std::size_t kMostGroups = 3;

/// Released storages that one function still refers to.
struct OomHolder {
  std::int64_t bytes = 0, storages = 0;
  std::string function;                 ///< empty: no census found a holder
  std::vector<std::string> names;       ///< for one of the storages
  std::string place, assignment;        ///< for the first name; empty if unknown
  bool kept_by_generated_code = false;  ///< a compiled wrapper's name, not deleted before its return
};

struct OomFacts {
  std::int64_t number = 1;  ///< in its process, from 1; 0: no request failed, the process was killed
  std::string device, operator_name, site;
  OomFigures figures;
  std::optional<std::int64_t> total;  ///< of the device
  std::int64_t alive = 0;             ///< bytes of the blocks that the recorder tracks
  std::vector<OomGroup> groups;       ///< most bytes first
  bool has_releases = false;          ///< a parameter was released in this run
  std::int64_t held = 0;              ///< bytes that were released and are still held
  std::int64_t held_storages = 0;
  std::vector<OomHolder> holders;  ///< most bytes first
};

/// At most ten lines, each with its line end.
/// @param who  ", rank 0", or nothing  @param folder  of the run
[[nodiscard]] std::string oom_lines(const OomFacts& facts, const std::string& who, const std::string& folder);

}  // namespace dcmt::recorder

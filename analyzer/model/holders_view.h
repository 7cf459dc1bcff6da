// Who holds storages, according to readings of the memory: of one storage, of a finding, or of a place in the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/model/values.h"
#include "trace/base/status.h"

namespace dcmt::model {

/// The time of a reading of the memory.
struct Reading {
  std::int64_t number = 0;
  TimeNs after_start;
  std::optional<std::int64_t> step;

  static constexpr std::string_view kShape = "reading";
  static void describe(auto&& field) {
    field("number", &Reading::number, "of the run, from 1");
    field("after_start_ns", &Reading::after_start, "when it began");
    field("step", &Reading::step, "in which it began; null: in none, or after the last one");
  }
};

/// A list, dictionary or other object whose entries hold storages.
struct HoldingContainer {
  std::string_view path, type;
  std::optional<std::string_view> place;
  std::int64_t storages = 0;
  Bytes bytes, alone;

  static constexpr std::string_view kShape = "holding_container";
  static void describe(auto&& field) {
    field("path", &HoldingContainer::path, "\"main: probe.seen\"");
    field("type", &HoldingContainer::type, "\"list\"");
    field("place", &HoldingContainer::place, "where the frame stood that is the root; null: another root");
    field("storages", &HoldingContainer::storages, "of those asked for, that its entries lead to");
    field("bytes", &HoldingContainer::bytes, "of these");
    field("alone_bytes", &HoldingContainer::alone, "of these, bytes freed if only this container is cleared");
  }
};

/// A path to storages, with the first and the last reading that found it.
struct HoldingPath {
  std::string path;
  std::optional<std::string_view> place;
  std::int64_t storages = 0;
  Bytes bytes;
  Reading found, still;
  bool confirmed = true;

  static constexpr std::string_view kShape = "holding_path";
  static void describe(auto&& field) {
    field("path", &HoldingPath::path, "of several storages with [*] in place of numbers");
    field("place", &HoldingPath::place, "where the frame stood that is the root; null: another root");
    field("storages", &HoldingPath::storages, "of those asked for, to which it leads");
    field("bytes", &HoldingPath::bytes, "of these");
    field("found", &HoldingPath::found, "the first reading that found it: there since then at the latest");
    field("still", &HoldingPath::still, "the last one that did");
    field("confirmed", &HoldingPath::confirmed,
          "each reference was found again in a second reading, and that there is no root in two");
  }
};

struct HoldersView {
  std::string path;
  std::int64_t rank = -1;
  std::string of;
  std::int64_t storages = 0, readings = 0, later = 0, not_found = 0;
  Bytes bytes, later_bytes, not_found_bytes;
  std::vector<HoldingContainer> containers;
  std::vector<HoldingPath> paths;

  static constexpr std::string_view kShape = "show holders";
  static void describe(auto&& field) {
    field("path", &HoldersView::path, "");
    field("rank", &HoldersView::rank, "");
    field("of", &HoldersView::of, "what was asked for: \"storage 417\", \"finding 1\", \"train.py:17\"");
    field("storages", &HoldersView::storages, "of a place: that a reading found, or that live to the end");
    field("bytes", &HoldersView::bytes, "of these, when they were made");
    field("readings", &HoldersView::readings, "of the memory, in the run");
    field("containers", &HoldersView::containers, "most bytes first");
    field("paths", &HoldersView::paths, "most bytes first");
    field("later", &HoldersView::later, "storages that were made after the last reading began");
    field("later_bytes", &HoldersView::later_bytes, "of these");
    field("not_found", &HoldersView::not_found, "older storages to which no reading found a path");
    field("not_found_bytes", &HoldersView::not_found_bytes, "of these");
  }
};

/// Asks for all storages that were alive at the last reading of the memory.
inline constexpr std::string_view kAllHolders = "all";

/// @param asked  a finding's number, a storage's id, a place as "train.py:17", or kAllHolders. A number that is both
/// means the finding; "finding:1" and "storage:1" are explicit.
/// kUsage if there is no such thing.
[[nodiscard]] Expected<HoldersView> holders_view(const std::string& path, const analyzer::Analysis& analysis,
                                                 const std::string& asked);

}  // namespace dcmt::model

// What forked children have of their parent's objects, and what they add to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// Children with one name, which do the same work.
struct ForkedChildren {
  std::string name;
  std::int64_t children = 0, most = 0;
  Bytes first, unshared, resident;

  static constexpr std::string_view kShape = "forked_children";
  static void describe(auto&& field) {
    field("name", &ForkedChildren::name, "of their main threads, as \"pt_data_worker\"");
    field("children", &ForkedChildren::children, "that were sampled");
    field("most", &ForkedChildren::most, "of them, those that lived when they shared least");
    field("first_bytes", &ForkedChildren::first, "that these did not share when each was sampled first");
    field("unshared_bytes", &ForkedChildren::unshared,
          "that these did not share, in sum: changed, and in no other process");
    field("resident_bytes", &ForkedChildren::resident, "of the largest of them then, shared memory included");
  }
};

/// In order of the bytes that they do not share, most first.
[[nodiscard]] std::vector<ForkedChildren> forked_children(const TraceData& data);

/// A collection of which each of some children has its own copy.
struct ForkedGrowth {
  std::string holder;
  std::optional<std::string> place;
  std::string type;
  std::optional<std::string> entry_type;
  bool inherited = false;
  std::int64_t entries = 0, entries_before = 0;
  Bytes each, bytes;
  ForkedChildren of;

  static constexpr std::string_view kShape = "forked_growth";
  static void describe(auto&& field) {
    field("holder", &ForkedGrowth::holder, "the collection, as \"main: data.rows\"");
    field("place", &ForkedGrowth::place, "where the frame stood that is the root of this path");
    field("type", &ForkedGrowth::type, "of the collection, as \"list\"");
    field("entry_type", &ForkedGrowth::entry_type, "of most entries, as \"str\"");
    field("inherited", &ForkedGrowth::inherited,
          "the parent has the same collection: its pages were copied; false: the children add to it");
    field("entries", &ForkedGrowth::entries, "in the child that was read, at the last reading");
    field("entries_before", &ForkedGrowth::entries_before, "the same at the first");
    field("bytes", &ForkedGrowth::bytes, "of the collection and what its entries refer to, as an estimate");
    field("each_bytes", &ForkedGrowth::each, "of them, on pages that no other process has");
    field("of", &ForkedGrowth::of, "the children");
  }
};

/// The collection that explains most of what children do not share; nullopt: none explains enough.
[[nodiscard]] std::optional<ForkedGrowth> forked_growth(const TraceData& data);

}  // namespace dcmt::analyzer

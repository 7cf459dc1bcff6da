// Collections of Python objects that grow: lists, dictionaries, sets, deques.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/source/stored_by.h"

namespace dcmt::analyzer {

/// Growth of the entries of a collection, or of several that are alike.
struct ObjectGrowth {
  std::string holder;
  std::optional<std::string> place;
  std::string type;
  std::optional<std::string> entry_type, parts;
  std::int64_t alike = 0, entries = 0, entries_before = 0;
  Bytes own, bytes, bytes_before;
  std::string_view unit;
  std::int64_t rounds = 0;
  double entries_per_round = 0;
  Bytes per_round;
  std::int64_t readings = 0;
  std::vector<StoringStatement> stored_by, called_at;

  static constexpr std::string_view kShape = "object_growth";
  static void describe(auto&& field) {
    field("holder", &ObjectGrowth::holder, "the collection, as \"main: records\"; several that are alike: \"[*]\"");
    field("place", &ObjectGrowth::place, "where the frame stood that is the root of this path, at the last reading");
    field("type", &ObjectGrowth::type, "of the collection, as \"list\"");
    field("entry_type", &ObjectGrowth::entry_type, "of most entries, as \"dict\"");
    field("parts", &ObjectGrowth::parts, "types of what the entries refer to, most bytes first: \"str, float\"");
    field("alike", &ObjectGrowth::alike, "number of collections with this path");
    field("entries", &ObjectGrowth::entries, "of all of them, at the last reading");
    field("entries_before", &ObjectGrowth::entries_before, "the same at the first");
    field("own_bytes", &ObjectGrowth::own, "of the collections alone, at the last reading");
    field("bytes", &ObjectGrowth::bytes, "with what the entries refer to, estimated from a sample of the entries");
    field("bytes_before", &ObjectGrowth::bytes_before, "the same at the first reading");
    field("unit", &ObjectGrowth::unit, "\"step\", or \"second\" for a program without steps");
    field("rounds", &ObjectGrowth::rounds, "steps or seconds between these readings");
    field("entries_per_round", &ObjectGrowth::entries_per_round, "mean over these");
    field("per_round_bytes", &ObjectGrowth::per_round, "mean over these");
    field("readings", &ObjectGrowth::readings, "of the memory that found the collection");
    field("stored_by", &ObjectGrowth::stored_by,
          "statements that may have added the entries, found by their text in the user's files");
    field("called_at", &ObjectGrowth::called_at,
          "lines of the user's files that call the functions in which these statements stand");
  }
};

/// A collection at one reading.
struct EntriesAt {
  double at = 0;  ///< time or work; any unit
  double entries = 0;
};

/// True if the collection has more entries after each part of the readings, up to the last one, and what was added in
/// each part stays. What is filled and stops, or is emptied again and again, does not grow.
/// @param readings  in the order of their time
[[nodiscard]] bool keeps_growing(std::span<const EntriesAt> readings);

/// True if `path` is what an entry of `holder` leads to: "main: users[*].log" and "main: users".
[[nodiscard]] bool is_below(std::string_view path, std::string_view holder);

}  // namespace dcmt::analyzer

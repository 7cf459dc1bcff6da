// Who took each reference to a storage, and who gave it back, as far as its counts were watched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/values.h"
#include "analyzer/releases/holders.h"

namespace dcmt::model {

/// Where a reference was taken or given back.
struct ReferencePlace {
  Actor by;
  std::optional<std::string> code;
  std::optional<std::string_view> function;
  std::vector<std::string_view> native;
  std::optional<std::string_view> return_of;

  analyzer::FrameText site;  ///< the frame of `by.site`; without a file if there is none

  static constexpr std::string_view kShape = "reference_place";
  static void describe(auto&& field) {
    field("by", &ReferencePlace::by, "of the first one");
    field("code", &ReferencePlace::code, "the line of `by.site`");
    field("function", &ReferencePlace::function, "of C++, that changed the count; null: the interpreter, or unknown");
    field("native", &ReferencePlace::native, "the functions of C++ up to the interpreter, innermost first");
    field("return_of", &ReferencePlace::return_of,
          "the Python function whose variables ended; `by` is its caller then");
  }
};

/// References that were taken at one place, and given back at one place.
struct ReferenceRow {
  std::int64_t count = 0;
  bool certain = false;
  std::optional<ReferencePlace> taken, given_back;
  RunPoint first, last;

  TimeNs after_start;  ///< of `first`

  static constexpr std::string_view kShape = "reference";
  static void describe(auto&& field) {
    field("count", &ReferenceRow::count, "of references alike");
    field("certain", &ReferenceRow::certain,
          "false: the likeliest pair, or the likeliest one of those that may be left");
    field("taken", &ReferenceRow::taken, "null: before the count was watched, or the change is missing");
    field("given_back", &ReferenceRow::given_back, "null: it is left");
    field("first", &ReferenceRow::first, "the first change of the row");
    field("last", &ReferenceRow::last, "the last change of the row");
  }
};

/// A reference count, as long as it was watched.
struct CountStory {
  analyzer::Subject subject = analyzer::Subject::kStorage;
  std::optional<TensorId> tensor;
  std::string_view how;
  RunPoint from;
  std::optional<RunPoint> to;
  std::int64_t first = 0, last = 0, changes = 0, missing = 0, missing_drops = 0;
  std::vector<ReferenceRow> left, at_exit, given_back;

  [[nodiscard]] bool complete() const { return missing == 0 && how == "watchpoint"; }

  static constexpr std::string_view kShape = "count_story";
  static void describe(auto&& field) {
    field("subject", &CountStory::subject, "\"storage\", \"tensor\", \"object\": whose count it is");
    field("tensor", &CountStory::tensor, "null for a storage's count");
    field("how", &CountStory::how,
          "\"watchpoint\", or \"operator\": it was read at the begin and the end of operators");
    field("from", &CountStory::from, "");
    field("to", &CountStory::to, "null: to the end of the trace");
    field("first", &CountStory::first, "the count at the begin");
    field("last", &CountStory::last, "the count at the end");
    field("changes", &CountStory::changes, "that were recorded");
    field("missing", &CountStory::missing, "changes that were not recorded, at least");
    field("missing_drops", &CountStory::missing_drops, "of the references in `left`, so many are not left");
    field("complete", &CountStory::complete, "each change was recorded");
    field("left", &CountStory::left, "references that were not given back");
    field("at_exit", &CountStory::at_exit, "references that were given back only as the interpreter ended");
    field("given_back", &CountStory::given_back, "");
  }
};

/// Of a storage; empty if it was not watched.
[[nodiscard]] std::vector<CountStory> reference_story(const TraceData& data, StorageId storage);

/// What was watched in a run.
struct WatchedStorages {
  std::int64_t storages = 0, changes = 0;
  StorageId storage;
  std::int64_t left = 0;

  static constexpr std::string_view kShape = "watched_storages";
  static void describe(auto&& field) {
    field("storages", &WatchedStorages::storages, "");
    field("changes", &WatchedStorages::changes, "of their counts, those of tensors and Python objects included");
    field("storage", &WatchedStorages::storage,
          "one of them: with most references left or to the exit, else the last one");
    field("left", &WatchedStorages::left, "references to this one that were left, or to the exit");
  }
};

/// nullopt: nothing was watched.
[[nodiscard]] std::optional<WatchedStorages> watched_storages(const TraceData& data);

}  // namespace dcmt::model

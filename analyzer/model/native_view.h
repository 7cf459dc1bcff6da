// What C and C++ allocate, by place, as `show native` prints it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/growth/native_places.h"
#include "analyzer/model/analysis.h"
#include "analyzer/model/values.h"

namespace dcmt::model {

/// A place that allocates.
struct NativeUse {
  analyzer::NativePlace place;
  analyzer::NativeEstimate live;
  Bytes highest, made;

  static constexpr std::string_view kShape = "native_use";
  static void describe(auto&& field) {
    field("place", &NativeUse::place, "");
    field("live", &NativeUse::live, "at the end");
    field("highest_bytes", &NativeUse::highest, "the most that a reading found alive, an estimate");
    field("made_bytes", &NativeUse::made, "allocated in all, an estimate");
  }
};

struct NativeView {
  std::string path;
  std::int64_t rank = -1;
  std::optional<Bytes> interval;
  std::int64_t missed = 0;
  analyzer::NativeEstimate live;
  std::vector<NativeUse> places;

  static constexpr std::string_view kShape = "show native";
  static void describe(auto&& field) {
    field("path", &NativeView::path, "");
    field("rank", &NativeView::rank, "");
    field("interval_bytes", &NativeView::interval,
          "mean bytes between two samples, at the end; null: nothing was sampled (run --native)");
    field("missed", &NativeView::missed, "sampled allocations that could not be followed to their end");
    field("live", &NativeView::live, "at the end, of all places");
    field("places", &NativeView::places, "most bytes at the end first; those that had 64 KiB at least");
  }
};

[[nodiscard]] NativeView native_view(const std::string& path, const analyzer::Analysis& analysis);

}  // namespace dcmt::model

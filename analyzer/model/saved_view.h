// What autograd nodes had saved for backward, according to readings of the memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/model/values.h"
#include "analyzer/storages/module_groups.h"
#include "trace/base/status.h"

namespace dcmt::model {

struct SavedField {
  std::string node, field;
  std::vector<std::string> holders;
  std::int64_t storages = 0;
  Bytes bytes, elsewhere;

  static constexpr std::string_view kShape = "saved_field";
  static void describe(auto&& field) {
    field("node", &SavedField::node, "the class of the autograd nodes, \"AddmmBackward0\"");
    field("field", &SavedField::field, "\"mat1\"; \"saved_tensors\" of a custom function");
    field("storages", &SavedField::storages, "that such a field holds");
    field("bytes", &SavedField::bytes, "of these");
    field("elsewhere_bytes", &SavedField::elsewhere, "of these, also found where no graph is: they stay without it");
    field("holders", &SavedField::holders, "what holds the graphs, numbers as [*]: \"main: losses[*]\"");
  }
};

struct SavedView {
  std::string path;
  std::int64_t rank = -1;
  Sequence at_seq;
  std::int64_t storages = 0, readings = 0;
  Bytes bytes;
  std::vector<SavedField> fields;
  std::vector<analyzer::ModuleGroup> by_module;

  static constexpr std::string_view kShape = "show saved";
  static void describe(auto&& field) {
    field("path", &SavedView::path, "");
    field("rank", &SavedView::rank, "");
    field("at_seq", &SavedView::at_seq, "the storages that were alive right after this event");
    field("storages", &SavedView::storages, "of them, those that a reading of the memory found saved for backward");
    field("bytes", &SavedView::bytes, "of these, each once");
    field("readings", &SavedView::readings, "of the memory, in the run");
    field("fields", &SavedView::fields, "most bytes first; a storage can be in several");
    field("by_module", &SavedView::by_module, "the blocks of these storages, each once");
  }
};

/// Covers what was alive on all devices at the point that `at` names (analyzer::find_point). kUsage if there is no such
/// point.
[[nodiscard]] Expected<SavedView> saved_view(const std::string& path, const analyzer::Analysis& analysis,
                                             const std::string& at);

}  // namespace dcmt::model

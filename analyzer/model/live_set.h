// What is alive at one point in time, in groups and block by block.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/model/range.h"
#include "analyzer/model/values.h"
#include "analyzer/storages/groups.h"
#include "analyzer/storages/module_groups.h"

namespace dcmt::model {

struct LiveBlock {
  BlockId block;
  Bytes bytes;
  std::optional<StorageId> storage;
  bool gathered = false;
  std::optional<std::string_view> owner;
  RunPoint born;
  Actor by;

  static constexpr std::string_view kShape = "live_block";
  static void describe(auto&& field) {
    field("block", &LiveBlock::block, "");
    field("bytes", &LiveBlock::bytes, "");
    field("storage", &LiveBlock::storage, "");
    field("gathered", &LiveBlock::gathered, "a gather or wait gave its storage");
    field("owner", &LiveBlock::owner, "who keeps it, where that is known and no tensor: \"cuBLAS workspace\"");
    field("born", &LiveBlock::born, "");
    field("by", &LiveBlock::by, "");
  }
};

/// Groups, most bytes first.
struct Groups {
  std::vector<analyzer::Group> groups;

  /// The sum of all groups from index `from` on.
  [[nodiscard]] Bytes bytes_from(std::size_t from) const;
};

/// The blocks of a device that are alive right after the event at `at`.
class LiveSet {
 public:
  LiveSet() = default;
  /// With nullptr for data, the set is empty.
  LiveSet(const TraceData* data, const analyzer::PhaseIndex* phases, StringId device, Sequence at);

  [[nodiscard]] Bytes bytes() const;
  [[nodiscard]] Range<LiveBlock> blocks() const;
  [[nodiscard]] Groups by(analyzer::GroupBy by) const;

  /// The bytes by category: the largest categories, each at least a hundredth. Empty if no reading of the memory
  /// found what anything is for.
  [[nodiscard]] std::vector<analyzer::Group> composition() const;

  [[nodiscard]] std::vector<analyzer::Group> by_site() const { return by(analyzer::GroupBy::kSite).groups; }
  [[nodiscard]] std::vector<analyzer::Group> by_operator() const { return by(analyzer::GroupBy::kOperator).groups; }
  [[nodiscard]] std::vector<analyzer::Group> by_phase() const { return by(analyzer::GroupBy::kPhase).groups; }
  [[nodiscard]] std::vector<analyzer::Group> by_kind() const { return by(analyzer::GroupBy::kKind).groups; }
  [[nodiscard]] std::vector<analyzer::Group> by_owner() const { return by(analyzer::GroupBy::kOwner).groups; }
  [[nodiscard]] std::vector<analyzer::Group> by_origin() const { return by(analyzer::GroupBy::kOrigin).groups; }
  [[nodiscard]] std::vector<analyzer::Group> by_holder() const { return by(analyzer::GroupBy::kHolder).groups; }
  [[nodiscard]] std::vector<analyzer::Group> by_category() const { return by(analyzer::GroupBy::kCategory).groups; }
  [[nodiscard]] std::vector<analyzer::ModuleGroup> by_module() const;
  static void describe_groups(auto&& field, std::string_view meaning) {
    field("by_site", &LiveSet::by_site, meaning);
    field("by_operator", &LiveSet::by_operator, "");
    field("by_phase", &LiveSet::by_phase, "");
    field("by_kind", &LiveSet::by_kind, "");
    field("by_owner", &LiveSet::by_owner, "");
    field("by_origin", &LiveSet::by_origin, "");
    field("by_holder", &LiveSet::by_holder, "");
    field("by_category", &LiveSet::by_category, "");
    field("by_module", &LiveSet::by_module, "");
  }

 private:
  const TraceData* data_ = nullptr;
  const analyzer::PhaseIndex* phases_ = nullptr;
  StringId device_;
  Sequence at_;
};

}  // namespace dcmt::model

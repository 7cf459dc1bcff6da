// The facts about a block that every format has: where it was allocated, in which step and phase, and who holds it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analyzer/load/trace_data.h"
#include "analyzer/storages/holder_names.h"
#include "analyzer/time/timeline.h"

namespace dcmt::convert {

/// Belongs to one TraceData, which must outlive this object.
class BlockFacts {
 public:
  explicit BlockFacts(const analyzer::TraceData& data);

  /// The step of its birth.
  [[nodiscard]] std::optional<std::int64_t> step(const analyzer::Block& block) const;
  [[nodiscard]] std::string_view phase(const analyzer::Block& block) const;
  [[nodiscard]] std::string_view operator_name(const analyzer::Block& block) const;
  [[nodiscard]] std::string site(const analyzer::Block& block) const;
  /// "main: losses", as a scan of the memory or a census found it; empty: unknown.
  [[nodiscard]] std::string holder(const analyzer::Block& block) const;

  [[nodiscard]] const std::vector<analyzer::Step>& steps() const { return steps_; }

 private:
  const analyzer::TraceData& data_;
  std::vector<analyzer::Step> steps_;
  analyzer::PhaseIndex phases_;
  analyzer::HolderNames holders_;
  bool read_;  ///< true if some scan read holders
};

}  // namespace dcmt::convert

// Until when a program itself has a use for what something keeps longer: what would be alive without that.
#pragma once

#include <map>
#include <optional>

#include "analyzer/rules/outliving.h"

namespace dcmt::analyzer {

/// Mostly until the end of the round in which it was made. Longer where a reading after that round still found a holder
/// besides what keeps it: `v = loss(…)`, the model of a `fit` of several steps. Such a holder has it until the next
/// value of its kind has been made. Where only some rounds make any and no reading says more, it is taken to be so,
/// too.
class OwnUse {
 public:
  OwnUse(const TraceData& data, const Rounds& rounds, const std::map<StackId, OutlivingSite>& sites);

  /// nullopt: to the end of the run.
  [[nodiscard]] std::optional<Sequence> until(const Living& living) const;

 private:
  struct Uses;
  void add(const Uses& uses);

  const Rounds& rounds_;
  std::map<StorageId, std::optional<Sequence>> until_;  ///< of those that it has longer than for their round
};

}  // namespace dcmt::analyzer

// Until when a program itself has a use for what something keeps longer: what would be alive without that.
#pragma once

#include <map>
#include <optional>

#include "analyzer/rules/not_kept.h"
#include "analyzer/rules/outliving.h"

namespace dcmt::analyzer {

/// Mostly until the end of the round in which it was made. Longer where a reading after that round still found a holder
/// besides what keeps it. A variable has its value, `v = loss(…)`, until the next one has been made. An object that a
/// variable leads to, as the model of a `fit` of several steps, has it until the next ones begin to be made. Where only
/// some rounds make any and no reading says more, the latter is assumed.
class OwnUse {
 public:
  OwnUse(const TraceData& data, const Rounds& rounds, const std::map<StackId, OutlivingSite>& sites);

  /// nullopt: to the end of the run.
  [[nodiscard]] std::optional<Sequence> until(const Living& living) const;

 private:
  struct Uses;
  void add(const Uses& uses);
  [[nodiscard]] Sequence begin_of(const Storage& storage) const;

  const TraceData& data_;
  const Rounds& rounds_;
  const NotKept not_kept_;
  std::map<StorageId, std::optional<Sequence>> until_;  ///< of those that it has longer than for their round
};

}  // namespace dcmt::analyzer

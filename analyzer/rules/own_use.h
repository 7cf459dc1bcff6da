// Until when the program itself needs a storage that something keeps longer: what would be alive without the keeper.
#pragma once

#include <map>
#include <optional>

#include "analyzer/rules/not_kept.h"
#include "analyzer/rules/growing_sites.h"

namespace dcmt::analyzer {

/// In general, until the end of the round that made the storage. Longer if a reading after that round found another
/// holder besides the keeper. The value of a variable, `v = loss(…)`, is needed until the next value has been made. An
/// object that a variable leads to, such as the model of a `fit` of several steps, is needed until the next ones begin
/// to be made. The latter is also assumed if only some rounds make such storages and no reading says more.
class OwnUse {
 public:
  OwnUse(const TraceData& data, const std::map<StackId, OutlivingSite>& sites);

  /// nullopt: to the end of the run.
  [[nodiscard]] std::optional<Sequence> until(const Living& living) const;

 private:
  struct Uses;
  void add(const Uses& uses);
  [[nodiscard]] Sequence begin_of(const Storage& storage) const;

  const TraceData& data_;
  const NotKept not_kept_;
  std::map<StorageId, std::optional<Sequence>> until_;  ///< storages that are needed beyond their round
};

}  // namespace dcmt::analyzer

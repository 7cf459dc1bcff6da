// Until when the program itself needs a storage that something keeps longer: what would be alive without the keeper.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "analyzer/growth/growing_sites.h"
#include "analyzer/growth/growth.h"
#include "analyzer/growth/next_values.h"
#include "analyzer/growth/not_kept.h"
#include "analyzer/growth/statement_use.h"
#include "analyzer/growth/use_by_readings.h"
#include "analyzer/growth/usual_holders.h"
#include "analyzer/source/stored_by.h"

namespace dcmt::analyzer {

/// The first of these that applies says until when a storage is needed:
///
/// 1. The program's statements, or a holder besides the keeper that a reading found after the storage's round: until
///    the later of the two.
/// 2. The value of a variable, `v = loss(…)`: until its next value has been made. An object that a variable leads to,
///    such as the model of a `fit` of several steps: until the next ones begin to be made. So, too, if only some rounds
///    make such storages and no reading says more.
/// 3. Else until the end of the round that made it, or sooner: when similar storages ended that nothing keeps; when the
///    program had dropped what it drops before it makes the next one, if it deletes the variable or if the storage's
///    first tensor has ended, so that only a view keeps it.
class OwnUse {
 public:
  OwnUse(const TraceData& data, const Holding& holding, const GrowingSites& growing);

  /// nullopt: to the end of the run.
  [[nodiscard]] std::optional<Sequence> until(const Living& living) const;
  /// True if nothing but its round says it.
  [[nodiscard]] bool is_by_round(const Living& living) const;
  /// By place: the value, made at another place, that the first of its replaced storages has replaced.
  [[nodiscard]] const std::map<StackId, GrowingStorage>& first_replaced() const { return first_replaced_; }
  /// When these statements of the user's files had run, ascending. Empty: not known of all of them.
  [[nodiscard]] std::vector<Sequence> runs_of(const std::vector<StoringStatement>& statements);
  [[nodiscard]] const StatementUse& statements() const { return statements_; }
  /// True if a reading found something else than the keeper that had the storage.
  [[nodiscard]] bool is_seen(StorageId storage) const { return by_readings_.until(storage).has_value(); }

 private:
  struct Uses;
  /// Returns the variables that have the place's storages one after the other.
  std::set<std::string_view> add_by_statement(StackId stack, const OutlivingSite& site);
  void add_turns(const GrowingSites& growing);
  /// @param variable  that has them; empty: none is known
  void add(const Uses& uses, std::string_view variable = {});
  void add_next_values(const OutlivingSite& site);
  [[nodiscard]] std::optional<Sequence> until_end_of_round(const Living& living) const;

  const TraceData& data_;
  const NotKept not_kept_;
  const StatementUse statements_;
  NextValues next_values_;
  UseByReadings by_readings_;
  std::map<StorageId, Sequence> by_statement_;  ///< of storages whose statement says it
  std::map<StackId, GrowingStorage> first_replaced_;
  std::map<StorageId, std::optional<Sequence>> until_;  ///< storages that are needed beyond their round
  /// When the program had dropped what it had beside a storage, of what it drops before it makes another one that it
  /// keeps. Zero: there was nothing.
  struct Dropped {
    Sequence before_next;          ///< of its place
    Sequence before_next_of_kind;  ///< of its place and position in the round
  };
  std::map<StorageId, Dropped> dropped_;
  std::map<StorageId, Sequence> next_ones_;  ///< when the statement that made a variable's value ran again
  std::set<StorageId> own_values_;           ///< a reading after the round found that the variable still had it
  std::set<StackId> deletes_;                ///< places whose storages a deleted variable has
};

}  // namespace dcmt::analyzer

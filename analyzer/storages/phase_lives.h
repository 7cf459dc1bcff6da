// The purpose of storages that no reading of the memory found, derived from the phases in which they begin and end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/storages/sample.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

/// Storages that are made and dropped within one phase.
inline constexpr std::string_view kTemporary = "temporary";
/// Storages that each step drops and replaces by others: an input or a result in a variable, or an input that waits.
inline constexpr std::string_view kReplaced = "replaced each step";

/// True if a reading found it, made in a forward, in variables or containers while a backward ran. These may be those
/// of the backward's own code, as of a compiled graph's: they have what was saved, which the graph has dropped.
[[nodiscard]] bool was_met_in_backward(const TraceData& data, const PhaseIndex& phases, const Held& held);

/// A reading needs some milliseconds; it misses storages with shorter lives. If all storages of one place and size have
/// the same kind of life in several steps, that determines their purpose. Else, the storages that a place makes as the
/// first, the second, ... of their step are compared: batches may differ in size, and one line in a loop makes several
/// storages.
class PhaseLives {
 public:
  /// Uses a sample of all storages; the order within a step only if the sample contains all. The trace must live on.
  explicit PhaseLives(const TraceData& data);

  /// The purpose of a storage without similar ones that a reading found:
  /// - kTemporary;
  /// - "saved for backward": made before a backward and ended in it. The program's loop runs no code there, so the
  ///   graph dropped it;
  /// - "gradient": made by a backward and dropped by the next step, with the size of a parameter, and no more per step
  ///   than there are parameters of that size;
  /// - kReplaced: ended in the next step, outside of its backward, after that step had made as many at the same place;
  ///   or each step drops one for another (replaced_one_by_one).
  /// nullopt if lives differ, or if fewer than three have ended; a temporary that has ended needs no others: a
  /// compiler's benchmark makes one buffer.
  [[nodiscard]] std::optional<std::string_view> category_of(const Storage& storage) const;

 private:
  struct Ends {
    std::int64_t all = 0, temporary = 0, in_backward = 0, to_next_step = 0, replaced = 0;
    std::int64_t later = 0;   ///< ended in a later step, outside of a backward, or after the last step
    bool one_by_one = false;  ///< see replaced_one_by_one(); only by place and size
    std::int64_t read = 0;    ///< those whose purpose readings found: not was_met_in_backward()
    Bytes size = {};          ///< of the first of them
    bool sizes_differ = false;
    void add(const Ends& one, Bytes of);
  };
  /// The index of a storage among those that its place makes in the step. nullopt outside of steps, and for steps with
  /// sums only.
  using Turn = std::optional<std::int64_t>;
  [[nodiscard]] Turn turn_of(const Storage& storage, const Step* step) const;
  void add(const Storage& storage, Turn turn, const Ends& ends);
  /// The kind of life of an ended storage that was made in the step `first`. A storage that lived on after the last
  /// step does not count: no next step replaced it.
  [[nodiscard]] Ends life_of(const TraceData& data, const Storage& storage, const Step* first, Turn turn) const;
  /// True if the next step had made a storage of the same turn before this storage ended.
  [[nodiscard]] bool has_successor(const Storage& storage, Turn turn, const Step& next) const;
  /// The purpose from counted lives, if there are enough and no reading found one of these storages. `own_counts`:
  /// the storage itself has ended and is among them, which is enough for a temporary.
  [[nodiscard]] static std::optional<std::string_view> category_of(const Ends& ends, bool own_counts);
  /// True if the storages of one place and size, or of one turn, are gradients. In both cases, the place makes no more
  /// of this size for the next step than there are parameters. By turn, there is never more than one.
  [[nodiscard]] bool are_gradients(const Ends& ends, const Storage& storage) const;
  void find_one_by_one(const std::vector<const Storage*>& all);
  /// The purpose by the lives of others of its place.
  [[nodiscard]] std::optional<std::string_view> category_of_others(const Storage& storage) const;
  /// True if it lives beyond the phase that made it.
  [[nodiscard]] bool outlives_its_phase(const Storage& storage) const;

  PhaseIndex phases_;
  ByPlaceAndSize<Ends> by_size_;
  std::map<std::pair<StackId, std::int64_t>, Ends> by_turn_;
  std::unordered_map<StackId, std::vector<Sequence>> begun_;  ///< by place: the begins of its storages, in order
  std::vector<Step> steps_;
  std::map<Bytes, std::int64_t> parameters_;  ///< by size: the number of storages that readings found to be parameters
};

}  // namespace dcmt::analyzer

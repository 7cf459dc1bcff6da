// What storages are for that no reading of the memory has met: by the phases in which they begin and end.
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

/// What is made and dropped within one phase.
inline constexpr std::string_view kTemporary = "temporary";
/// What each step drops where others replace it: an input or a result that a variable has, and an input that waits for
/// its turn.
inline constexpr std::string_view kReplaced = "replaced each step";

/// A reading takes some milliseconds, and what lives for less is in none. Where all storages of one place and size have
/// the same kind of life, in several steps, that says what they are for; else where all that are made at a place as the
/// first, the second, ... of their step have: batches may differ in size, and one line in a loop makes several.
class PhaseLives {
 public:
  /// By a sample of all storages; by their turns in a step only where the sample has all. The trace is not needed
  /// afterwards.
  explicit PhaseLives(const TraceData& data);

  /// Of a storage that is not like others that a reading has met: kTemporary; or "saved for backward" of what is made
  /// before a backward and ends in it: no code of the program's loop runs there, so the graph dropped it; or "gradient"
  /// of what a backward makes and the next step drops, if it has the size of a parameter and each step makes no more of
  /// them than there are parameters of that size; or kReplaced of what ends in the next step, outside of its backward,
  /// once that has made as many at its place, or where each step drops one for another (replaced_one_by_one). Nothing
  /// where lives differ, or fewer than three have ended.
  [[nodiscard]] std::optional<std::string_view> category_of(const Storage& storage) const;

 private:
  struct Ends {
    std::int64_t all = 0, temporary = 0, in_backward = 0, to_next_step = 0, replaced = 0;
    std::int64_t later = 0;   ///< ended in a later step, outside of a backward, or after the last one
    bool one_by_one = false;  ///< see replaced_one_by_one(); of one place and size
    std::int64_t read = 0;    ///< readings say what they are for
    Bytes size = {};          ///< of the first of them
    bool sizes_differ = false;
    void add(const Ends& one, Bytes of);
  };
  /// As which of its step a storage is made at its place; nothing outside of steps, and where only sums of one are
  /// kept.
  using Turn = std::optional<std::int64_t>;
  [[nodiscard]] Turn turn_of(const Storage& storage, const Step* step) const;
  void add(const Storage& storage, Turn turn, const Ends& ends);
  /// Of which kind the life of a storage that has ended was, which was made in the step `first`. Of one that lived on
  /// after the last step, nothing is counted: no next one replaced it.
  [[nodiscard]] Ends life_of(const TraceData& data, const PhaseIndex& phases, const Storage& storage, const Step* first,
                             Turn turn) const;
  /// Whether the next step had made one of the same turn when the storage ended.
  [[nodiscard]] bool has_successor(const Storage& storage, Turn turn, const Step& next) const;
  /// Of those whose lives are counted, if they are enough and no reading has met one of them.
  [[nodiscard]] static std::optional<std::string_view> category_of(const Ends& ends);
  /// Whether those of one place and size, or of one turn, are. Either way the place makes no more of this size for the
  /// next step than there are parameters: of one turn alone there never are more.
  [[nodiscard]] bool are_gradients(const Ends& ends, const Storage& storage) const;
  void find_one_by_one(const std::vector<const Storage*>& all);

  ByPlaceAndSize<Ends> by_size_;
  std::map<std::pair<StackId, std::int64_t>, Ends> by_turn_;
  std::unordered_map<StackId, std::vector<Sequence>> begun_;  ///< when the storages of each place began, in order
  std::vector<Step> steps_;
  std::map<Bytes, std::int64_t> parameters_;  ///< how many storages of each size readings found to be some
};

}  // namespace dcmt::analyzer

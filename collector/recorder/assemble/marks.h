// Marks: those of the user, and the cycles of parameters: gather, wait, persist, release, read.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "collector/recorder/assemble/lifetimes.h"
#include "collector/recorder/assemble/phases.h"
#include "collector/recorder/decode/dictionary.h"
#include "collector/recorder/keep/journal.h"
#include "collector/recorder/keep/key_sums.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class Marks {
 public:
  Marks(Journal& journal, Dictionary& dictionary, Lifetimes& lifetimes, Phases& phases)
      : journal_(journal), dictionary_(dictionary), lifetimes_(lifetimes), phases_(phases) {}

  Status resume();

  Status begin(const wire::MarkRecord& record);
  Status end(const wire::MarkRecord& record);
  Status point(const wire::MarkRecord& record);

  Status parameter(const wire::ParameterRecord& record);
  Status operator_alias(const wire::OperatorAliasRecord& record);
  Status gather(const wire::KeyRecord& record);
  Status wait(const wire::KeyRecord& record);
  Status persist(const wire::KeyRecord& record);
  Status release_begin(const wire::KeyRecord& record);
  Status release(const wire::KeyRecord& record);
  Status release_settled(const wire::KeyRecord& record);
  Status read(const wire::ReadRecord& record);
  Status fence(const wire::FenceRecord& record);
  Status launches(const wire::LaunchesRecord& record);
  /// @param ns  time of the touch
  Status last_touch(const wire::LastTouchRecord& record, std::int64_t ns);

  /// A tensor has left this storage. If a release of the storage runs on this thread, the release did that.
  void repointed(RowId old_storage);

  /// The bytes of a storage go. A release that left them for another thread that has let go by now, and takes no part
  /// in the training, was late: it left nothing (analyzer/releases/late.h).
  void bytes_go(RowId storage);
  /// True if bytes_go() is of interest.
  [[nodiscard]] bool has_left_bytes() const { return !left_.empty(); }

  /// The latest release of a key, 0 if there was none.
  [[nodiscard]] RowId latest_release(std::int64_t graph, std::int64_t key) const;

  /// Storages whose final release left bytes, and which were not read or gathered again since.
  [[nodiscard]] std::set<RowId> residual_storages() const;
  [[nodiscard]] bool has_releases() const { return !latest_.empty(); }

  Status commit();

 private:
  struct Open {
    MarkRow row;
    bool repointed = false;
    bool stored = false;
  };
  /// A release that left bytes.
  struct Left {
    std::int64_t graph = 0, key = 0, bytes = 0;
    Point settled;
  };
  using ReleaseKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  ///< thread, graph, key
  using Releases = std::map<ReleaseKey, Open>;

  /// A row for the current time, thread and operator. `name` and `stack` are wire ids.
  Expected<MarkRow> row_here(std::string_view kind, std::uint64_t name, std::uint64_t stack);
  Expected<MarkRow> mark_row(const wire::MarkRecord& record);
  Expected<MarkRow> key_row(std::string_view kind, const wire::KeyRecord& record);
  Status key_point(std::string_view kind, const wire::KeyRecord& record);
  ReleaseKey release_key(const wire::KeyRecord& record) const { return {journal_.thread, record.graph, record.key}; }
  static ReleaseKey release_key(const MarkRow& row) {
    return {row.thread.value_or(0), row.graph.value_or(0), row.key.value_or(0)};
  }
  /// Writes a release that gets no more data, and forgets it.
  Status drop(Releases& releases, Releases::iterator release);
  Status commit_open(Open& open);

  Journal& journal_;
  Dictionary& dictionary_;
  Lifetimes& lifetimes_;
  Phases& phases_;
  std::unordered_map<std::uint64_t, Open> marks_;  ///< open spans by wire id
  Releases running_;
  Releases unsettled_;  ///< ended, and their thread has not begun its next operator
  std::map<std::pair<std::int64_t, std::int64_t>, RowId> latest_;
  std::map<std::pair<std::int64_t, std::int64_t>, RowId> residual_;  ///< storages of keys whose release left bytes
  std::unordered_map<RowId, Left> left_;                             ///< by storage
  std::unordered_map<RowId, RowId> fenced_;                          ///< releases by their fenced storages
  std::set<std::uint32_t> training_threads_;                         ///< threads that gather or release
  KeySums key_sums_;
};

}  // namespace dcmt::recorder

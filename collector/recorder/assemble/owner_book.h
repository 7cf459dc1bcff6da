// Owners of storages: joins what the recorder read in the process's memory to the rows of the storages.
//
// An address is not an identity. A storage from a reading belongs to a row only if the row was alive at this address
// from before the reading began until after it ended.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/recorder/assemble/module_book.h"
#include "collector/recorder/keep/journal.h"
#include "collector/scan/census.h"
#include "trace/base/status.h"
#include "trace/tables/holders.h"

namespace dcmt::recorder {

/// One reading of the process's memory.
struct MemoryReading {
  scan::Scope scope = scan::Scope::kAll;
  std::int64_t from_ns = 0, to_ns = 0;  ///< monotonic clock
  std::int64_t counted_ns = 0;          ///< begin of its second part, in which collections were counted
  double cpu_seconds = 0;               ///< CPU time of the reading
  bool waited = false;                  ///< Python's thread waited throughout: no Python object has changed
  bool ended = false;                   ///< the program had ended when it began
  scan::Census found;
};

/// Thread-safety: none.
class OwnerBook {
 public:
  OwnerBook(Journal& journal, ModuleBook& modules) : journal_(journal), modules_(modules) {}

  /// A reading begins after this record; `alive` has the live storages by address. One reading of each scope can be
  /// running.
  void begin(scan::Scope scope, std::unordered_map<std::uint64_t, RowId> alive);
  void storage_ended(RowId storage);
  /// The record after which the running reading began.
  [[nodiscard]] std::int64_t began(scan::Scope scope) const {
    return pending_[static_cast<std::size_t>(scope)].from_seq;
  }
  /// A storage of the running reading lived when it began, though that was not known then.
  void lived(scan::Scope scope, std::uint64_t address, RowId storage) { pending(scope).alive[address] = storage; }
  /// The reading is over, and the records up to its end are applied.
  Status end(const MemoryReading& reading);
  /// The record at which the latest complete reading of everything began.
  [[nodiscard]] std::int64_t read_until() const { return read_until_; }
  /// True if the latest reading of everything found, for the first time, no holder for a storage that began after the
  /// record `from`, and not after `to`.
  [[nodiscard]] bool is_unsure_of(std::int64_t from, std::int64_t to) const;
  /// What holds a live storage, by the latest readings: the path that reads best, or the container on that path. Zeros:
  /// nothing was found.
  struct Named {
    RowId path = 0, place = 0;  ///< strings, as in OwnerRow
    RowId type = 0;             ///< string; of a container
    std::int64_t entries = 0;   ///< likewise
    auto operator<=>(const Named&) const = default;
  };
  [[nodiscard]] Expected<Named> holder_of(RowId storage) const;
  /// True if the latest readings have proved a holder of this live storage.
  [[nodiscard]] bool has_holder(RowId storage) const;
  /// What this live storage is, by the latest readings.
  [[nodiscard]] scan::Role role_of(RowId storage) const {
    const auto result = results_.find(storage);
    return result == results_.end() ? scan::Role::kNone : result->second.role;
  }
  /// The reading failed.
  void cancel(scan::Scope scope) { pending(scope) = {}; }

 private:
  struct PendingScan {
    bool reads = false;
    std::int64_t from_seq = 0;
    std::unordered_map<std::uint64_t, RowId> alive;
    std::unordered_map<RowId, std::int64_t> ended;  ///< ns, of storages that ended since the reading began
    std::set<RowId> seen_since;  ///< storages that were found by a reading that began later and is over already

    [[nodiscard]] RowId row_of(std::uint64_t address, std::int64_t until_ns) const;
  };
  /// The result of a reading for a storage's holders.
  struct HoldingResult {
    std::set<RowId> containers;
    bool otherwise = true;
    bool is_unexplained = false;
    scan::Role role = scan::Role::kNone;
  };
  [[nodiscard]] PendingScan& pending(scan::Scope scope) { return pending_[static_cast<std::size_t>(scope)]; }
  Status write_owner(RowId storage, std::int64_t position, const scan::Holder& holder, bool waited);
  /// By container: bytes of storages that only its entries lead to. They were too small to get rows when they were
  /// made, also if storages of their size are tracked by now.
  std::vector<std::int64_t> bytes_without_rows(const MemoryReading& reading);
  /// Returns the row of each container of a reading.
  Expected<std::vector<RowId>> write_containers(const MemoryReading& reading);
  /// A longer reading that began before `begun` is older although it ends later: it does not change this storage.
  void note_newer(const PendingScan& begun, RowId storage);
  Status write_held(RowId storage, const scan::HeldStorage& held, HoldingResult result);
  Status write_owners(RowId storage, const scan::HeldStorage& held, bool waited);
  Status write_arrays(const std::vector<scan::HeldArrays>& arrays);
  Status write_collections(const std::vector<scan::Collection>& collections);
  /// A reading of variables may miss holders; those are then references that it cannot explain.
  [[nodiscard]] static bool is_weaker(const HoldingResult& result, const HoldingResult& than);

  Journal& journal_;
  ModuleBook& modules_;
  std::array<PendingScan, 2> pending_;  ///< by scope
  std::int64_t read_until_ = 0;
  RowId scan_ = 0;  ///< row of the latest reading
  RowId next_owner_ = 1;
  std::map<std::pair<RowId, RowId>, OwnerRow>
      current_;  ///< by storage and path; the latest reading of everything still had them
  std::set<std::pair<RowId, RowId>> found_unrooted_;  ///< by the reading that is being written
  std::set<std::pair<RowId, RowId>> unrooted_;        ///< holders without a root, by the latest readings
  std::map<RowId, ContainerRow> containers_;          ///< by path
  std::unordered_map<RowId, HoldingResult> results_;  ///< as in the row of each storage
};

}  // namespace dcmt::recorder

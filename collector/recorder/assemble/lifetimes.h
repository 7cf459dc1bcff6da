// Storages, tensors and blocks from their births to their deaths. Identity is (address, birth): a birth at a live
// address means that a death was lost.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/recorder/assemble/census_book.h"
#include "collector/recorder/assemble/cpu_bytes.h"
#include "collector/recorder/assemble/growth_watch.h"
#include "collector/recorder/assemble/live_table.h"
#include "collector/recorder/assemble/operators.h"
#include "collector/recorder/assemble/owner_book.h"
#include "collector/recorder/assemble/stream_numbers.h"
#include "collector/recorder/decode/dictionary.h"
#include "collector/recorder/keep/device.h"
#include "collector/recorder/keep/journal.h"
#include "trace/base/followed_bytes.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class Lifetimes {
 public:
  Lifetimes(Journal& journal, Dictionary& dictionary, Operators& operators, CensusBook& censuses, OwnerBook& owners,
            StreamNumbers& streams, GrowthWatch& growth)
      : journal_(journal),
        dictionary_(dictionary),
        operators_(operators),
        censuses_(censuses),
        owners_(owners),
        streams_(streams),
        growth_(growth) {}

  Status resume();

  Status tensor_birth(const wire::TensorRecord& record);
  /// A release or a death. Of what is not known to live: nothing to end, but it is counted.
  Status tensor_end(const wire::TensorRecord& record);
  /// The row of the storage that the tensor left, 0 if unknown.
  Expected<RowId> repoint(const wire::RepointRecord& record);
  Status storage_birth(const wire::StorageRecord& record);
  /// A release or a death. A storage that no tensor has ever shown is seen here first, and its row is a moment.
  Status storage_end(const wire::StorageRecord& record);
  Status storage_resize(const wire::ResizeRecord& record);
  Status block_alloc(const wire::BlockRecord& record);
  Status block_free(const wire::BlockRecord& record);
  Status block_stream(const wire::BlockStreamRecord& record);
  Status block_owner(const wire::BlockOwnerRecord& record);
  /// True if they have become more.
  Expected<bool> small_blocks(const wire::SmallBlocksRecord& record);
  Status block_free_done(const wire::BlockFreeDoneRecord& record);
  Status reserved(const wire::ReservedRecord& record);

  /// What was there before the recording, with sequence numbers below its first record's: a block, and a storage.
  /// `device`: as in wire::BlockRecord.
  Status past_block(std::uint32_t device, std::uint64_t address, std::uint64_t bytes, std::uint64_t stack);
  Status past_storage(std::uint64_t address, std::uint64_t data, std::uint64_t bytes);

  /// The row of the storage at this address; one begins if none lives there. 0 for address 0.
  Expected<RowId> see_storage(std::uint64_t address, std::uint64_t data, std::uint64_t bytes, std::uint64_t stack);
  [[nodiscard]] RowId storage(std::uint64_t address);
  [[nodiscard]] RowId tensor(std::uint64_t address);
  [[nodiscard]] Moment tensor_from(std::uint64_t address);
  /// Where the current record was made.
  Expected<Place> place(std::uint64_t stack);

  /// Calls `visit(row)` for every block that is alive.
  template <class Visit>
  void each_block(Visit&& visit) const {
    blocks_.each(visit);
  }

  /// The rows of all storages that are alive, by their addresses.
  [[nodiscard]] std::unordered_map<std::uint64_t, RowId> living_storages() const;

  /// Bytes of the storages that are alive and of which `counts` is true.
  [[nodiscard]] std::int64_t bytes_where(const std::function<bool(RowId)>& counts) const;

  /// Bytes of small blocks, of all devices.
  [[nodiscard]] std::int64_t small_bytes() const { return small_bytes_; }
  /// The process was asked to follow this class of sizes, too.
  void size_is_followed(std::size_t size_class);
  /// Bytes of the smallest storage that is followed for its size.
  [[nodiscard]] std::int64_t smallest_followed() const { return smallest_followed_; }

  /// Whether a storage of followed size is alive that began after the record `from`, and not after `to`.
  [[nodiscard]] bool lives_since(std::int64_t from, std::int64_t to) const;

  Status commit();

  [[nodiscard]] std::int64_t allocated() const { return journal_.rows.sums().allocated(); }
  /// Highest allocated bytes of any device.
  [[nodiscard]] std::int64_t peak() const { return peak_; }
  /// Of the CPU: what is allocated, the most that was, and the most since begin_cpu_peak().
  [[nodiscard]] CpuBytes cpu_bytes() const;
  void begin_cpu_peak() { cpu_highest_ = cpu_bytes().allocated; }
  /// The most that the allocator of any GPU has reserved since this recorder began.
  [[nodiscard]] std::int64_t reserved_peak() const { return reserved_peak_; }
  /// Ends of what had not been seen to begin: in detail `full` there is none.
  [[nodiscard]] std::int64_t unseen_births() const { return unseen_births_; }
  /// Births at an address where something lived. The first one is a diagnostic, too.
  [[nodiscard]] std::int64_t lost_deaths() const { return lost_deaths_; }
  /// Tensors that ended on another storage, and storages that ended with other bytes, than had been seen last.
  [[nodiscard]] std::int64_t unseen_changes() const { return unseen_changes_; }

  template <class Visit>
  void visit(Visit&& visit) {
    visit("blocks.peak", peak_);
    visit("unseen.births", unseen_births_);
    visit("unseen.changes", unseen_changes_);
    visit("lost.deaths", lost_deaths_);
  }

 private:
  /// After a sum has risen.
  void see_height(Device device, std::int64_t allocated);
  Status lost_death(const char* what, std::uint64_t address);
  Status end_tensor(std::uint64_t address);
  Status end_storage(std::uint64_t address);
  /// The tensor ends on another storage than it was seen on: it moved when that one ended, at the latest.
  Status move_tensor(const wire::TensorRecord& record);
  Status begin_tensor(std::uint64_t address, RowId object, RowId storage, const Place& place);
  /// The address of the block that has this byte, 0 if none.
  [[nodiscard]] std::uint64_t block_at(std::uint64_t data);
  void link_block(std::uint64_t data, RowId storage);
  void give_block(std::uint64_t address, RowId storage);
  /// A storage ends: its block goes to another one that lies in it.
  void unlink_block(RowId storage);
  Status end_block(std::uint64_t address, const Place& place, bool waits = false);
  Status end_waiting(std::uint64_t address);
  Status unseen_change(const char* what, std::uint64_t address);
  Status write_resize(RowId storage, std::uint64_t bytes, const Place& where);
  [[nodiscard]] std::int64_t bytes_now(const StorageRow& storage) const;
  void note_unseen_birth(std::unordered_set<std::uint64_t>& released, std::uint64_t address, bool is_death);

  Journal& journal_;
  Dictionary& dictionary_;
  Operators& operators_;
  CensusBook& censuses_;
  OwnerBook& owners_;
  StreamNumbers& streams_;
  GrowthWatch& growth_;
  LiveTable<StorageRow> storages_;
  LiveTable<TensorRow> tensors_;
  LiveTable<BlockRow> blocks_;
  std::unordered_map<RowId, std::uint64_t> block_of_;  ///< address of the block in which a live storage lies
  std::unordered_map<std::uint64_t, std::vector<RowId>> sharers_;  ///< live storages in a block besides its own
  std::map<std::uint64_t, std::int64_t> gpu_blocks_;               ///< bytes by address: a storage can begin within one
  /// Freed blocks that streams still use: their rows stay open. At most one an address, since none is handed out again
  /// before its wait is over.
  LiveTable<BlockRow> waiting_;
  std::unordered_set<std::string_view> traced_;          ///< devices whose allocator tells of streams
  std::unordered_map<RowId, std::int64_t> resized_;      ///< live storages that have other bytes than at their birth
  std::unordered_set<std::uint64_t> released_tensors_;   ///< ended, but their address is not free yet
  std::unordered_set<std::uint64_t> released_storages_;  ///< the same
  std::int64_t small_bytes_ = 0;
  std::int64_t smallest_followed_ = kFollowedBytes;
  std::int64_t unseen_births_ = 0;
  std::int64_t unseen_changes_ = 0;
  std::int64_t lost_deaths_ = 0;
  std::int64_t peak_ = 0;
  std::int64_t reserved_peak_ = 0;
  std::int64_t cpu_peak_ = 0;
  std::int64_t cpu_highest_ = 0;
};

}  // namespace dcmt::recorder

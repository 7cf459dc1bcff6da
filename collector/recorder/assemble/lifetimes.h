// Storages, tensors and blocks from birth to death. An object's identity is (address, birth): a birth at a live address
// means that a death was lost.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/recorder/assemble/census_book.h"
#include "collector/recorder/assemble/cpu_bytes.h"
#include "collector/recorder/assemble/growth_watch.h"
#include "collector/recorder/assemble/live_table.h"
#include "collector/recorder/assemble/module_book.h"
#include "collector/recorder/assemble/operators.h"
#include "collector/recorder/assemble/owner_book.h"
#include "collector/recorder/assemble/small_growth.h"
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
            StreamNumbers& streams, GrowthWatch& growth, ModuleBook& modules)
      : journal_(journal),
        dictionary_(dictionary),
        operators_(operators),
        censuses_(censuses),
        owners_(owners),
        streams_(streams),
        growth_(growth),
        modules_(modules) {}

  Status resume();

  Status tensor_birth(const wire::TensorRecord& record);
  /// A release or a death. If no such tensor is alive, it is only counted.
  Status tensor_end(const wire::TensorRecord& record);
  /// Returns the row of the storage that the tensor left, 0 if unknown.
  Expected<RowId> repoint(const wire::RepointRecord& record);
  Status storage_birth(const wire::StorageRecord& record);
  /// A release or a death. A storage that no tensor has shown gets its first row here, with begin and end at the same
  /// time.
  Status storage_end(const wire::StorageRecord& record);
  Status storage_resize(const wire::ResizeRecord& record);
  Status block_alloc(const wire::BlockRecord& record);
  Status block_free(const wire::BlockRecord& record);
  Status block_request(const wire::BlockRequestRecord& record);
  Status block_owner(const wire::BlockOwnerRecord& record);
  /// True if the sum has risen.
  Expected<bool> small_blocks(const wire::SmallBlocksRecord& record);
  Status block_free_done(const wire::BlockFreeDoneRecord& record);
  Status reserved(const wire::ReservedRecord& record);

  /// Adds a block or a storage from before the recording, with sequences below its first record. `device`: as in
  /// wire::BlockRecord.
  Status past_block(std::uint32_t device, std::uint64_t address, std::uint64_t bytes, std::uint64_t stack);
  Status past_storage(std::uint64_t address, std::uint64_t data, std::uint64_t bytes);

  /// A reading has found a storage of which no hook told. It lives as long as its block. Returns its row; 0: its block
  /// is unknown, began after the record `until`, or has another storage.
  Expected<RowId> find_storage(std::uint64_t address, std::uint64_t data, std::uint64_t bytes, std::int64_t until);

  /// The row of the storage at this address; begins one if there is none. 0 for address 0.
  Expected<RowId> find_or_begin_storage(std::uint64_t address, std::uint64_t data, std::uint64_t bytes,
                                        std::uint64_t stack);
  [[nodiscard]] RowId storage(std::uint64_t address);
  [[nodiscard]] RowId tensor(std::uint64_t address);
  /// The live block of a GPU that has this byte; 0: none.
  [[nodiscard]] RowId gpu_block_at(std::uint64_t address);
  [[nodiscard]] Point tensor_from(std::uint64_t address);
  /// Where the current record was made.
  Expected<Place> place(std::uint64_t stack);
  /// The operator with this name and ordinal that runs on another thread; 0 if there is none, or several.
  [[nodiscard]] RowId operator_elsewhere(RowId name, std::uint64_t ordinal) const {
    return operators_.running_elsewhere(name, ordinal);
  }

  /// Calls `visit(row)` for every live block.
  template <class Visit>
  void each_block(Visit&& visit) const {
    blocks_.each(visit);
  }

  /// Calls `visit(address, bytes)` for every live block that is followed on its own.
  template <class Visit>
  void each_wide_block(Visit&& visit) const {
    for (const auto& [address, bytes] : wide_blocks_) visit(address, bytes);
  }

  /// The rows of all live storages, by address.
  [[nodiscard]] std::unordered_map<std::uint64_t, RowId> living_storages() const;

  /// Bytes of the live storages for which `counts` is true.
  [[nodiscard]] std::int64_t bytes_where(const std::function<bool(RowId)>& counts) const;

  /// Bytes of small blocks on all devices.
  [[nodiscard]] std::int64_t small_bytes() const { return small_bytes_; }
  /// Bytes of the live small storages that are tracked one by one, by their size.
  [[nodiscard]] BytesBySize small_storages() const;
  /// The process was asked to track this class of sizes, too.
  void size_is_followed(std::size_t size_class);
  /// Bytes of the smallest storage that is tracked by its size.
  [[nodiscard]] std::int64_t smallest_followed() const { return smallest_followed_; }

  /// True if a live storage of tracked size began after the record `from`, and not after `to`.
  [[nodiscard]] bool lives_since(std::int64_t from, std::int64_t to) const;

  Status commit();

  [[nodiscard]] std::int64_t allocated() const { return journal_.rows.sums().allocated(); }
  /// Highest allocated bytes of any device.
  [[nodiscard]] std::int64_t peak() const { return peak_; }
  /// The GPU with the peak, as in BlockRow; nullopt: the CPU has it.
  [[nodiscard]] std::optional<std::int64_t> peak_device() const { return peak_device_.gpu(); }
  /// The highest allocated bytes of that device since the last call.
  std::int64_t take_highest() { return std::exchange(highest_, journal_.rows.sums().allocated(peak_device_)); }
  /// For the CPU: allocated bytes, their peak, and their peak since begin_cpu_peak().
  [[nodiscard]] CpuBytes cpu_bytes() const;
  void begin_cpu_peak() { cpu_highest_ = cpu_bytes().allocated; }
  /// The highest bytes that any GPU's allocator has reserved since this recorder began.
  [[nodiscard]] std::int64_t reserved_peak() const { return reserved_peak_; }
  /// Ends of objects whose begin was not seen: 0 in detail `full`.
  [[nodiscard]] std::int64_t unseen_births() const { return unseen_births_; }
  /// Births at an address where an object already lived. The first one is also a diagnostic.
  [[nodiscard]] std::int64_t lost_deaths() const { return lost_deaths_; }
  /// Tensors that ended on another storage, and storages that ended with other bytes, than last recorded.
  [[nodiscard]] std::int64_t unseen_changes() const { return unseen_changes_; }

  template <class Visit>
  void visit(Visit&& visit) {
    visit("blocks.peak", peak_);
    visit("unseen.births", unseen_births_);
    visit("unseen.changes", unseen_changes_);
    visit("lost.deaths", lost_deaths_);
  }

 private:
  /// Numbers of 64 bits are signed in a row.
  static std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }
  /// The sum of a device's small blocks is a row without an address. Here it has an address of the kernel's half.
  static constexpr std::uint64_t kNoProgramsAddress = std::uint64_t{1} << 63;
  static std::uint64_t key_of_small_blocks(std::optional<std::int64_t> gpu) {
    return kNoProgramsAddress + (gpu ? static_cast<std::uint64_t>(*gpu) + 1 : 0);
  }

  /// Call it after a sum has risen.
  void update_peak(Device device, std::int64_t allocated);
  Status lost_death(const char* what, std::uint64_t address);
  Status end_tensor(std::uint64_t address);
  Status end_storage(std::uint64_t address);
  /// The tensor ends on a storage other than the recorded one: it moved when that one ended, at the latest.
  Status move_tensor(const wire::TensorRecord& record);
  Status begin_tensor(std::uint64_t address, RowId object, RowId storage, const Place& place);
  /// The address of the block that contains this byte, 0 if none.
  [[nodiscard]] std::uint64_t block_at(std::uint64_t data);
  void find_inside(std::uint64_t address, const BlockRow& block);
  void link_block(std::uint64_t data, RowId storage);
  void give_block(std::uint64_t address, RowId storage);
  /// A storage ends: its block goes to another storage in the block.
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
  ModuleBook& modules_;
  LiveTable<StorageRow> storages_;
  LiveTable<TensorRow> tensors_;
  LiveTable<BlockRow> blocks_;
  std::unordered_map<std::uint64_t, std::uint64_t> found_in_;  ///< address of the block: that of find_storage()
  std::unordered_map<RowId, std::uint64_t> block_of_;          ///< address of the block that contains a live storage
  std::unordered_map<std::uint64_t, std::vector<RowId>> sharers_;  ///< live storages in a block, without its owner
  std::map<std::uint64_t, std::int64_t> wide_blocks_;              ///< bytes by address, to find a block by any byte
  /// Freed blocks that streams still use: their rows stay open. At most one for each address, because the allocator
  /// cannot reuse the block before its wait is over.
  LiveTable<BlockRow> waiting_;
  std::unordered_set<std::string_view> traced_;          ///< devices whose allocator reports stream events
  std::unordered_map<RowId, std::int64_t> resized_;      ///< live storages whose bytes differ from those at their birth
  std::unordered_set<std::uint64_t> released_tensors_;   ///< ended, but their address is not free yet
  std::unordered_set<std::uint64_t> released_storages_;  ///< the same
  std::int64_t small_bytes_ = 0;
  std::int64_t smallest_followed_ = kFollowedBytes;
  std::int64_t unseen_births_ = 0;
  std::int64_t unseen_changes_ = 0;
  std::int64_t lost_deaths_ = 0;
  std::int64_t peak_ = 0;
  Device peak_device_ = *Device::from_wire(wire::kCpuDevice);
  std::int64_t highest_ = 0;  ///< as in take_highest()
  std::int64_t reserved_peak_ = 0;
  std::int64_t cpu_peak_ = 0;
  std::int64_t cpu_highest_ = 0;
};

}  // namespace dcmt::recorder

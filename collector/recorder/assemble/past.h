// What a process had when a recorder attached. The hooks came first, then a reading of the memory. What lived when the
// hooks came is what the reading found, without objects that began since, and with objects that ended meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "collector/scan/census.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

struct PastStorage {
  std::uint64_t storage = 0;
  std::uint64_t data = 0;
  std::uint64_t bytes = 0;
  bool is_block = false;  ///< its data is a block of the CPU allocator
};

struct PastGpuBlock {
  std::uint32_t device = 0;  ///< as in wire::BlockRecord
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stack = 0;  ///< wire id, from the allocator's own history; 0: the history has none
};

/// Thread-safety: none.
class PreAttachState {
 public:
  /// Processes the next record since the hooks came. `record` is as in Assembler::apply().
  void see(const wire::RecordHeader& record);
  /// The storages that lived when the hooks came. `found` was read after that, and every record up to the end of the
  /// reading was processed. The largest come first, each block once.
  [[nodiscard]] std::vector<PastStorage> reconcile(std::span<const scan::LivingStorage> found) const;
  /// Blocks of GPUs that lived when the hooks came, by address, from the lists of the program's allocator.
  [[nodiscard]] std::vector<PastGpuBlock> gpu_blocks() const;

 private:
  enum class Event : std::uint8_t { kBegins, kEnds };
  struct Listed {
    std::uint32_t device = 0;
    std::uint64_t bytes = 0;
    std::uint64_t stack = 0;
    bool is_in_second = false;  ///< in the list that was made when the hooks recorded
  };
  void block_begins(std::uint64_t address, std::uint32_t device);
  void block_ends(std::uint64_t address, std::uint32_t device);
  void block_listed(const wire::FoundBlockRecord& record);
  void storage_ends(const wire::StorageRecord& record);
  [[nodiscard]] bool lived(const scan::LivingStorage& found) const;

  std::unordered_map<std::uint64_t, Event> first_of_block_;    ///< by address
  std::unordered_map<std::uint64_t, Event> first_of_storage_;  ///< by address
  std::unordered_set<std::uint64_t> begun_;                    ///< blocks
  std::unordered_set<std::uint64_t> of_gpus_;                  ///< blocks of GPUs, by address
  std::map<std::uint64_t, Listed> listed_;                     ///< blocks of GPUs, by address
  std::vector<PastStorage> ended_;  ///< storages that lived before; no block at their data had begun or ended yet
};

}  // namespace dcmt::recorder

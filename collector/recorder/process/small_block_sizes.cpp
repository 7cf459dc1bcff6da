#include "collector/recorder/process/small_block_sizes.h"

#include <vector>

#include "trace/base/process_read.h"

namespace dcmt::recorder {
namespace {

void count(std::int64_t bytes, BytesBySize& live) {
  if (bytes > 0 && bytes < kFollowedBytes) live[size_class_of(bytes)] += bytes;
}

bool count_cpu_blocks(const ProcessBytes& memory, std::uint64_t address, BytesBySize& live) {
  std::vector<std::uint64_t> words(spool::kCpuBlocks);
  if (!memory.read_all(address, words.data(), words.size() * sizeof(words[0]))) return false;
  constexpr std::uint64_t kBytes = (std::uint64_t{1} << spool::kCpuBytesBits) - 1;
  for (const std::uint64_t word : words) count(static_cast<std::int64_t>(word & kBytes), live);
  return true;
}

/// A region whose sizes cannot be read is skipped.
bool count_gpu_blocks(const ProcessBytes& memory, std::uint64_t address, BytesBySize& live) {
  struct Region {
    std::uint64_t number, sizes;
  };
  static_assert(sizeof(Region) == sizeof(spool::GpuRegion));
  std::vector<Region> regions(spool::kGpuRegions);
  if (!memory.read_all(address, regions.data(), regions.size() * sizeof(regions[0]))) return false;
  std::vector<std::uint8_t> sizes(spool::kGpuUnits);
  for (const Region& region : regions) {
    if (region.sizes == 0 || !memory.read_all(region.sizes, sizes.data(), sizes.size())) continue;
    // A block of one unit usually is a number.
    for (const std::uint8_t units : sizes) {
      if (units > 1) count(units * static_cast<std::int64_t>(spool::kGpuUnitBytes), live);
    }
  }
  return true;
}

}  // namespace

std::optional<BytesBySize> read_small_block_sizes(pid_t pid, const spool::SpoolReader::SmallBlockTables& tables) {
  BytesBySize live{};
  const ProcessBytes memory(pid);
  if (tables.cpu_blocks == 0 || !count_cpu_blocks(memory, tables.cpu_blocks, live)) return std::nullopt;
  if (tables.gpu_regions != 0 && !count_gpu_blocks(memory, tables.gpu_regions, live)) return std::nullopt;
  return live;
}

}  // namespace dcmt::recorder

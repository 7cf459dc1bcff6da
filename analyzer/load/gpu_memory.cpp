#include "analyzer/load/gpu_memory.h"

#include "analyzer/load/table_reader.h"

namespace dcmt::analyzer {

Expected<std::vector<GpuMemory>> GpuMemory::load(Database& database) {
  std::vector<GpuMemory> samples;
  DCMT_RETURN_IF_ERROR(read_rows<GpuMemory>(
      database, "ORDER BY gpu, id", [&](const GpuMemory& sample) { samples.push_back(sample); },
      column<&GpuMemoryRow::ns, &GpuMemory::ns>(),
      column<&GpuMemoryRow::gpu>(
          [](GpuMemory& sample, std::optional<std::int64_t> gpu) { sample.gpu = gpu.value_or(0); }),
      column<&GpuMemoryRow::used, &GpuMemory::used>(), column<&GpuMemoryRow::total, &GpuMemory::total>(),
      column<&GpuMemoryRow::process, &GpuMemory::process>(), column<&GpuMemoryRow::reserved, &GpuMemory::reserved>()));
  return samples;
}

}  // namespace dcmt::analyzer

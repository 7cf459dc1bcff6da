#include "analyzer/load/gpu_memory.h"

#include "analyzer/load/row_cursor.h"

namespace dcmt::analyzer {

Expected<std::vector<GpuMemory>> GpuMemory::load(Database& database) {
  std::vector<GpuMemory> samples;
  DCMT_ASSIGN_OR_RETURN(const bool known, has_table(database, "gpu_memory"));
  if (!known) return samples;
  DCMT_RETURN_IF_ERROR(read_rows(
      database, "SELECT ns, gpu, used, total, process, reserved FROM gpu_memory ORDER BY gpu, id", [&](Cursor& in) {
        GpuMemory sample;
        sample.ns = in.id<TimeNs>();
        sample.gpu = in.integer();
        sample.used = in.bytes();
        sample.total = in.bytes();
        sample.process = in.optional_bytes();
        sample.reserved = in.bytes();
        samples.push_back(sample);
      }));
  return samples;
}

}  // namespace dcmt::analyzer

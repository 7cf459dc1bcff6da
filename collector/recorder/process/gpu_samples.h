// Samples what is in use of the memory of the process's GPUs, while the program runs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/recorder/assemble/gpu_book.h"
#include "collector/recorder/target/gpu_memory.h"
#include "trace/base/status.h"
#include "trace/sql/trace_writer.h"

namespace dcmt::recorder {

/// A driver can take long for an answer, so a thread asks it, and nobody waits for that thread. Thread-safety: none.
class GpuSamples {
 public:
  /// `writer` must outlive it. @param library  NVML
  GpuSamples(TraceWriter& writer, pid_t pid, std::string library = GpuMemory::kLibrary);

  /// Writes what has been read, and begins a reading if it is time. Returns whether a row was written.
  /// @param gpus  with all records that the process had written before the call
  Expected<bool> poll(const Gpus& gpus);

 private:
  struct Asked {
    std::int64_t gpu = 0;
    std::string uuid;
  };
  struct Answer {
    std::int64_t began_ns = 0, ended_ns = 0;
    std::vector<std::pair<std::int64_t, GpuUse>> uses;  ///< by torch's number of the GPU
    std::string why_not;                                ///< of a GPU without an answer; empty: all have one
  };
  /// The library. One reading at a time uses it.
  struct Library;

  static Answer read(Library& library, const std::vector<Asked>& asked, pid_t pid);
  [[nodiscard]] bool is_due() const;
  void begin(std::vector<Asked> asked);
  Expected<bool> write(const Answer& answer, const Gpus& gpus);

  TraceWriter& writer_;
  const pid_t pid_;
  const std::shared_ptr<Library> library_;
  std::future<Answer> reading_;
  std::optional<Answer> answer_;  ///< waits for the records that the process wrote meanwhile
  std::int64_t first_ns_ = 0, latest_ns_ = 0;
  RowId next_id_ = 1;
  bool has_said_why_ = false;
};

}  // namespace dcmt::recorder

// The rows of a trace for the memory of the whole job.
#pragma once

#include "collector/recorder/target/job_memory.h"
#include "trace/base/status.h"
#include "trace/sql/trace_writer.h"

namespace dcmt::recorder {

/// @param id  of the reading, from 1 on
Status write_job(TraceWriter& writer, RowId id, const JobMemory& memory, const JobQuestion& question);

}  // namespace dcmt::recorder

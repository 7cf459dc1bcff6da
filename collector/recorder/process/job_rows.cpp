#include "collector/recorder/process/job_rows.h"

namespace dcmt::recorder {

Status write_job(TraceWriter& writer, RowId id, const JobMemory& memory, const JobQuestion& question) {
  JobRow row{.id = id, .ns = memory.ns};
  // The command's process, or else the oldest one.
  for (const JobProcess& each : memory.processes) {
    if (each.role == JobRole::kRecorder || each.role == JobRole::kAround) continue;
    if (row.pid != 0 && each.pid != question.first) continue;
    row.pid = each.pid;
    row.start = static_cast<std::int64_t>(each.start);
  }
  if (memory.group) {
    row.used = memory.group->used;
    row.anonymous = memory.group->anonymous;
    row.file = memory.group->file;
    row.mapped = memory.group->mapped;
    row.shared = memory.group->shared;
    row.kernel = memory.group->kernel;
    row.changed = memory.changed;
  }
  DCMT_RETURN_IF_ERROR(writer.write(row));
  for (const JobProcess& each : memory.processes) {
    JobProcessRow process{.sample = id,
                          .pid = each.pid,
                          .start = static_cast<std::int64_t>(each.start),
                          .parent = each.parent,
                          .role = name_of(each.role),
                          .rank = each.rank >= 0 ? std::optional<std::int64_t>(each.rank) : std::nullopt,
                          .anonymous = each.memory.anonymous,
                          .file = each.memory.file,
                          .shared = each.memory.shared,
                          .swapped = each.memory.swapped,
                          .resident = each.memory.resident};
    DCMT_ASSIGN_OR_RETURN(process.name, writer.intern(each.name));
    DCMT_RETURN_IF_ERROR(writer.write(process));
  }
  JobSharedRow shared;
  shared.sample = id;
  for (const SharedSegments& each : memory.segments) {
    shared.kind = name_of(each.kind);
    shared.pid = each.owner != 0 ? std::optional<std::int64_t>(each.owner) : std::nullopt;
    shared.segments = each.segments;
    shared.bytes = each.bytes;
    DCMT_ASSIGN_OR_RETURN(shared.name, writer.intern(each.name));
    DCMT_RETURN_IF_ERROR(writer.write(shared));
    ++shared.position;
  }
  return {};
}

}  // namespace dcmt::recorder

#include "analyzer/load/job_history.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analyzer/load/table_reader.h"
#include "trace/sql/meta_keys.h"
#include "trace/sql/read_meta.h"

namespace dcmt::analyzer {
namespace {

/// The sample that a row belongs to; nullptr: a damaged trace lacks it.
JobSample* sample_of(std::vector<JobSample>& samples, std::int64_t id) {
  const auto found = std::ranges::lower_bound(samples, id, {}, &JobSample::id);
  return found != samples.end() && found->id == id ? &*found : nullptr;
}

/// A number of meta; 0 if the trace does not say it.
Expected<std::int64_t> number_of(Database& database, std::string_view key) {
  DCMT_ASSIGN_OR_RETURN(const std::optional<std::int64_t> value, meta_integer(database, key));
  return std::clamp<std::int64_t>(value.value_or(0), 0, kLargest);
}

}  // namespace

Expected<JobHistory> JobHistory::load(Database& database) {
  JobHistory history;
  DCMT_ASSIGN_OR_RETURN(const std::int64_t begin, number_of(database, meta::kStartNs));
  history.begin = TimeNs(begin);
  DCMT_ASSIGN_OR_RETURN(history.pid, number_of(database, meta::kPid));
  std::vector<JobSample>& samples = history.samples;
  DCMT_RETURN_IF_ERROR(read_rows<JobSample>(
      database, "ORDER BY id", [&](JobSample& sample) { samples.push_back(std::move(sample)); },
      column<&JobRow::id>([](JobSample& sample, Any id) { sample.id = id.value; }),
      column<&JobRow::ns, &JobSample::ns>(), column<&JobRow::pid, &JobSample::pid>(),
      column<&JobRow::start>([](JobSample& sample, Any start) { sample.start = start.value; }),
      column<&JobRow::used, &JobSample::used>(), column<&JobRow::anonymous, &JobSample::anonymous>(),
      column<&JobRow::file, &JobSample::file>(), column<&JobRow::mapped, &JobSample::mapped>(),
      column<&JobRow::shared, &JobSample::shared>(), column<&JobRow::kernel, &JobSample::kernel>(),
      column<&JobRow::changed, &JobSample::changed>()));
  DCMT_RETURN_IF_ERROR(read_rows<ProcessOfJob>(
      database, "JOIN string ON string.id = job_process.name ORDER BY sample, pid",
      [&](ProcessOfJob& process) {
        if (JobSample* sample = sample_of(samples, process.sample)) sample->processes.push_back(std::move(process));
      },
      column<&JobProcessRow::sample>([](ProcessOfJob& process, Any id) { process.sample = id.value; }),
      column<&JobProcessRow::pid, &ProcessOfJob::pid>(), column<&JobProcessRow::parent, &ProcessOfJob::parent>(),
      column<&dcmt::StringRow::text>([](ProcessOfJob& process, NameText name) { process.name = printable(name.text); }),
      column<&JobProcessRow::role>(
          [](ProcessOfJob& process, std::string_view role) { process.role = printable(role); }),
      column<&JobProcessRow::rank, &ProcessOfJob::rank>(),
      column<&JobProcessRow::anonymous, &ProcessOfJob::anonymous>(),
      column<&JobProcessRow::file, &ProcessOfJob::file>(), column<&JobProcessRow::shared, &ProcessOfJob::shared>(),
      column<&JobProcessRow::swapped, &ProcessOfJob::swapped>(),
      column<&JobProcessRow::resident, &ProcessOfJob::resident>()));
  DCMT_RETURN_IF_ERROR(read_rows<SharedOfJob>(
      database, "JOIN string ON string.id = job_shared.name ORDER BY sample, position",
      [&](SharedOfJob& segments) {
        if (JobSample* sample = sample_of(samples, segments.sample)) sample->segments.push_back(std::move(segments));
      },
      column<&JobSharedRow::sample>([](SharedOfJob& segments, Any id) { segments.sample = id.value; }),
      column<&JobSharedRow::kind>(
          [](SharedOfJob& segments, std::string_view kind) { segments.kind = printable(kind); }),
      column<&JobSharedRow::pid, &SharedOfJob::pid>(), column<&JobSharedRow::segments, &SharedOfJob::segments>(),
      column<&JobSharedRow::bytes, &SharedOfJob::bytes>(),
      column<&dcmt::StringRow::text>(
          [](SharedOfJob& segments, NameText name) { segments.name = printable(name.text); })));
  return history;
}

void JobHistory::add(JobHistory other) {
  std::ranges::move(other.samples, std::back_inserter(samples));
  std::ranges::stable_sort(samples, {}, &JobSample::id);
  const auto copies = std::ranges::unique(samples, {}, &JobSample::id);
  samples.erase(copies.begin(), copies.end());
}

}  // namespace dcmt::analyzer

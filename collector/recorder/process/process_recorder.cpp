#include "collector/recorder/process/process_recorder.h"

#include <sys/resource.h>

#include <optional>
#include <utility>

#include "collector/recorder/process/own_clock.h"
#include "collector/recorder/process/version.h"
#include "collector/recorder/target/current_environment.h"
#include "collector/recorder/target/current_rank.h"
#include "collector/recorder/target/process_table.h"
#include "trace/base/shell_words.h"
#include "trace/sql/meta_keys.h"
#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace {

std::int64_t cpu_nanoseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& t) { return (static_cast<std::int64_t>(t.tv_sec) * 1'000'000 + t.tv_usec) * 1000; };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

/// The end of every trace, with or without its spool.
Status finish_with(TraceWriter& writer, Assembler& assembler, const std::string& exit, const std::string& state) {
  DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kExit, exit));
  DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kRecorderCpuNs, cpu_nanoseconds()));
  DCMT_RETURN_IF_ERROR(assembler.finish());
  DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kState, state));
  return finish_trace(writer.database());
}

}  // namespace

Expected<std::unique_ptr<ProcessRecorder>> ProcessRecorder::start(const std::string& spool_path,
                                                                  const std::string& trace_path, const RunFacts& run,
                                                                  const RetentionOptions& retention) {
  DCMT_ASSIGN_OR_RETURN(spool::SpoolReader spool, spool::SpoolReader::open(spool_path, spool::Purpose::kDrain));
  return open(std::move(spool), trace_path, run, retention, spool::Purpose::kDrain);
}

Expected<std::unique_ptr<ProcessRecorder>> ProcessRecorder::start(spool::SpoolReader spool,
                                                                  const std::string& trace_path, const RunFacts& run,
                                                                  const RetentionOptions& retention) {
  return open(std::move(spool), trace_path, run, retention, spool::Purpose::kDrain);
}

Expected<std::unique_ptr<ProcessRecorder>> ProcessRecorder::resume(const std::string& spool_path,
                                                                   const std::string& trace_path, const RunFacts& run) {
  DCMT_ASSIGN_OR_RETURN(spool::SpoolReader spool, spool::SpoolReader::open(spool_path, spool::Purpose::kInspect));
  return open(std::move(spool), trace_path, run, {}, spool::Purpose::kInspect);
}

Expected<std::unique_ptr<ProcessRecorder>> ProcessRecorder::open(spool::SpoolReader spool,
                                                                 const std::string& trace_path, const RunFacts& run,
                                                                 const RetentionOptions& retention,
                                                                 spool::Purpose purpose) {
  DCMT_ASSIGN_OR_RETURN(std::unique_ptr<SpoolDrain> drain,
                        SpoolDrain::open(std::move(spool), trace_path, retention, purpose));
  std::unique_ptr<ProcessRecorder> recorder(new ProcessRecorder(std::move(drain), trace_path));
  if (!recorder->drain_->continues()) DCMT_RETURN_IF_ERROR(recorder->write_start_meta(run));
  return recorder;
}

Status ProcessRecorder::write_start_meta(const RunFacts& run) {
  const spool::ProcessFacts& facts = spool().facts();
  TraceWriter& writer = drain_->writer();
  DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kState, "recording"));
  DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kToolVersion, kToolVersion));
  DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kCommand, shell_words(run.command)));
  if (!run.origins.empty()) DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kOrigins, run.origins));
  DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kPid, std::int64_t{facts.pid}));
  rank_ = run.rank >= 0 ? run.rank : facts.rank;
  lacks_rank_ = rank_ < 0;
  DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kRank, std::int64_t{rank_}));
  DCMT_RETURN_IF_ERROR(
      writer.set_meta(meta::kWorldSize, std::int64_t{run.rank >= 0 ? run.world_size : facts.world_size}));
  DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kDetail, text_of(facts.detail)));
  if (facts.first_seq > 1) {
    DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kFirstSeq, static_cast<std::int64_t>(facts.first_seq)));
  }
  DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kStartRealNs, static_cast<std::int64_t>(facts.start_real_ns)));
  DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kStartNs, static_cast<std::int64_t>(facts.start_monotonic_ns)));
  return drain_->commit();
}

Status ProcessRecorder::find_rank() {
  if (!lacks_rank_ || readings_.reader() == nullptr || totals().steps == 0) return {};
  lacks_rank_ = false;
  const std::optional<CurrentRank> found = current_rank(pid_);
  if (!found) return {};
  rank_ = found->rank;
  drain_->changed();
  DCMT_RETURN_IF_ERROR(drain_->writer().set_meta(meta::kRank, std::int64_t{rank_}));
  return drain_->writer().set_meta(meta::kWorldSize, std::int64_t{found->world_size});
}

Status ProcessRecorder::read_allocator_variables() {
  const Totals now = totals();
  const int due = now.reserved_peak_bytes == 0 ? 0 : now.steps == 0 ? 1 : 2;
  if (variables_read_ >= due || readings_.reader() == nullptr) return {};
  variables_read_ = due;
  const std::string variables = allocator_variables(pid_);
  if (variables.empty()) return {};
  drain_->changed();
  return drain_->writer().set_meta(meta::kAllocatorVariables, variables);
}

Expected<std::size_t> ProcessRecorder::poll() {
  // Before the records are copied, so that no record is later than the reading.
  if (const auto clock = read_own_clock()) DCMT_RETURN_IF_ERROR(drain_->assembler().clock().read_own(*clock));
  if (past_ != nullptr) {
    DCMT_ASSIGN_OR_RETURN(const bool is_over, past_->poll());
    if (!is_over) return 0;
    counts_all_ = past_->is_known();
    past_.reset();
  }
  DCMT_ASSIGN_OR_RETURN(const std::size_t copied, drain_->drain());
  publish_cpu_memory();
  DCMT_RETURN_IF_ERROR(find_rank());
  DCMT_RETURN_IF_ERROR(read_allocator_variables());
  DCMT_RETURN_IF_ERROR(samplers_.poll());
  if (limit_alarm_ && limit_alarm_->rings()) readings_.read_variables_soon();
  DCMT_RETURN_IF_ERROR(readings_.poll());
  if (readings_.reader() != nullptr && !drain_->only_blocks()) samplers_.follow_small_growth(pid_);
  DCMT_RETURN_IF_ERROR(drain_->settle());
  return copied;
}

void ProcessRecorder::publish_cpu_memory() {
  spool::SpoolReader& spool = drain_->spool();
  const spool::SpoolReader::CpuQuestion question = spool.cpu_question();
  // A request that came after the records were copied is answered next time.
  const bool answers = question.before != 0 && spool.next_sequence() >= question.before;
  if (answers && std::exchange(new_peaks_, question.new_peaks) != question.new_peaks) {
    drain_->assembler().begin_cpu_peak();
  }
  const CpuBytes bytes = drain_->assembler().cpu_bytes();
  spool.publish_cpu_memory(static_cast<std::uint64_t>(bytes.allocated), static_cast<std::uint64_t>(bytes.peak),
                           static_cast<std::uint64_t>(bytes.highest), counts_all_, answers ? question.before : 0);
}

Status ProcessRecorder::finish(const std::string& exit, const std::string& state) {
  if (past_ != nullptr) DCMT_RETURN_IF_ERROR(past_->end());
  past_.reset();
  DCMT_RETURN_IF_ERROR(drain_->drain_rest());
  DCMT_RETURN_IF_ERROR(readings_.end());
  if (drain_->only_blocks() && exit == "signal 9") {  // the kernel's, most often
    DCMT_RETURN_IF_ERROR(drain_->assembler().out_of_memory().killed());
  }
  DCMT_RETURN_IF_ERROR(samplers_.finish());
  DCMT_RETURN_IF_ERROR(drain_->note_losses());
  TraceWriter& writer = drain_->writer();
  if (const spool::SpoolReader::Holds holds = spool().holds(); holds.count > 0) {
    DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kHolds, static_cast<std::int64_t>(holds.count)));
    DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kHeldNs, static_cast<std::int64_t>(holds.all_ns)));
    DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kLongestHoldNs, static_cast<std::int64_t>(holds.longest_ns)));
  }
  DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kTorch, spool().torch_version()));
  DCMT_RETURN_IF_ERROR(writer.set_meta(meta::kPython, spool().python_version()));
  DCMT_RETURN_IF_ERROR(samplers_.write_limits());
  DCMT_RETURN_IF_ERROR(finish_with(writer, drain_->assembler(), exit, state));
  drain_->spool().give_back();
  return {};
}

Status ProcessRecorder::finish_without_spool(const std::string& trace_path, const std::string& state) {
  DCMT_ASSIGN_OR_RETURN(const std::string before, trace_state(trace_path));
  if (before != "recording") return {};
  DCMT_ASSIGN_OR_RETURN(Database database, reopen_trace(trace_path));
  DCMT_ASSIGN_OR_RETURN(TraceWriter writer, TraceWriter::create(std::move(database)));
  // The clock continues from the state in the trace.
  DCMT_ASSIGN_OR_RETURN(std::unique_ptr<Assembler> assembler, Assembler::resume(writer, ClockOrigin{}));
  return finish_with(writer, *assembler, "unseen", state);
}

std::string ProcessRecorder::unseen_exit() const {
  return spool().state() == spool::AgentState::kFinished ? "exit unseen" : "unknown";
}

bool ProcessRecorder::is_alive(const spool::ProcessFacts& facts) {
  return pid_here(facts.pid, facts.process_start) != 0;
}

}  // namespace dcmt::recorder

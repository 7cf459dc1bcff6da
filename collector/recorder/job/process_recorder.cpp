#include "collector/recorder/job/process_recorder.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <utility>

#include "collector/recorder/job/own_clock.h"
#include "collector/recorder/job/small_block_sizes.h"
#include "collector/recorder/job/version.h"
#include "collector/recorder/target/current_rank.h"
#include "collector/recorder/target/process_table.h"
#include "trace/base/followed_bytes.h"
#include "trace/sql/meta_keys.h"
#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace {

constexpr auto kCommitEvery = std::chrono::milliseconds(500);
/// A spool with this share of chunks in use is committed at once.
constexpr double kPressure = 0.5;
/// In such a spool, a record that is missing for this long is given up: its thread may have been killed.
constexpr auto kGivenUpAfter = std::chrono::milliseconds(100);
using spool::AskedReading;
constexpr char kTooShort[] = "the recording ended before its memory was read";

/// Readings after the program's end: two readings must find that nothing holds a storage.
constexpr int kMostLastReadings = 2;

/// True if the process waits.
bool is_asked(AskedReading word) {
  return word == AskedReading::kEnded || word == AskedReading::kRequested || word == AskedReading::kHeld ||
         word == AskedReading::kUnderWay;
}

/// Quotes the words for a shell.
std::string shell_quote(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789_-./=:,@%+") == std::string::npos;
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

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

/// True if the trace's state meets the condition.
Expected<bool> has_state(const std::string& trace_path, const std::string& condition) {
  DCMT_ASSIGN_OR_RETURN(Database database, open_trace(trace_path));
  DCMT_ASSIGN_OR_RETURN(Statement query, database.prepare("SELECT 1 FROM meta WHERE key = ? AND " + condition));
  query.bind(1, std::string_view(meta::kState));
  return query.step();
}

Expected<bool> is_unfinished(const std::string& trace_path) { return has_state(trace_path, "value = 'recording'"); }

Expected<bool> has_begun(const std::string& trace_path) { return has_state(trace_path, "value IS NOT NULL"); }

}  // namespace

ProcessRecorder::ProcessRecorder(spool::SpoolReader reader, TraceWriter writer, std::string trace_path)
    : reader_(std::move(reader)),
      writer_(std::move(writer)),
      trace_path_(std::move(trace_path)),
      last_commit_(std::chrono::steady_clock::now()) {}

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

Expected<std::unique_ptr<ProcessRecorder>> ProcessRecorder::open(spool::SpoolReader reader,
                                                                 const std::string& trace_path, const RunFacts& run,
                                                                 const RetentionOptions& retention,
                                                                 spool::Purpose purpose) {
  bool resume = purpose == spool::Purpose::kInspect && std::filesystem::exists(trace_path);
  if (resume) {
    DCMT_ASSIGN_OR_RETURN(const bool begun, has_begun(trace_path));
    // Its recorder was killed after it made the file and before it wrote whose trace it is.
    if (!begun) remove_trace(trace_path);
    resume = begun;
  }
  DCMT_ASSIGN_OR_RETURN(Database database, resume ? reopen_trace(trace_path) : create_trace(trace_path));
  DCMT_ASSIGN_OR_RETURN(TraceWriter writer, TraceWriter::create(std::move(database)));

  std::unique_ptr<ProcessRecorder> recorder(new ProcessRecorder(std::move(reader), std::move(writer), trace_path));
  const spool::ProcessFacts& facts = recorder->reader_.facts();
  const ClockOrigin origin{facts.tsc_hz, facts.start_tsc, facts.start_monotonic_ns};
  DCMT_ASSIGN_OR_RETURN(
      std::unique_ptr<Assembler> assembler,
      resume ? Assembler::resume(recorder->writer_, origin) : Assembler::start(recorder->writer_, origin, retention));
  recorder->assembler_ = std::move(assembler);
  if (resume) {
    recorder->reader_.skip_to(recorder->assembler_->last_seq());
  } else {
    DCMT_RETURN_IF_ERROR(recorder->write_start_meta(run));
  }
  return recorder;
}

Status ProcessRecorder::write_start_meta(const RunFacts& run) {
  const spool::ProcessFacts& facts = reader_.facts();
  DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kState, "recording"));
  DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kToolVersion, kToolVersion));
  DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kCommand, shell_quote(run.command)));
  if (!run.origins.empty()) DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kOrigins, run.origins));
  DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kPid, std::int64_t{facts.pid}));
  lacks_rank_ = run.rank < 0 && facts.rank < 0;
  DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kRank, std::int64_t{run.rank >= 0 ? run.rank : facts.rank}));
  DCMT_RETURN_IF_ERROR(
      writer_.set_meta(meta::kWorldSize, std::int64_t{run.rank >= 0 ? run.world_size : facts.world_size}));
  DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kDetail, text_of(facts.detail)));
  if (facts.first_seq > 1) {
    DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kFirstSeq, static_cast<std::int64_t>(facts.first_seq)));
  }
  DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kStartRealNs, static_cast<std::int64_t>(facts.start_real_ns)));
  DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kStartNs, static_cast<std::int64_t>(facts.start_monotonic_ns)));
  return commit();
}

Status ProcessRecorder::find_rank() {
  if (!lacks_rank_ || memory_ == nullptr || assembler_->totals().steps == 0) return {};
  lacks_rank_ = false;
  const std::optional<CurrentRank> found = current_rank(pid_);
  if (!found) return {};
  uncommitted_ = true;
  DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kRank, std::int64_t{found->rank}));
  return writer_.set_meta(meta::kWorldSize, std::int64_t{found->world_size});
}

void ProcessRecorder::hold_sequenced() {
  for (spool::SequencedRecord record = reader_.next(); record.header != nullptr; record = reader_.next()) {
    past_->book.see(*record.header);
    past_->records.emplace_back(past_->words.size(), record.thread);
    const auto* words = reinterpret_cast<const std::uint64_t*>(record.header);
    past_->words.insert(past_->words.end(), words, words + record.header->words);
  }
}

Status ProcessRecorder::apply_held() {
  const std::unique_ptr<Past> held = std::move(past_);
  for (const auto& [begin, thread] : held->records) {
    const auto& header = reinterpret_cast<const wire::RecordHeader&>(held->words[begin]);
    DCMT_RETURN_IF_ERROR(assembler_->apply(header, thread));
  }
  uncommitted_ = true;
  return {};
}

Status ProcessRecorder::give_up_past(const std::string& why) {
  counts_all_ = false;
  DCMT_RETURN_IF_ERROR(assembler_->past_is_unknown(why, static_cast<std::int64_t>(reader_.facts().start_monotonic_ns)));
  return apply_held();
}

Status ProcessRecorder::read_past() {
  if (memory_ == nullptr) return give_up_past("its memory is not read");
  if (!std::exchange(past_->reads, true)) memory_->start(kFollowedBytes, Also::kLiving);
  reader_.read();
  hold_sequenced();
  const std::optional<Expected<MemoryReading>> reading = memory_->receive(false);
  if (!reading) return {};
  // An incomplete record hides the records after it.
  for (auto until = std::chrono::steady_clock::now() + kGivenUpAfter;;) {
    reader_.read();
    hold_sequenced();
    if (reader_.waiting() == 0 || std::chrono::steady_clock::now() > until) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!reading->ok()) {
    reading_failed_ = true;
    return give_up_past(reading->error().message);
  }
  // After that, begins and ends are not observed.
  if (reader_.state() != spool::AgentState::kRecording) return give_up_past(kTooShort);
  const MemoryReading& done = **reading;
  const spool::ProcessFacts& facts = reader_.facts();
  const std::int64_t smallest = facts.detail == Detail::kLifetimes ? kFollowedBytes : 1;
  DCMT_RETURN_IF_ERROR(assembler_->begin_past(past_->book.reconcile(done.found.living), past_->book.gpu_blocks(),
                                              smallest, static_cast<std::int64_t>(facts.start_monotonic_ns),
                                              static_cast<std::int64_t>(facts.first_seq)));
  assembler_->reading_begins(scan::Scope::kAll);
  DCMT_RETURN_IF_ERROR(apply_held());
  return assembler_->reading_ended(done);
}

Status ProcessRecorder::apply_sequenced() {
  for (spool::SequencedRecord record = reader_.next(); record.header != nullptr; record = reader_.next()) {
    DCMT_RETURN_IF_ERROR(assembler_->apply(*record.header, record.thread));
    uncommitted_ = true;
  }
  return {};
}

Status ProcessRecorder::commit() {
  DCMT_RETURN_IF_ERROR(assembler_->commit({}));
  // From here on the records are safe without the spool.
  reader_.give_back();
  last_commit_ = std::chrono::steady_clock::now();
  uncommitted_ = false;
  return {};
}

Status ProcessRecorder::skip_gap() {
  DCMT_RETURN_IF_ERROR(
      assembler_->note_gap(reader_.next_sequence(), reader_.waiting() - 1, reader_.damaged_chunks() != 0));
  reader_.skip_gap();
  return apply_sequenced();
}

Status ProcessRecorder::wait_or_skip_gap() {
  // Chunks are read one after the other: the missing record may have been published behind the scan.
  reader_.read();
  DCMT_RETURN_IF_ERROR(apply_sequenced());
  if (reader_.waiting() == 0) return {};
  const auto now = std::chrono::steady_clock::now();
  if (reader_.next_sequence() != stuck_sequence_) {
    stuck_sequence_ = reader_.next_sequence();
    stuck_since_ = now;
  }
  return now - stuck_since_ < kGivenUpAfter ? Status{} : skip_gap();
}

Status ProcessRecorder::read_memory() {
  if (variables_ != nullptr) DCMT_RETURN_IF_ERROR(read(*variables_, scan::Scope::kVariables));
  if (memory_ != nullptr) DCMT_RETURN_IF_ERROR(read(*memory_, scan::Scope::kAll));
  if (reading_failed_) {
    variables_.reset();
    memory_.reset();
  }
  return is_asked(reader_.asked_reading()) ? serve_asked_reading() : Status{};
}

void ProcessRecorder::follow_small_growth() {
  if (memory_ == nullptr || !first_record_) return;
  const double now = since_first_record();
  const SmallBlocksThen then = assembler_->small_blocks();
  if (!small_growth_.is_due(now, then)) return;
  const std::optional<BytesBySize> live = read_small_block_sizes(pid_, reader_.small_block_tables());
  if (!live) return small_growth_.give_up();
  for (const std::size_t size_class : small_growth_.add_reading(now, then, *live)) {
    reader_.follow_size_class(size_class);
    assembler_->size_is_followed(size_class);
  }
}

Status ProcessRecorder::read(MemoryReader& reader, scan::Scope scope) {
  if (reader.is_reading()) DCMT_RETURN_IF_ERROR(end_reading(reader, false));
  if (reader.is_reading() || reading_failed_) return {};
  if (!begins_readings_ || !first_record_ || program_ended_ || is_asked(reader_.asked_reading())) return {};
  const bool is_due = (scope == scan::Scope::kAll && extra_reading_ == ExtraReading::kWanted) ||
                      schedule_.is_due(scope, since_first_record(), progress());
  // A reading of everything would use the core that a short reading of variables needs.
  if (scope == scan::Scope::kAll && variables_->is_reading()) return {};
  if (is_due && reader.may_start()) begin_reading(reader, scope);
  return {};
}

Progress ProcessRecorder::progress() {
  const Totals& totals = assembler_->totals();
  highest_ = std::max(highest_, totals.allocated_bytes);
  GrowingBytes growing = assembler_->growing();
  // Arrays held by a variable may have caused growth outside torch.
  if (samples_ != nullptr) growing.signs = std::max(growing.signs, samples_->grown());
  return {.growing = growing,
          .has_storages = highest_ >= kFollowedBytes,
          .stepped = totals.steps > 0,
          .held = reader_.holds().count > 0,
          .of_peak = highest_ > 0 ? static_cast<double>(totals.allocated_bytes) / static_cast<double>(highest_) : 1};
}

Status ProcessRecorder::serve_asked_reading() {
  // The process has published its last events before it asked.
  reader_.read();
  DCMT_RETURN_IF_ERROR(apply_sequenced());
  if (reader_.asked_reading() == AskedReading::kRequested) {
    serve_request();
  } else if (reader_.asked_reading() == AskedReading::kHeld || held_) {
    serve_hold();
  } else if (!requested_) {
    if (!program_ended_) DCMT_RETURN_IF_ERROR(sample_last());
    serve_end();
  } else if (memory_ == nullptr || !memory_->is_reading()) {
    requested_ = false;
    reader_.answer(memory_ != nullptr ? AskedReading::kDone : AskedReading::kNotRead);
  }
  return {};
}

void ProcessRecorder::serve_request() {
  if (memory_ != nullptr && memory_->is_reading()) return;  // it began before the request
  if (memory_ == nullptr || !begins_readings_ || !first_record_ || !memory_->fits()) {
    reader_.answer(AskedReading::kNotRead);
  } else if (memory_->may_start()) {
    requested_ = true;
    reader_.answer(AskedReading::kUnderWay);
    begin_reading(*memory_, scan::Scope::kAll);
  }
}

void ProcessRecorder::serve_hold() {
  if (held_) {
    if (variables_ != nullptr && variables_->is_reading()) return;
    held_ = false;
    return reader_.answer(AskedReading::kDone);
  }
  if (variables_ == nullptr || !begins_readings_ || !first_record_ || program_ended_)
    return reader_.answer(AskedReading::kNotRead);
  if (variables_->is_reading()) return;  // it began before the hold
  held_ = true;
  reader_.answer(AskedReading::kUnderWay);
  begin_reading(*variables_, scan::Scope::kVariables);
}

void ProcessRecorder::serve_end() {
  program_ended_ = true;
  const bool reads = memory_ != nullptr && (memory_->is_reading() || variables_->is_reading());
  const bool may_read = memory_ != nullptr && begins_readings_ && first_record_;
  const bool wants_all =
      may_read && last_readings_ < kMostLastReadings && memory_->fits() && assembler_->wants_reading();
  const bool grows_outside = samples_ != nullptr && samples_->grown() > 0;
  const bool wants_variables = may_read && !read_variables_last_ && (grows_outside || assembler_->keeps_anything());
  reader_.answer(reads || wants_all || wants_variables ? AskedReading::kUnderWay : AskedReading::kDone);
  if (wants_variables && variables_->may_start()) {
    begin_reading(*variables_, scan::Scope::kVariables);
    read_variables_last_ = true;
  }
  if (wants_all && memory_->may_start()) {
    begin_reading(*memory_, scan::Scope::kAll);
    ++last_readings_;
  }
}

void ProcessRecorder::begin_reading(MemoryReader& reader, scan::Scope scope) {
  const bool waits = reader_.asked_reading() == AskedReading::kUnderWay && (held_ || program_ended_);
  reading_began_[static_cast<std::size_t>(scope)] = {since_first_record(), progress(), waits};
  assembler_->reading_begins(scope);
  if (scope == scan::Scope::kAll && extra_reading_ == ExtraReading::kWanted) extra_reading_ = ExtraReading::kUnderWay;
  const bool searches = scope == scan::Scope::kAll &&
                        (program_ended_ || schedule_.affords_search(since_first_record())) &&
                        assembler_->wants_cpp_holders(program_ended_);
  reader.start(assembler_->smallest_followed(), searches ? Also::kCpp : Also::kNothing);
}

double ProcessRecorder::since_first_record() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - *first_record_).count();
}

Status ProcessRecorder::end_reading(MemoryReader& reader, bool wait) {
  const std::optional<Expected<MemoryReading>> reading = reader.receive(wait);
  if (!reading) return {};
  uncommitted_ = true;
  if (&reader == memory_.get() && extra_reading_ == ExtraReading::kUnderWay) extra_reading_ = ExtraReading::kOver;
  if (!reading->ok()) {
    // Only once for both readers: they fail for the same reasons.
    if (std::exchange(reading_failed_, true)) return {};
    // A process that is ending cannot be read, and does not need to be.
    return ProcessRecorder::is_alive(reader_.facts()) ? assembler_->reading_failed(reading->error().message) : Status{};
  }
  // Apply first what the process has published up to the end of the reading.
  reader_.read();
  DCMT_RETURN_IF_ERROR(apply_sequenced());
  MemoryReading done = std::move(**reading);
  const Began& began = reading_began_[static_cast<std::size_t>(done.scope)];
  done.waited = began.waits && reader_.asked_reading() == AskedReading::kUnderWay;
  // A reading that the program requested does not count for the recorder's share.
  if (!requested_ || done.scope == scan::Scope::kVariables) {
    schedule_.done(done.scope, began.at, done.cpu_seconds, began.program);
  }
  return assembler_->reading_ended(done);
}

Expected<std::size_t> ProcessRecorder::poll() {
  // Before the records are copied, so that no record is later than the reading.
  if (const auto clock = read_own_clock()) DCMT_RETURN_IF_ERROR(assembler_->add_own_clock(*clock));
  if (past_ != nullptr) {
    DCMT_RETURN_IF_ERROR(read_past());
    if (past_ != nullptr) return 0;
  }
  const std::size_t copied = reader_.read();
  DCMT_RETURN_IF_ERROR(apply_sequenced());
  publish_cpu_memory();
  DCMT_RETURN_IF_ERROR(find_rank());
  if (!first_record_ && assembler_->totals().allocated_bytes > 0) first_record_ = std::chrono::steady_clock::now();
  DCMT_RETURN_IF_ERROR(sample_memory());
  DCMT_RETURN_IF_ERROR(read_memory());
  follow_small_growth();
  const bool pressed = reader_.used() > kPressure;
  if (pressed && reader_.waiting() != 0) DCMT_RETURN_IF_ERROR(wait_or_skip_gap());
  if (uncommitted_ && (pressed || std::chrono::steady_clock::now() - last_commit_ > kCommitEvery)) {
    DCMT_RETURN_IF_ERROR(commit());
  }
  return copied;
}

TorchThen ProcessRecorder::torch_then() const {
  return {static_cast<std::int64_t>(assembler_->last_seq()), assembler_->totals().steps,
          assembler_->cpu_bytes().allocated};
}

Status ProcessRecorder::sample_memory() {
  if (samples_ == nullptr || !first_record_ || !begins_readings_ || program_ended_) return {};
  DCMT_ASSIGN_OR_RETURN(const bool wrote, samples_->poll(torch_then(), [&] { return assembler_->cpu_blocks(); }));
  uncommitted_ |= wrote;
  // A record that is missing yet could be of what a GPU's allocator has just reserved.
  if (reader_.waiting() == 0) {
    DCMT_ASSIGN_OR_RETURN(const bool wrote_gpus, gpu_samples_->poll(assembler_->gpus()));
    uncommitted_ |= wrote_gpus;
  }
  // If the kernel kills the recorder, too, everything that is not committed is lost.
  return wrote && samples_->is_near_limit() ? commit() : Status();
}

Status ProcessRecorder::sample_last() {
  if (samples_ == nullptr || !first_record_) return {};
  uncommitted_ = true;
  return samples_->sample_last(torch_then(), [&] { return assembler_->cpu_blocks(); });
}

void ProcessRecorder::publish_cpu_memory() {
  const spool::SpoolReader::CpuQuestion question = reader_.cpu_question();
  // A request that came after the records were copied is answered next time.
  const bool answers = question.before != 0 && reader_.next_sequence() >= question.before;
  if (answers && std::exchange(new_peaks_, question.new_peaks) != question.new_peaks) assembler_->begin_cpu_peak();
  const CpuBytes bytes = assembler_->cpu_bytes();
  reader_.publish_cpu_memory(static_cast<std::uint64_t>(bytes.allocated), static_cast<std::uint64_t>(bytes.peak),
                             static_cast<std::uint64_t>(bytes.highest), counts_all_, answers ? question.before : 0);
}

Status ProcessRecorder::note_damage() {
  if (reader_.damaged_chunks() == 0) return {};
  if (const std::uint64_t missing = reader_.missing_at_end(); missing != 0) {
    DCMT_RETURN_IF_ERROR(assembler_->note_gap(reader_.next_sequence(), reader_.next_sequence() + missing - 1, true));
  }
  return assembler_->note_damaged_chunks(reader_.damaged_chunks(), reader_.chunks());
}

Status ProcessRecorder::finish(const std::string& exit, const std::string& state) {
  if (past_ != nullptr) {
    reader_.read();
    hold_sequenced();
    DCMT_RETURN_IF_ERROR(give_up_past(kTooShort));
    if (memory_ != nullptr) (void)memory_->receive(true);
  }
  // A process that is left while it runs continues to publish: the trace ends with what it has published by now.
  const std::uint64_t end = reader_.last_assigned_sequence();
  std::size_t copied = 0;
  do {
    copied = reader_.read();
    DCMT_RETURN_IF_ERROR(apply_sequenced());
  } while (copied != 0 && reader_.next_sequence() <= end);
  // The threads that acquired these sequences were killed before their records were complete.
  while (reader_.waiting() != 0) DCMT_RETURN_IF_ERROR(skip_gap());
  if (variables_ != nullptr && variables_->is_reading()) DCMT_RETURN_IF_ERROR(end_reading(*variables_, true));
  if (memory_ != nullptr && memory_->is_reading()) DCMT_RETURN_IF_ERROR(end_reading(*memory_, true));
  DCMT_RETURN_IF_ERROR(note_damage());
  DCMT_RETURN_IF_ERROR(assembler_->note_lost(reader_.lost()));
  DCMT_RETURN_IF_ERROR(assembler_->note_forked_children(reader_.forked_children()));
  if (const spool::SpoolReader::Holds holds = reader_.holds(); holds.count > 0) {
    DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kHolds, static_cast<std::int64_t>(holds.count)));
    DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kHeldNs, static_cast<std::int64_t>(holds.all_ns)));
    DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kLongestHoldNs, static_cast<std::int64_t>(holds.longest_ns)));
  }
  DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kTorch, reader_.torch_version()));
  DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kPython, reader_.python_version()));
  if (samples_ != nullptr) DCMT_RETURN_IF_ERROR(samples_->write_limits());
  DCMT_RETURN_IF_ERROR(finish_with(writer_, *assembler_, exit, state));
  reader_.give_back();
  return {};
}

Status ProcessRecorder::finish_without_spool(const std::string& trace_path, const std::string& state) {
  DCMT_ASSIGN_OR_RETURN(bool unfinished, is_unfinished(trace_path));
  if (!unfinished) return {};
  DCMT_ASSIGN_OR_RETURN(Database database, reopen_trace(trace_path));
  DCMT_ASSIGN_OR_RETURN(TraceWriter writer, TraceWriter::create(std::move(database)));
  // The clock continues from the state in the trace.
  DCMT_ASSIGN_OR_RETURN(std::unique_ptr<Assembler> assembler, Assembler::resume(writer, ClockOrigin{}));
  return finish_with(writer, *assembler, "unseen", state);
}

std::string ProcessRecorder::unseen_exit() const {
  return reader_.state() == spool::AgentState::kFinished ? "exit unseen" : "unknown";
}

bool ProcessRecorder::is_alive(const spool::ProcessFacts& facts) {
  return pid_here(facts.pid, facts.process_start) != 0;
}

}  // namespace dcmt::recorder

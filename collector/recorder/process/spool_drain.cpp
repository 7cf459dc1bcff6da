#include "collector/recorder/process/spool_drain.h"

#include <filesystem>
#include <string_view>
#include <utility>

#include "trace/sql/meta_keys.h"
#include "trace/sql/read_meta.h"
#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace {

constexpr auto kCommitEvery = std::chrono::milliseconds(500);
/// A spool with this share of chunks in use is committed at once.
constexpr double kPressure = 0.5;
/// In such a spool, a record that is missing for this long is given up: its thread may have been killed.
constexpr auto kGivenUpAfter = std::chrono::milliseconds(100);

}  // namespace

Expected<std::string> trace_state(const std::string& trace_path) {
  DCMT_ASSIGN_OR_RETURN(Database database, open_trace(trace_path));
  return meta_text(database, meta::kState);
}

SpoolDrain::SpoolDrain(spool::SpoolReader spool, TraceWriter writer)
    : spool_(std::move(spool)), writer_(std::move(writer)) {}

Expected<std::unique_ptr<SpoolDrain>> SpoolDrain::open(spool::SpoolReader spool, const std::string& trace_path,
                                                       const RetentionOptions& retention, spool::Purpose purpose) {
  bool continues = purpose == spool::Purpose::kInspect && std::filesystem::exists(trace_path);
  if (continues) {
    DCMT_ASSIGN_OR_RETURN(const std::string state, trace_state(trace_path));
    continues = !state.empty();
    if (!continues) remove_trace(trace_path);
  }
  DCMT_ASSIGN_OR_RETURN(Database database, continues ? reopen_trace(trace_path) : create_trace(trace_path));
  DCMT_ASSIGN_OR_RETURN(TraceWriter writer, TraceWriter::create(std::move(database)));
  std::unique_ptr<SpoolDrain> drain(new SpoolDrain(std::move(spool), std::move(writer)));
  const spool::ProcessFacts& facts = drain->spool_.facts();
  const ClockOrigin origin{facts.tsc_hz, facts.start_tsc, facts.start_monotonic_ns};
  RetentionOptions kept = retention;
  kept.only_living = drain->only_blocks();
  DCMT_ASSIGN_OR_RETURN(drain->assembler_, continues ? Assembler::resume(drain->writer_, origin)
                                                     : Assembler::start(drain->writer_, origin, std::move(kept)));
  drain->continues_ = continues;
  if (continues) drain->spool_.skip_to(drain->assembler_->last_seq());
  return drain;
}

Status SpoolDrain::apply_sequenced() {
  for (spool::SequencedRecord record = spool_.next(); record.header != nullptr; record = spool_.next()) {
    DCMT_RETURN_IF_ERROR(assembler_->apply(*record.header, record.thread));
    uncommitted_ = true;
  }
  return {};
}

Expected<std::size_t> SpoolDrain::drain() {
  const std::size_t copied = spool_.read();
  DCMT_RETURN_IF_ERROR(apply_sequenced());
  if (!first_bytes_ && assembler_->totals().allocated_bytes > 0) first_bytes_ = Clock::now();
  return copied;
}

Status SpoolDrain::settle() {
  const bool pressed = spool_.used() > kPressure;
  if (pressed && spool_.waiting() != 0) DCMT_RETURN_IF_ERROR(wait_or_skip_gap());
  return uncommitted_ && (pressed || Clock::now() - last_commit_ > kCommitEvery) ? commit() : Status{};
}

Status SpoolDrain::commit() {
  DCMT_RETURN_IF_ERROR(assembler_->commit({}));
  // From here on the records are safe without the spool.
  spool_.give_back();
  last_commit_ = Clock::now();
  uncommitted_ = false;
  return {};
}

Status SpoolDrain::skip_gap() {
  DCMT_RETURN_IF_ERROR(
      assembler_->losses().gap(spool_.next_sequence(), spool_.waiting() - 1, spool_.damaged_chunks() != 0));
  spool_.skip_gap();
  return apply_sequenced();
}

Status SpoolDrain::wait_or_skip_gap() {
  // Chunks are read one after the other: the missing record may have been published behind the scan.
  DCMT_RETURN_IF_ERROR(drain().status());
  if (spool_.waiting() == 0) return {};
  const auto now = Clock::now();
  if (spool_.next_sequence() != stuck_sequence_) {
    stuck_sequence_ = spool_.next_sequence();
    stuck_since_ = now;
  }
  return now - stuck_since_ < kGivenUpAfter ? Status{} : skip_gap();
}

Status SpoolDrain::drain_rest() {
  // A process that is left while it runs continues to publish: the trace ends with what it has published by now.
  const std::uint64_t end = spool_.last_assigned_sequence();
  std::size_t copied = 0;
  do {
    DCMT_ASSIGN_OR_RETURN(copied, drain());
  } while (copied != 0 && spool_.next_sequence() <= end);
  // The threads that acquired these sequences were killed before their records were complete.
  while (spool_.waiting() != 0) DCMT_RETURN_IF_ERROR(skip_gap());
  return {};
}

Status SpoolDrain::note_losses() {
  if (spool_.damaged_chunks() != 0) {
    if (const std::uint64_t missing = spool_.missing_at_end(); missing != 0) {
      DCMT_RETURN_IF_ERROR(
          assembler_->losses().gap(spool_.next_sequence(), spool_.next_sequence() + missing - 1, true));
    }
    DCMT_RETURN_IF_ERROR(assembler_->losses().damaged_chunks(spool_.damaged_chunks(), spool_.chunks()));
  }
  DCMT_RETURN_IF_ERROR(assembler_->losses().counted(spool_.lost()));
  return assembler_->losses().forked_children(spool_.forked_children());
}

std::optional<double> SpoolDrain::seconds() const {
  if (!first_bytes_) return std::nullopt;
  return std::chrono::duration<double>(Clock::now() - *first_bytes_).count();
}

}  // namespace dcmt::recorder

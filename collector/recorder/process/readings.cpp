#include "collector/recorder/process/readings.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "collector/recorder/target/process_table.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::recorder {
namespace {

using spool::AskedReading;

/// Readings after the program's end: two readings must find that nothing holds a storage.
constexpr int kMostLastReadings = 2;

/// True if the process waits.
bool is_asked(AskedReading word) {
  return word == AskedReading::kEnded || word == AskedReading::kRequested || word == AskedReading::kHeld ||
         word == AskedReading::kUnderWay;
}

}  // namespace

void Readings::begin(pid_t pid, const scan::LayoutFolders& layouts) {
  pid_ = pid;
  variables_ = std::make_unique<MemoryReader>(pid, layouts, scan::Scope::kVariables);
  all_ = std::make_unique<MemoryReader>(pid, layouts, scan::Scope::kAll);
}

Status Readings::poll() {
  if (const std::optional<std::int64_t> outside = samplers_.outside()) objects_.see(*outside);
  if (variables_ != nullptr) DCMT_RETURN_IF_ERROR(read(*variables_, scan::Scope::kVariables));
  if (all_ != nullptr) DCMT_RETURN_IF_ERROR(read(*all_, scan::Scope::kAll));
  if (failed_) {
    variables_.reset();
    all_.reset();
  }
  return is_asked(process_.spool().asked_reading()) ? serve() : Status{};
}

Status Readings::end() {
  if (variables_ != nullptr && variables_->is_reading()) DCMT_RETURN_IF_ERROR(receive(*variables_, true));
  if (all_ != nullptr && all_->is_reading()) DCMT_RETURN_IF_ERROR(receive(*all_, true));
  return too_large_ ? process_.assembler().readings().too_large(*too_large_) : Status();
}

Status Readings::read(MemoryReader& reader, scan::Scope scope) {
  if (reader.is_reading()) DCMT_RETURN_IF_ERROR(receive(reader, false));
  if (reader.is_reading() || failed_) return {};
  const std::optional<double> now = process_.seconds();
  if (!begins_ || !now || program_ended_ || is_asked(process_.spool().asked_reading())) return {};
  const bool is_wanted = (scope == scan::Scope::kAll && extra_ == Extra::kWanted) ||
                         (scope == scan::Scope::kVariables && wants_variables_);
  const bool by_schedule = !process_.only_blocks();
  const bool is_due = is_wanted || (by_schedule && schedule_.is_due(scope, *now, progress()));
  const bool for_objects = by_schedule && !is_due && objects_.is_due(scope, *now);
  // A reading of everything would use the core that a short reading of variables needs.
  if (scope == scan::Scope::kAll && variables_->is_reading()) return {};
  if (!is_due && !for_objects) return {};
  if (scope == scan::Scope::kAll && !reader.fits()) {
    too_large_ = reader.needs();
  } else if (reader.may_start()) {
    start(reader, scope, for_objects);
  }
  return {};
}

Progress Readings::progress() {
  const Totals& totals = process_.assembler().totals();
  highest_ = std::max(highest_, totals.allocated_bytes);
  GrowingBytes growing = process_.assembler().readings().growing();
  // Arrays held by a variable may have caused growth outside torch.
  growing.signs = std::max(growing.signs, samplers_.grown_outside());
  const double now = process_.seconds().value_or(0);
  if (growing.goes_on == 0) grows_from_ = now;
  return {.growing = growing,
          .growing_for = now - grows_from_,
          .has_storages = highest_ >= kFollowedBytes,
          .stepped = totals.steps > 0,
          .held = process_.spool().holds().count > 0,
          .of_peak = highest_ > 0 ? static_cast<double>(totals.allocated_bytes) / static_cast<double>(highest_) : 1};
}

Status Readings::serve() {
  // The process has published its last events before it asked.
  DCMT_RETURN_IF_ERROR(process_.drain().status());
  const AskedReading asked = process_.spool().asked_reading();
  held_ = held_ && asked == AskedReading::kUnderWay;  // else the program has gone on before the answer
  if (asked == AskedReading::kRequested) {
    DCMT_RETURN_IF_ERROR(serve_request());
  } else if (asked == AskedReading::kHeld || held_) {
    serve_hold();
  } else if (!requested_) {
    if (!program_ended_) DCMT_RETURN_IF_ERROR(samplers_.sample_last());
    DCMT_RETURN_IF_ERROR(on_program_end());
  } else if (all_ != nullptr && all_follows_) {
    if (!is_reading() && all_->may_start()) {
      all_follows_ = false;
      start(*all_, scan::Scope::kAll);
    }
  } else if (!is_reading()) {
    // What is said of it is printed before the program goes on, at the next call.
    if (!std::exchange(is_answered_, true)) return process_.assembler().out_of_memory().request_answered();
    requested_ = all_follows_ = is_answered_ = false;
    process_.spool().answer(all_ != nullptr ? AskedReading::kDone : AskedReading::kNotRead);
  }
  return {};
}

Status Readings::serve_request() {
  if (is_reading()) return {};  // it began before the request
  // Where memory has run out, variables are of use without the rest.
  const bool both = !process_.only_blocks();
  if (all_ == nullptr || !begins_ || !process_.seconds() || (both && !all_->fits())) {
    process_.spool().answer(AskedReading::kNotRead);
    DCMT_RETURN_IF_ERROR(process_.assembler().out_of_memory().request_answered());
  } else if (!both || all_->may_start()) {
    requested_ = true;
    all_follows_ = all_->fits();
    process_.spool().answer(AskedReading::kUnderWay);
    start(*variables_, scan::Scope::kVariables);  // to be compared with other readings of them
  }
  return {};
}

void Readings::serve_hold() {
  if (held_) {
    if (variables_ != nullptr && variables_->is_reading() && !variables_->has_holders()) return;
    held_ = false;
    began_[static_cast<std::size_t>(scan::Scope::kVariables)].waited = true;
    return process_.spool().answer(AskedReading::kDone);
  }
  if (variables_ == nullptr || !begins_ || !process_.seconds() || program_ended_)
    return process_.spool().answer(AskedReading::kNotRead);
  if (variables_->is_reading()) return;  // it began before the hold
  held_ = true;
  process_.spool().answer(AskedReading::kUnderWay);
  start(*variables_, scan::Scope::kVariables);
}

Status Readings::on_program_end() {
  program_ended_ = true;
  samplers_.end();
  const Assembler& assembler = process_.assembler();
  const bool reads = is_reading();
  const bool may_read = all_ != nullptr && begins_ && process_.seconds();
  const bool adds =
      may_read && last_readings_ < kMostLastReadings &&
      (assembler.readings().wants_reading() ||
       (last_readings_ == 0 && (assembler.readings().lacks_holders() || objects_.wants_last(scan::Scope::kAll))));
  const bool wants_all = adds && all_->fits(Program::kHasEnded);
  const bool grows_outside = samplers_.grown_outside() > 0 || objects_.wants_last(scan::Scope::kVariables);
  const bool wants_variables =
      may_read && !read_variables_last_ && (grows_outside || assembler.readings().keeps_anything());
  process_.spool().answer(reads || wants_all || wants_variables ? AskedReading::kUnderWay : AskedReading::kDone);
  if (wants_variables && variables_->may_start()) {
    start(*variables_, scan::Scope::kVariables);
    read_variables_last_ = true;
  }
  if (wants_all && all_->may_start(Program::kHasEnded)) {
    start(*all_, scan::Scope::kAll);
    ++last_readings_;
  }
  if (adds && !wants_all) too_large_ = all_->needs();
  return {};
}

void Readings::start(MemoryReader& reader, scan::Scope scope, bool for_objects) {
  Assembler& assembler = process_.assembler();
  const double now = process_.seconds().value_or(0);
  const bool waits = process_.spool().asked_reading() == AskedReading::kUnderWay && (held_ || program_ended_);
  began_[static_cast<std::size_t>(scope)] = {now, progress(), waits, false, program_ended_, for_objects};
  objects_.begin(scope);
  if (scope == scan::Scope::kVariables) wants_variables_ = false;
  assembler.readings().begins(scope);
  if (scope == scan::Scope::kAll && extra_ == Extra::kWanted) extra_ = Extra::kUnderWay;
  scan::CensusOptions options{.smallest = static_cast<std::uint64_t>(assembler.readings().smallest_followed()),
                              .unless_importing = for_objects && scope == scan::Scope::kVariables,
                              .modules = assembler.readings().modules()};
  if (scope == scan::Scope::kAll) {
    options.native = scan::Native::kProved;
    options.in_question = assembler.readings().without_holder(program_ended_);
    options.data = assembler.readings().data_of_storages();
    options.has_ended = program_ended_;
  }
  options.variables = assembler.readings().cpp_variables(pid_);
  options.shapes = assembler.readings().cpp_shapes();
  reader.start(std::move(options));
}

Status Readings::receive(MemoryReader& reader, bool wait) {
  std::optional<Expected<MemoryReading>> reading = reader.receive(wait);
  if (!reading) return {};
  process_.changed();
  if (&reader == all_.get() && extra_ == Extra::kUnderWay) extra_ = Extra::kOver;
  if (!reading->ok()) {
    // Only once for both readers: they fail for the same reasons.
    if (std::exchange(failed_, true)) return {};
    // A process that is ending cannot be read, and does not need to be.
    const spool::ProcessFacts& facts = process_.spool().facts();
    if (const pid_t pid = pid_here(facts.pid, facts.process_start); pid == 0 || is_leaving(pid)) return {};
    return process_.assembler().readings().failed(reading->error().message);
  }
  // Apply first what the process has published up to the end of the reading.
  DCMT_RETURN_IF_ERROR(process_.drain().status());
  MemoryReading done = std::move(**reading);
  if (done.scope == scan::Scope::kAll) too_large_.reset();
  const Began& began = began_[static_cast<std::size_t>(done.scope)];
  done.waited = began.waited || (began.waits && process_.spool().asked_reading() == AskedReading::kUnderWay);
  // What was read while the program ended may be of functions that had returned.
  done.ended = began.ended || program_ended_ || process_.spool().asked_reading() == AskedReading::kEnded;
  objects_.done(done.scope, began.at, began.for_objects ? done.cpu_seconds : 0, done.found);
  // A reading that the program requested does not count for the recorder's share. Holds have a limit of their own.
  if (!began.for_objects && !requested_) {
    schedule_.done(done.scope, began.at, began.waits && !began.ended ? 0 : done.cpu_seconds, began.program);
  }
  DCMT_RETURN_IF_ERROR(process_.assembler().readings().ended(done));
  // Near a limit, the kernel may kill this process next.
  return process_.only_blocks() ? process_.commit() : Status();
}

}  // namespace dcmt::recorder

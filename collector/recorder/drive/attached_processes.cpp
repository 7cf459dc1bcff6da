#include "collector/recorder/drive/attached_processes.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "collector/recorder/drive/record_rounds.h"
#include "collector/recorder/target/kernel_memory.h"
#include "collector/recorder/target/process_table.h"

namespace dcmt::recorder {
namespace {

using Clock = std::chrono::steady_clock;

/// After the condition of `--when`, a program without steps is recorded for this long.
constexpr auto kMostWithoutStep = std::chrono::seconds(60);

}  // namespace

Status AttachedProcesses::begin(std::vector<Attachment> attachments, const OperatorTables& operators,
                                const Watched& watched) {
  watched_ = watched;
  for (Attachment& each : attachments) all_.push_back({std::move(each)});
  for (One& each : all_) DCMT_RETURN_IF_ERROR(each.attachment.ask(operators));
  for (One& each : all_) {
    DCMT_ASSIGN_OR_RETURN(spool::SpoolReader spool,
                          each.attachment.begin([&] { return !signals_.asked_to_end() && drain().ok(); }));
    const spool::ProcessFacts facts = spool.facts();
    const TargetProcess& target = each.attachment.target();
    DCMT_ASSIGN_OR_RETURN(each.recorded, session_.begin({.source = each.attachment.source(),
                                                         .spool = std::move(spool),
                                                         .pid = target.pid,
                                                         .number = static_cast<std::uint32_t>(target.pid),
                                                         .command = target.command,
                                                         .rank = facts.rank >= 0 ? facts.rank : target.launch.rank,
                                                         .world_size = facts.world_size >= 0 ? facts.world_size
                                                                                             : target.launch.world_size,
                                                         .has_past = true}));
  }
  return {};
}

void AttachedProcesses::abandon() {
  session_.abandon();
  all_.clear();
}

Status AttachedProcesses::record() {
  if (!options_.when) counts_from_ = Clock::now();
  const auto round = [this]() -> Expected<Round> {
    DCMT_ASSIGN_OR_RETURN(const std::size_t drained, drain());
    DCMT_RETURN_IF_ERROR(check_condition());
    for (One& each : all_) {
      if (each.recorded == nullptr) continue;
      if (each.attachment.has_ended()) {
        DCMT_RETURN_IF_ERROR(finish(each, false));
      } else if (has_its_steps(each)) {
        DCMT_RETURN_IF_ERROR(leave({&each}));
      }
    }
    line_.update([this](ScreenSize screen) { return status(screen); });
    return Round{drained, session_.idle() || signals_.asked_to_end() || is_time_over()};
  };
  DCMT_RETURN_IF_ERROR(record_rounds(round));
  line_.give_back();
  std::vector<One*> left;
  for (One& each : all_) {
    if (each.recorded != nullptr) left.push_back(&each);
  }
  return leave(left);
}

Expected<std::size_t> AttachedProcesses::drain() {
  DCMT_ASSIGN_OR_RETURN(const std::size_t drained, session_.drain());
  for (One& each : all_) {
    if (each.recorded == nullptr || !each.recorded->recorder->past_is_known()) continue;
    if (!std::exchange(each.past_was_reported, true)) each.attachment.past_is_known();
  }
  return drained;
}

Status AttachedProcesses::check_condition() {
  if (!options_.when || counts_from_) return {};
  const auto first = std::ranges::find_if(all_, [&](const One& each) { return meets(each); });
  if (first == all_.end()) return {};
  counts_from_ = Clock::now();
  steps_when_met_ = session_.steps();
  const std::string note = note_of(*options_.when, watched_, first->recorded->recorder->totals().steps);
  for (One& each : all_) {
    if (each.recorded == nullptr) continue;
    ProcessRecorder& recorder = *each.recorded->recorder;
    // The current step is not a whole one.
    each.steps_before = recorder.totals().steps + 1;
    recorder.request_full_scan();
    DCMT_RETURN_IF_ERROR(recorder.note(note));
  }
  return {};
}

/// Reads rss from the kernel.
bool AttachedProcesses::meets(const One& one) const {
  if (one.recorded == nullptr || !one.recorded->recorder->past_is_known()) return false;
  const Condition& condition = options_.when->condition;
  const Totals totals = one.recorded->recorder->totals();
  switch (condition.what) {
    case Counted::kAllocated:
      return condition.is_met_by(totals.peak_bytes);
    case Counted::kReserved:
      return condition.is_met_by(totals.reserved_peak_bytes);
    case Counted::kResident:
      break;
  }
  const auto memory = kernel_memory(one.recorded->pid);
  return memory && condition.is_met_by(memory->resident);
}

bool AttachedProcesses::has_its_steps(const One& one) const {
  const ProcessRecorder& recorder = *one.recorded->recorder;
  const std::int64_t steps = recorder.totals().steps;
  if (!options_.when) return options_.steps != 0 && steps > options_.steps;
  return one.steps_before != 0 && steps >= one.steps_before + options_.when->after && recorder.has_read_once_more();
}

bool AttachedProcesses::is_time_over() const {
  if (!counts_from_) return false;
  const auto time = Clock::now() - *counts_from_;
  if (options_.duration) return time >= *options_.duration;
  return options_.when && time >= kMostWithoutStep && session_.steps() == steps_when_met_;
}

Status AttachedProcesses::leave(const std::vector<One*>& leaving) {
  // What a program had before is found by a reading, during which the program must be recorded.
  signals_.forget_end();
  const auto waits = [](const One* each) {
    return !each->recorded->recorder->past_is_known() && !each->attachment.has_ended();
  };
  DCMT_RETURN_IF_ERROR(record_rounds([&]() -> Expected<Round> {
    if (std::ranges::none_of(leaving, waits) || signals_.asked_to_end()) return Round{0, true};
    DCMT_ASSIGN_OR_RETURN(const std::size_t drained, drain());
    return Round{drained, false};
  }));
  for (One* each : leaving) {
    const bool ended = each->attachment.has_ended();
    if (!ended) {
      each->recorded->recorder->begin_no_reading();
      DCMT_RETURN_IF_ERROR(each->attachment.leave([this] { return drain().ok(); }));
    }
    DCMT_RETURN_IF_ERROR(finish(*each, !ended));
  }
  return {};
}

Status AttachedProcesses::finish(One& one, bool left) {
  const ProcessRecorder& recorder = *one.recorded->recorder;
  const auto is_alive = [&] { return ProcessRecorder::is_alive(recorder.spool().facts()); };
  // The connection is closed both by a process that ends and by one from which somebody else has detached.
  constexpr int kMostPauses = 20;
  for (int i = 0; !left && i < kMostPauses && recorder.spool().state() != spool::AgentState::kFinished; ++i) {
    if (!is_alive()) break;
    std::this_thread::sleep_for(kPause);
  }
  const bool lives = is_alive() && !is_leaving(one.recorded->pid);
  return session_.finish(*std::exchange(one.recorded, nullptr), lives ? "still running" : recorder.unseen_exit());
}

std::string AttachedProcesses::status(ScreenSize screen) {
  const std::string waits =
      options_.when && !counts_from_ ? "waits for " + text_of(options_.when->condition) + " · " : "";
  std::string text = waits + session_.status_line();
  return options_.live ? live_.view(session_, std::move(text), screen) : text;
}

}  // namespace dcmt::recorder

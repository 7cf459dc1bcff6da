#include "collector/recorder/process/past_reading.h"

#include <chrono>
#include <optional>
#include <thread>

#include "trace/base/detail.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::recorder {
namespace {

/// An incomplete record hides the records after it. Its thread may have been killed.
constexpr auto kMostUntilComplete = std::chrono::milliseconds(100);
constexpr char kTooShort[] = "the recording ended before its memory was read";

}  // namespace

void PastReading::hold_published() {
  spool::SpoolReader& spool = process_.spool();
  spool.read();
  for (spool::SequencedRecord record = spool.next(); record.header != nullptr; record = spool.next()) {
    book_.see(*record.header);
    records_.emplace_back(words_.size(), record.thread);
    const auto* words = reinterpret_cast<const std::uint64_t*>(record.header);
    words_.insert(words_.end(), words, words + record.header->words);
  }
}

Status PastReading::apply_held() {
  process_.changed();
  for (const auto& [begin, thread] : records_) {
    const auto& header = reinterpret_cast<const wire::RecordHeader&>(words_[begin]);
    DCMT_RETURN_IF_ERROR(process_.assembler().apply(header, thread));
  }
  return {};
}

Status PastReading::give_up(const std::string& why) {
  const auto begin_ns = static_cast<std::int64_t>(process_.spool().facts().start_monotonic_ns);
  DCMT_RETURN_IF_ERROR(process_.assembler().past_is_unknown(why, begin_ns));
  return apply_held();
}

Expected<bool> PastReading::poll() {
  const auto over = [](const Status& status) { return status.ok() ? Expected<bool>(true) : status.error(); };
  MemoryReader* const reader = readings_.reader();
  if (reader == nullptr) return over(give_up("its memory is not read"));
  if (!std::exchange(reads_, true)) reader->start({.smallest = kFollowedBytes, .living = true});
  hold_published();
  const std::optional<Expected<MemoryReading>> reading = reader->receive(false);
  if (!reading) return false;
  for (auto until = std::chrono::steady_clock::now() + kMostUntilComplete;;) {
    hold_published();
    if (process_.spool().waiting() == 0 || std::chrono::steady_clock::now() > until) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!reading->ok()) {
    readings_.give_up();
    return over(give_up(reading->error().message));
  }
  // After that, begins and ends are not observed.
  if (process_.spool().state() != spool::AgentState::kRecording) return over(give_up(kTooShort));
  const MemoryReading& done = **reading;
  const spool::ProcessFacts& facts = process_.spool().facts();
  const std::int64_t smallest = facts.detail <= Detail::kLifetimes ? kFollowedBytes : 1;
  Assembler& assembler = process_.assembler();
  DCMT_RETURN_IF_ERROR(assembler.begin_past(book_.reconcile(done.found.living), book_.gpu_blocks(), smallest,
                                            static_cast<std::int64_t>(facts.start_monotonic_ns),
                                            static_cast<std::int64_t>(facts.first_seq)));
  is_known_ = true;
  assembler.readings().begins(scan::Scope::kAll);
  DCMT_RETURN_IF_ERROR(apply_held());
  return over(assembler.readings().ended(done));
}

Status PastReading::end() {
  hold_published();
  DCMT_RETURN_IF_ERROR(give_up(kTooShort));
  if (readings_.reader() != nullptr) (void)readings_.reader()->receive(true);
  return {};
}

}  // namespace dcmt::recorder

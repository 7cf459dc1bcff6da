#include "collector/recorder/assemble/threads.h"

#include <cstring>

#include "trace/sql/row_io.h"

namespace dcmt::recorder {
namespace {

/// Limit of the cache: a census only asks for live threads. More at the same time are rare; then the trace is read
/// again.
constexpr std::size_t kMostAsked = 4096;

}  // namespace

bool Threads::note(std::uint32_t number) {
  last_ = number;
  std::uint64_t& bits = seen_[number / 64];
  const std::uint64_t bit = std::uint64_t{1} << number % 64;
  const bool is_new = (bits & bit) == 0;
  bits |= bit;
  return is_new;
}

Status Threads::resume() {
  return each_row_of<ThreadRow>(journal_.writer.database(), "",
                                [this](const ThreadRow& row) { note(static_cast<std::uint32_t>(row.id)); });
}

Status Threads::begins(const wire::ThreadRecord& record) {
  DCMT_ASSIGN_OR_RETURN(RowId name, journal_.writer.intern({record.name, strnlen(record.name, sizeof record.name)}));
  note(journal_.thread);
  asked_.erase(record.tid);  // the kernel has reused the id for a new thread
  return journal_.writer.write(ThreadRow{journal_.thread, static_cast<std::int64_t>(record.tid), name, journal_.now});
}

Status Threads::see() {
  if (last_ == journal_.thread || !note(journal_.thread)) return {};
  return journal_.writer.write(ThreadRow{journal_.thread, 0, 0, journal_.now});
}

std::optional<std::int64_t> Threads::with_tid(std::uint64_t tid) {
  if (const auto found = asked_.find(tid); found != asked_.end()) return found->second;
  Expected<Statement> query = journal_.writer.database().prepare(
      "SELECT id FROM thread WHERE tid = ?1 AND tid != 0 ORDER BY from_seq DESC LIMIT 1");
  if (!query.ok()) return std::nullopt;
  query->bind(1, static_cast<std::int64_t>(tid));
  const Expected<bool> row = query->step();
  if (!row.ok() || !*row) return std::nullopt;
  if (asked_.size() == kMostAsked) asked_.clear();
  return asked_[tid] = query->integer(0);
}

}  // namespace dcmt::recorder

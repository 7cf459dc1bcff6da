#include "collector/recorder/assemble/loss_book.h"

#include <algorithm>
#include <limits>
#include <string>

#include "collector/recorder/keep/saturating_sum.h"

namespace dcmt::recorder {
namespace {

constexpr char kNoRoom[] = "no_room", kInFlight[] = "in_flight";
/// More in one record are damage.
constexpr std::uint64_t kMostLost = std::numeric_limits<std::int32_t>::max();

std::string_view loss_text(std::uint32_t reason) {
  switch (static_cast<wire::LossReason>(reason)) {
    case wire::LossReason::kNoRoom:
      return kNoRoom;
    case wire::LossReason::kInFlight:
      return kInFlight;
  }
  return {};
}

}  // namespace

Status LossBook::lost(const wire::LostRecord& record, std::int64_t since_ns) {
  const std::string_view reason = loss_text(record.header.aux);
  if (reason.empty() || record.count > kMostLost) return journal_.bad_record("a loss");
  return write(reason, static_cast<std::int64_t>(record.count), std::clamp<std::int64_t>(since_ns, 0, journal_.now.ns));
}

Status LossBook::write(std::string_view reason, std::int64_t count, std::optional<std::int64_t> since_ns) {
  count_ = saturating_sum(count_, count);
  LossRow row;
  row.id = journal_.ids.loss++;
  row.reason = reason;
  row.count = count;
  row.from_seq = row.to_seq = journal_.now.seq;
  row.ns = journal_.now.ns;
  row.from_ns = since_ns;
  return journal_.writer.write(row);
}

Status LossBook::gap(std::uint64_t from, std::uint64_t to, bool damaged) {
  if (from == 0 || to < from || to > wire::kMaxSequence) return {};
  LossRow row;
  row.id = journal_.ids.loss++;
  row.reason = damaged ? "damaged" : kInFlight;
  row.count = static_cast<std::int64_t>(to - from + 1);
  row.from_seq = static_cast<std::int64_t>(from);
  row.to_seq = static_cast<std::int64_t>(to);
  row.ns = journal_.now.ns;
  count_ = saturating_sum(count_, row.count);
  journal_.now.seq = std::max(journal_.now.seq, row.to_seq);
  return journal_.writer.write(row);
}

Status LossBook::damaged_chunks(std::uint64_t damaged, std::uint64_t all) {
  return journal_.diagnose("spool_damaged", std::to_string(damaged) + " of the " + std::to_string(all) +
                                                " chunks of the spool could not be read to their end: what they had "
                                                "is missing here");
}

Status LossBook::counted(std::uint64_t counted) {
  // The counter is in shared memory that the job can write to.
  if (counted > kMostLost) return journal_.bad_record("the count of losses");
  // Read it from the rows, which exist after any resume.
  std::int64_t declared = 0;
  DCMT_RETURN_IF_ERROR(each_row(journal_.writer.database(),
                                "SELECT coalesce(sum(count), 0) FROM loss WHERE reason = 'no_room'",
                                [&](const Statement& row) { declared = row.integer(0); }));
  const std::int64_t missing = static_cast<std::int64_t>(counted) - declared;
  return missing > 0 ? write(kNoRoom, missing, std::nullopt) : Status{};
}

Status LossBook::forked_children(std::uint32_t count) {
  if (count == 0) return {};
  const std::string who = count == 1 ? "a forked child is" : std::to_string(count) + " forked children are";
  return journal_.diagnose("note", who + " not recorded and made tensors; what starts by exec (spawn) is recorded");
}

Status LossBook::commit() {
  LossRow row;
  row.count = journal_.rows.left_out();
  if (row.count == 0) return {};
  if (left_out_row_ == 0) left_out_row_ = journal_.ids.loss++;
  row.id = left_out_row_;
  row.reason = "over --max-disk";
  row.from_seq = row.to_seq = journal_.now.seq;
  row.ns = journal_.now.ns;
  return journal_.writer.write(row);
}

}  // namespace dcmt::recorder

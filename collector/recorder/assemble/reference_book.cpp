#include "collector/recorder/assemble/reference_book.h"

#include <algorithm>
#include <iterator>

namespace dcmt::recorder {

Status ReferenceBook::resume() {
  return journal_.writer.database().execute("UPDATE watched_count SET lost = lost + 1 WHERE to_seq IS NULL");
}

Status ReferenceBook::begin(const wire::ReferenceRecord& record) {
  const std::uint32_t of = record.header.aux >> wire::kCountOfShift & 0xff;
  if (of >= std::size(WatchedCountRow::kSubjects)) return journal_.bad_record("a reference count");
  Open& open = open_[record.word];
  open = {};
  open.row.id = journal_.now.seq;
  open.row.subject = WatchedCountRow::kSubjects[of];
  open.row.how = WatchedCountRow::kHow[(record.header.aux & wire::kCountAtOperators) != 0 ? 1 : 0];
  open.row.storage = lifetimes_.storage(record.storage);
  open.row.tensor = record.tensor != 0 ? lifetimes_.tensor(record.tensor) : 0;
  open.row.first = open.row.last = static_cast<std::int64_t>(record.after);
  open.row.lost = static_cast<std::int64_t>(record.lost);
  open.row.span.from = journal_.now;
  journal_.rows.keep_storage(open.row.storage);
  return {};
}

Status ReferenceBook::change(Open& open, const wire::ReferenceRecord& record) {
  open.row.last = static_cast<std::int64_t>(record.after);
  if (journal_.rows.full()) {
    ++open.row.lost;
    return {};
  }
  ++open.row.changes;
  CountChangeRow row;
  row.id = journal_.now.seq;
  row.ns = journal_.now.ns;
  row.watched = open.row.id;
  row.before = static_cast<std::int64_t>(record.before);
  row.after = static_cast<std::int64_t>(record.after);
  DCMT_ASSIGN_OR_RETURN(row.where, lifetimes_.place(record.stack));
  DCMT_ASSIGN_OR_RETURN(row.native, stacks_.row(record.native));
  return journal_.writer.write(row);
}

Status ReferenceBook::reference(const wire::ReferenceRecord& record) {
  constexpr std::uint64_t kMostReferences = 0xffffffffu;
  if (record.before > kMostReferences || record.after > kMostReferences) {
    return journal_.bad_record("a reference count");
  }
  const auto event = static_cast<wire::ReferenceEvent>(record.header.aux & 0xff);
  if (event == wire::ReferenceEvent::kBegin) return begin(record);
  const auto known = open_.find(record.word);
  if (known == open_.end()) return {};
  Open& open = known->second;
  open.written = false;
  if (event == wire::ReferenceEvent::kChange) {
    return change(open, record);
  }
  open.row.last = static_cast<std::int64_t>(record.after);
  open.row.lost = std::max(open.row.lost, static_cast<std::int64_t>(record.lost));
  if (event == wire::ReferenceEvent::kCheck) return {};
  open.row.ended = true;
  open.row.span.to = journal_.now;
  const WatchedCountRow row = open.row;
  open_.erase(known);
  return journal_.writer.write(row);
}

Status ReferenceBook::commit() {
  for (auto& [word, open] : open_) {
    if (open.written) continue;
    DCMT_RETURN_IF_ERROR(journal_.writer.write(open.row));
    open.written = true;
  }
  return {};
}

}  // namespace dcmt::recorder

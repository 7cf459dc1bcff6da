#include "collector/recorder/keep/journal.h"

#include <string>

namespace dcmt::recorder {
namespace {

constexpr std::uint64_t kMaxBadRecords = 1000;

}  // namespace

Status Journal::diagnose(std::string_view code, std::string_view text) {
  DCMT_ASSIGN_OR_RETURN(RowId id, writer.intern(text));
  DiagnosticRow row;
  row.id = ids.diagnostic++;
  row.at = now;
  row.code = code;
  row.text = id;
  return writer.write(row);
}

Status Journal::bad_record(std::string_view what) {
  ++bad_records;
  if (bad_records > kMaxBadRecords) return {};
  if (bad_records == kMaxBadRecords) return diagnose("bad_record", "more records made no sense; they are not listed");
  return diagnose("bad_record", std::string(what) + " made no sense and was skipped");
}

Status Journal::load_ids() {
  struct Counter {
    const char* sql;
    RowId* next;
  };
  for (const Counter& counter :
       {Counter{"SELECT max(id) FROM mark", &ids.mark}, Counter{"SELECT max(id) FROM sample", &ids.sample},
        Counter{"SELECT max(id) FROM edge", &ids.edge}, Counter{"SELECT max(id) FROM diagnostic", &ids.diagnostic},
        Counter{"SELECT max(id) FROM loss", &ids.loss}}) {
    DCMT_RETURN_IF_ERROR(
        each_row(writer.database(), counter.sql, [&](const Statement& row) { *counter.next = row.integer(0) + 1; }));
  }
  return {};
}

}  // namespace dcmt::recorder

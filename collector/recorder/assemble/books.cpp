#include "collector/recorder/assemble/books.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "trace/sql/meta_keys.h"

namespace dcmt::recorder {
namespace {

/// Private meta key, removed by finish().
constexpr char kDrained[] = "drained";

}  // namespace

Books::Books(TraceWriter& writer, PrivateState state, const ClockOrigin& origin, RetentionOptions retention)
    : journal{writer, std::move(state), RowKeeper(writer, std::move(retention))},
      clock(journal, origin),
      dictionary(journal),
      phases(journal),
      operators(journal, dictionary, phases),
      censuses(journal, dictionary, census_context()),
      owners(journal, modules),
      lifetimes(journal, dictionary, operators, censuses, owners, streams, growth, modules),
      marks(journal, dictionary, lifetimes, phases),
      references(journal, code_stacks, lifetimes),
      stream_calls(journal, dictionary, streams, lifetimes),
      gpu_work(journal, dictionary, streams, lifetimes),
      out_of_memory(journal, operators, lifetimes, marks, censuses, owners, places) {}

CensusContext Books::census_context() {
  CensusContext context;
  context.storage = [this](std::uint64_t address) { return lifetimes.storage(address); };
  context.tensor = [this](std::uint64_t address) { return lifetimes.tensor(address); };
  context.tensor_birth = [this](std::uint64_t address) { return lifetimes.tensor_from(address); };
  context.thread = [this](std::uint64_t tid) { return threads.with_tid(tid); };
  context.latest_release = [this](std::int64_t graph, std::int64_t key) { return marks.latest_release(graph, key); };
  context.running_operator = [this] { return operators.running(); };
  return context;
}

template <class Visit>
void Books::visit(Visit&& visit) {
  visit("records", records);
  visit("past", has_past);
  visit("records.bad", journal.bad_records);
  losses.visit(visit);
  clock.visit(visit);
  phases.visit(visit);
  lifetimes.visit(visit);
  segments.visit(visit);
  censuses.visit(visit);
  out_of_memory.visit(visit);
}

Status Books::start() {
  DCMT_RETURN_IF_ERROR(journal.writer.begin());
  DCMT_RETURN_IF_ERROR(dictionary.start());
  return phases.start();
}

Status Books::resume() {
  DCMT_ASSIGN_OR_RETURN(auto values, journal.state.values());
  visit([&](const char* name, auto& value) {
    const auto saved = values.find(std::string_view(name));
    if (saved != values.end()) value = static_cast<std::remove_reference_t<decltype(value)>>(saved->second);
  });
  DCMT_RETURN_IF_ERROR(each_row(journal.writer.database(), "SELECT key, value FROM meta", [this](const Statement& row) {
    if (row.text(0) == kDrained) drained = row.text(1);
    if (row.text(0) == meta::kLastSeq) journal.now.seq = std::max(journal.now.seq, row.integer(1));
    if (row.text(0) == meta::kEndNs) journal.now.ns = std::max(journal.now.ns, row.integer(1));
  }));
  DCMT_RETURN_IF_ERROR(threads.resume());
  DCMT_RETURN_IF_ERROR(journal.load_ids());
  DCMT_RETURN_IF_ERROR(journal.writer.begin());
  DCMT_RETURN_IF_ERROR(dictionary.start());
  DCMT_RETURN_IF_ERROR(journal.rows.resume());
  DCMT_RETURN_IF_ERROR(dictionary.resume());
  DCMT_RETURN_IF_ERROR(operators.resume());
  DCMT_RETURN_IF_ERROR(phases.start());
  phases.resume();
  natives.resume();
  DCMT_RETURN_IF_ERROR(streams.resume());
  DCMT_RETURN_IF_ERROR(segments.resume());
  DCMT_RETURN_IF_ERROR(modules.resume());
  DCMT_RETURN_IF_ERROR(lifetimes.resume());
  DCMT_RETURN_IF_ERROR(marks.resume());
  DCMT_RETURN_IF_ERROR(references.resume());
  return censuses.resume();
}

Status Books::write_open_rows() {
  DCMT_RETURN_IF_ERROR(operators.commit());
  DCMT_RETURN_IF_ERROR(phases.commit());
  DCMT_RETURN_IF_ERROR(lifetimes.commit());
  DCMT_RETURN_IF_ERROR(segments.commit());
  DCMT_RETURN_IF_ERROR(marks.commit());
  DCMT_RETURN_IF_ERROR(censuses.commit());
  DCMT_RETURN_IF_ERROR(references.commit());
  DCMT_RETURN_IF_ERROR(dictionary.commit());
  DCMT_RETURN_IF_ERROR(journal.writer.set_meta(meta::kLastSeq, journal.now.seq));
  DCMT_RETURN_IF_ERROR(journal.writer.set_meta(meta::kEndNs, journal.now.ns));
  DCMT_RETURN_IF_ERROR(clock.commit());
  DCMT_RETURN_IF_ERROR(journal.writer.set_meta(meta::kUnseenBirths, lifetimes.unseen_births()));
  DCMT_RETURN_IF_ERROR(journal.writer.set_meta(meta::kUnseenChanges, lifetimes.unseen_changes()));
  DCMT_RETURN_IF_ERROR(journal.writer.set_meta(meta::kLostDeaths, lifetimes.lost_deaths()));
  return journal.writer.set_meta(meta::kRecords, records);
}

Status Books::commit(std::string_view new_drained) {
  DCMT_RETURN_IF_ERROR(write_open_rows());
  if (records != 0 || has_past) DCMT_RETURN_IF_ERROR(journal.rows.commit(journal.now));
  DCMT_RETURN_IF_ERROR(losses.commit());
  Status saved;
  visit([&](const char* name, const auto& value) {
    if (saved.ok()) saved = journal.state.set(name, static_cast<std::int64_t>(value));
  });
  DCMT_RETURN_IF_ERROR(saved);
  drained = new_drained;
  DCMT_RETURN_IF_ERROR(journal.writer.set_meta(kDrained, drained));
  DCMT_RETURN_IF_ERROR(journal.writer.commit());
  return journal.writer.begin();
}

Status Books::finish() {
  DCMT_RETURN_IF_ERROR(phases.finish());
  DCMT_RETURN_IF_ERROR(censuses.finish());
  DCMT_RETURN_IF_ERROR(out_of_memory.finish());
  DCMT_RETURN_IF_ERROR(write_open_rows());
  DCMT_RETURN_IF_ERROR(segments.finish());
  DCMT_RETURN_IF_ERROR(natives.finish());
  if (records != 0 || has_past) DCMT_RETURN_IF_ERROR(journal.rows.finish(journal.now));
  DCMT_RETURN_IF_ERROR(censuses.see_sources_of_held(readings.files()));
  DCMT_RETURN_IF_ERROR(losses.commit());
  DCMT_RETURN_IF_ERROR(journal.state.drop());
  DCMT_RETURN_IF_ERROR(journal.writer.database().execute("DELETE FROM meta WHERE key = 'drained'"));
  return journal.writer.commit();
}

}  // namespace dcmt::recorder

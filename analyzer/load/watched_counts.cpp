#include "analyzer/load/watched_counts.h"

#include <algorithm>

#include "analyzer/load/table_reader.h"

namespace dcmt::analyzer {
std::span<const CountChange> WatchedCounts::changes_of(WatchedCountId count) const {
  const auto found = std::ranges::equal_range(changes, count, {}, &CountChange::watched);
  return {found.begin(), found.end()};
}

Expected<WatchedCounts> WatchedCounts::load(Database& database) {
  WatchedCounts watched;
  DCMT_RETURN_IF_ERROR(read_rows<WatchedCount>(
      database, "ORDER BY id", [&](const WatchedCount& count) { watched.counts.push_back(count); },
      column<&WatchedCountRow::id, &WatchedCount::id>(),
      column<&WatchedCountRow::subject>(
          [](WatchedCount& count, std::string_view text) { count.subject = subject_named(text); }),
      column<&WatchedCountRow::storage, &WatchedCount::storage>(),
      column<&WatchedCountRow::tensor, &WatchedCount::tensor>(),
      column<&WatchedCountRow::how>(
          [](WatchedCount& count, std::string_view how) { count.at_operators = how != "watchpoint"; }),
      column<&WatchedCountRow::first, &WatchedCount::first>(), column<&WatchedCountRow::last, &WatchedCount::last>(),
      column<&WatchedCountRow::lost, &WatchedCount::lost>(), column<&WatchedCountRow::ended, &WatchedCount::ended>(),
      column<&WatchedCountRow::span, &WatchedCount::span>()));
  DCMT_RETURN_IF_ERROR(read_rows<CountChange>(
      database, "ORDER BY watched, id", [&](const CountChange& change) { watched.changes.push_back(change); },
      column<&CountChangeRow::id, &CountChange::seq>(), column<&CountChangeRow::ns, &CountChange::ns>(),
      column<&CountChangeRow::watched, &CountChange::watched>(),
      column<&CountChangeRow::before, &CountChange::before>(), column<&CountChangeRow::after, &CountChange::after>(),
      column<&CountChangeRow::where, &CountChange::by>(), column<&CountChangeRow::native, &CountChange::native>()));
  return watched;
}

}  // namespace dcmt::analyzer

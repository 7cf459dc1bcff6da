// The live object at each address: rows that have begun and not ended.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/recorder/keep/row_keeper.h"
#include "trace/base/status.h"
#include "trace/tables/point.h"

namespace dcmt::recorder {

/// `Row` is a lifetime row with `id` and `span`. A row is written once, when its lifetime ends; a commit writes it
/// earlier if it is alive or has changed.
/// Thread-safety: none.
template <class Row>
class LiveTable {
 public:
  struct Entry {
    Row row;
    bool stored = false;  ///< the trace has this state of the row
  };

  /// nullptr if no object lives there. Valid until the next begin() or end().
  Entry* find(std::uint64_t address) {
    const auto entry = entries_.find(address);
    return entry != entries_.end() ? &entry->second : nullptr;
  }

  Entry& begin(std::uint64_t address, Row row) {
    Entry& entry = entries_[address];
    entry = Entry{std::move(row), false};
    fresh_.push_back(address);
    return entry;
  }

  /// Adds a row that is in the trace already.
  void restore(std::uint64_t address, Row row) { entries_[address] = Entry{std::move(row), true}; }

  /// The row has changed before its end.
  void touch(std::uint64_t address, Entry& entry) {
    if (entry.stored) fresh_.push_back(address);
    entry.stored = false;
  }

  Status end(RowKeeper& rows, std::uint64_t address, const Point& at) {
    const auto entry = entries_.find(address);
    if (entry == entries_.end()) return {};
    entry->second.row.span.to = at;
    DCMT_RETURN_IF_ERROR(rows.write(entry->second.row));
    entries_.erase(entry);
    return {};
  }

  /// Removes the object at the address; the caller decides what happens to its row.
  std::optional<Row> extract(std::uint64_t address) {
    const auto entry = entries_.extract(address);
    return entry.empty() ? std::nullopt : std::optional(entry.mapped().row);
  }

  template <class Visit>
  void each(Visit&& visit) const {
    for (const auto& [address, entry] : entries_) visit(entry.row);
  }

  Status commit(RowKeeper& rows) {
    for (const std::uint64_t address : fresh_) {
      Entry* entry = find(address);
      if (entry == nullptr || entry->stored) continue;
      DCMT_RETURN_IF_ERROR(rows.write_open(entry->row));
      entry->stored = true;
    }
    fresh_.clear();
    return {};
  }

 private:
  std::unordered_map<std::uint64_t, Entry> entries_;
  std::vector<std::uint64_t> fresh_;
};

}  // namespace dcmt::recorder

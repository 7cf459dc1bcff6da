// The live object at each address: rows that have begun and not ended.
#pragma once

#include <cstddef>
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
    fresh_.push_back(address);
    Entry entry{std::move(row), false};
    if (spare_.empty()) return entries_.insert_or_assign(address, std::move(entry)).first->second;
    spare_.back().key() = address;
    spare_.back().mapped() = std::move(entry);
    auto place = entries_.insert(std::move(spare_.back()));
    spare_.pop_back();
    if (!place.inserted) place.position->second = std::move(place.node.mapped());
    return place.position->second;
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
    spare(entries_.extract(entry));
    return {};
  }

  /// Removes the object at the address; the caller decides what happens to its row.
  std::optional<Row> extract(std::uint64_t address) {
    auto entry = entries_.extract(address);
    if (entry.empty()) return std::nullopt;
    std::optional<Row> row(std::move(entry.mapped().row));
    spare(std::move(entry));
    return row;
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
  using Entries = std::unordered_map<std::uint64_t, Entry>;
  static constexpr std::size_t kMostSpare = 4096;

  void spare(typename Entries::node_type node) {
    if (spare_.size() < kMostSpare) spare_.push_back(std::move(node));
  }

  Entries entries_;
  std::vector<typename Entries::node_type> spare_;  ///< of objects that have ended: for the next ones
  std::vector<std::uint64_t> fresh_;
};

}  // namespace dcmt::recorder

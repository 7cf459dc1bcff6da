// Writes which records are missing in a trace, and which rows were left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class LossBook {
 public:
  explicit LossBook(Journal& journal) : journal_(journal) {}

  /// Records that the agent declared lost.
  /// @param since_ns  when the first of them was lost
  Status lost(const wire::LostRecord& record, std::int64_t since_ns);
  /// The records with sequences `from` to `to` will never arrive: their threads were killed, or they may have been in a
  /// damaged part of the spool.
  Status gap(std::uint64_t from, std::uint64_t to, bool damaged = false);
  /// How many of a spool's chunks could not be read completely.
  Status damaged_chunks(std::uint64_t damaged, std::uint64_t all);
  /// What the agent has counted as lost but has never reported: `counted` is its total. Call it last.
  Status counted(std::uint64_t counted);
  /// How many forked children allocated memory and are not in the trace.
  Status forked_children(std::uint32_t count);
  /// Writes the number of omitted lifetimes, if there are any.
  Status commit();

  /// Records that the agent or the recorder has counted as lost.
  [[nodiscard]] std::int64_t count() const { return count_; }

  template <class Visit>
  void visit(Visit&& visit) {
    visit("records.lost", count_);
  }

 private:
  Status write(std::string_view reason, std::int64_t count, std::optional<std::int64_t> since_ns);

  Journal& journal_;
  std::int64_t count_ = 0;
  RowId left_out_row_ = 0;  ///< row with the number of omitted lifetimes
};

}  // namespace dcmt::recorder

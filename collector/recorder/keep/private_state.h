// The state that a killed recorder leaves for the next one: tables in the unfinished trace that readers ignore and that
// the finish drops. The rest follows from the rows: a live object has a row without an end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "trace/base/status.h"
#include "trace/sql/database.h"
#include "trace/tables/point.h"

namespace dcmt::recorder {

/// The meaning of a row of wire_id.
enum class WireIdKind : std::int64_t {
  kString = 1,         ///< wire string id -> string row
  kStack = 2,          ///< wire stack id -> stack row
  kMark = 3,           ///< wire mark id -> open mark row
  kMissingString = 4,  ///< like kString, but its text has not arrived yet
  kMissingStack = 5,   ///< like kStack, but its frames have not arrived yet
  kMissingCode = 6,    ///< wire code id -> frame row that waits for the code object
  kStream = 7,         ///< CUDA's handle of a stream -> its number
  kModule = 8,         ///< address of a module -> module row
};

/// Thread-safety: none.
class PrivateState {
 public:
  /// Creates the tables unless they exist. `database` must outlive the result.
  static Expected<PrivateState> create(Database& database);

  Status add_id(WireIdKind kind, std::uint64_t wire, RowId id);
  Status remove_id(WireIdKind kind, std::uint64_t wire, RowId id);
  Status each_id(const std::function<void(WireIdKind, std::uint64_t wire, RowId id)>& visit);

  /// Stores a whole wire record for replay, with its time and a row id that was only available at that time.
  Status keep_record(const Point& at, std::uint32_t thread, RowId resolved, std::string_view bytes);
  Status drop_record(std::int64_t seq);
  Status each_record(const std::function<Status(const Point& at, std::uint32_t thread, RowId resolved,
                                                std::string_view bytes)>& visit);

  Status set(std::string_view key, std::int64_t value);
  Expected<std::map<std::string, std::int64_t, std::less<>>> values();

  /// Removes the tables; no other function may be called afterwards.
  Status drop();

 private:
  PrivateState(Database& database, Statement add_id, Statement remove_id, Statement keep, Statement drop, Statement set)
      : database_(&database),
        add_id_(std::move(add_id)),
        remove_id_(std::move(remove_id)),
        keep_(std::move(keep)),
        drop_(std::move(drop)),
        set_(std::move(set)) {}

  Database* database_;
  Statement add_id_, remove_id_, keep_, drop_, set_;
};

}  // namespace dcmt::recorder

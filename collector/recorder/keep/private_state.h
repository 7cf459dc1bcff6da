// What a killed recorder leaves for the one that continues: tables inside the unfinished trace that readers do not know
// and that finish drops. Rows tell the rest: whatever still lives has a row without an end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "trace/base/status.h"
#include "trace/sql/database.h"
#include "trace/sql/rows.h"

namespace dcmt::recorder {

/// What a row of wire_id says.
enum class WireIdKind : std::int64_t {
  kString = 1,         ///< wire string id -> string row
  kStack = 2,          ///< wire stack id -> stack row
  kMark = 3,           ///< wire mark id -> open mark row
  kMissingString = 4,  ///< as kString, but its text has not come yet
  kMissingStack = 5,   ///< as kStack, but its frames have not come yet
  kMissingCode = 6,    ///< wire code id -> frame row that waits for the code object
  kStream = 7,         ///< CUDA's handle of a stream -> its number
};

/// Thread-safety: none.
class PrivateState {
 public:
  /// Creates the tables where they do not exist. `database` must outlive the result.
  static Expected<PrivateState> create(Database& database);

  Status add_id(WireIdKind kind, std::uint64_t wire, RowId id);
  Status remove_id(WireIdKind kind, std::uint64_t wire, RowId id);
  Status each_id(const std::function<void(WireIdKind, std::uint64_t wire, RowId id)>& visit);

  /// Keeps a whole wire record for replay, with its time and a row id that only its own moment could tell.
  Status keep_record(const Moment& at, std::uint32_t thread, RowId resolved, std::string_view bytes);
  Status drop_record(std::int64_t seq);
  Status each_record(const std::function<Status(const Moment& at, std::uint32_t thread, RowId resolved,
                                                std::string_view bytes)>& visit);

  Status set(std::string_view key, std::int64_t value);
  Expected<std::map<std::string, std::int64_t, std::less<>>> values();

  /// Removes the tables; nothing else may be called afterwards.
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

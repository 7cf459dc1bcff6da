// One process in standby that is recorded, over its connection.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>

#include "collector/recorder/assemble/operator_toml.h"
#include "collector/recorder/drive/attach_options.h"
#include "collector/recorder/target/standby_connection.h"
#include "collector/recorder/target/target_process.h"
#include "trace/base/descriptor.h"
#include "trace/base/status.h"
#include "trace/spool/spool_reader.h"

namespace dcmt::recorder {

/// Called while the process is waited for: false cancels.
using Meanwhile = std::function<bool()>;

/// Thread-safety: none.
class Attachment {
 public:
  /// @param options  must outlive this object
  Attachment(const AttachOptions& options, TargetProcess target, StandbyConnection connection)
      : options_(options), target_(std::move(target)), connection_(std::move(connection)) {}

  /// Asks the process to record, into a new spool.
  Status ask(const OperatorTables& operators);
  /// Waits until the process records, and opens its spool; an error says why it does not record.
  Expected<spool::SpoolReader> begin(const Meanwhile& meanwhile);
  /// Informs the process that what it had before has been read.
  void past_is_known();
  /// The process removes its hooks; afterwards all its records are published.
  Status leave(const Meanwhile& meanwhile);

  /// The process has closed the connection, or somebody else has detached from it.
  [[nodiscard]] bool has_ended() const { return connection_.has_ended(); }
  [[nodiscard]] const TargetProcess& target() const { return target_; }
  /// Replaces the name of the spool's file, which has no path.
  [[nodiscard]] std::string source() const;

 private:
  const AttachOptions& options_;
  TargetProcess target_;
  StandbyConnection connection_;
  Descriptor memory_;
};

}  // namespace dcmt::recorder

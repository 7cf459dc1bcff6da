// What a recorder that was killed left behind: its traces are finished from the spools.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::recorder {

/// Asked of every trace before its spool is removed: whether it can be read. The error is one line that names the
/// trace.
using TraceCheck = std::function<Status(const std::string& trace)>;

/// Finishes the traces of a run whose recorder died; does nothing where none is left to finish. One process at a time:
/// another one waits. Returns lines for a person: what could not be read or finished, and why; the spools of those are
/// kept. Fails with kCannotRecord if one of the run's processes is still alive, with kBadInput if run.json cannot be
/// one of ours.
Expected<std::vector<std::string>> finish_interrupted_run(const std::string& folder, const TraceCheck& check);

}  // namespace dcmt::recorder

// Finishes the traces of a killed recorder from its spools.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::recorder {

/// Checks, before a trace's spool is removed, that the trace can be read. The error is one line that names the trace.
using TraceCheck = std::function<Status(const std::string& trace)>;

/// Finishes the traces of a run whose recorder died; does nothing if none is left to finish. One process at a time:
/// others wait. Returns lines for the user: what could not be read or finished, and why; those spools are kept. Fails
/// with kCannotRecord if a process of the run is still alive, and with kBadInput if run.json is invalid.
Expected<std::vector<std::string>> finish_interrupted_run(const std::string& folder, const TraceCheck& check);

}  // namespace dcmt::recorder

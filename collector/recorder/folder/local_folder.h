// A private folder on a local disk. Traces are written there and moved when they are finished, where the output folder
// is on a network file system, or the user wants it (docs/decisions/trace.md).
#pragma once

#include <string>

#include "trace/base/status.h"

namespace dcmt::recorder {

/// The folders of one run. They are the same folder, unless traces are written locally first.
struct TraceFolders {
  std::string output;  ///< run.json, and the finished traces
  std::string local;   ///< traces while they are written, and spools that find no room in shared memory

  [[nodiscard]] bool moves() const { return local != output; }
};

/// The folders for an existing `output`. A local folder is made in `scratch` if that is not empty; else, where `output`
/// is on a network file system, in the first of $SLURM_TMPDIR, $TMPDIR and /tmp that is a local folder that can be
/// written to. If none is, traces are written to `output` at once.
/// kIo in one line if no folder can be made in `scratch`.
Expected<TraceFolders> trace_folders(const std::string& output, const std::string& scratch);

/// kBadInput in one line if trace_folders() cannot have made the folder. A missing folder is valid.
Status check_local_folder(const std::string& folder);

/// Removes the folder if it has no trace any more.
void remove_local_folder(const std::string& folder);
/// The same for the local folder of a run, if it has one.
inline void remove_local_folder(const TraceFolders& folders) {
  if (folders.moves()) remove_local_folder(folders.local);
}

/// The output folder of a local folder; `folder` itself if it is none.
std::string output_folder_of(const std::string& folder);

}  // namespace dcmt::recorder

// The state of the recorder of an unfinished trace.
#pragma once

#include <string>

namespace dcmt::load {

enum class Recorder {
  kUnknown,  ///< no run in the trace's folder names the trace
  kAlive,    ///< it runs, or it is on another machine, where its state is not visible
  kDone,     ///< it finished its run, or `report` did
  kGone,     ///< it ended before it had finished
};

/// Derived from the runs in the trace's folder, or in the folder to which it will be moved.
[[nodiscard]] Recorder recorder_of(const std::string& trace);

/// The path of the trace when it is finished: another one if it is written to a local folder first. Ask while the trace
/// is still there.
[[nodiscard]] std::string finished_path(const std::string& trace);

}  // namespace dcmt::load

// Whether a trace that is still recorded has a recorder.
#pragma once

#include <string>

namespace dcmt::gui::load {

enum class Recorder {
  kUnknown,  ///< no run of the trace's folder names it
  kAlive,    ///< or on another machine, where nobody can see from here whether it is
  kDone,     ///< it has finished its run, or `report` has
  kGone,     ///< it died before that
};

/// By what the runs in the trace's folder say.
[[nodiscard]] Recorder recorder_of(const std::string& trace);

}  // namespace dcmt::gui::load

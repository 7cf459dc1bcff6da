#include "render/load/recorder_state.h"

#include <algorithm>
#include <filesystem>

#include "collector/recorder/folder/local_folder.h"
#include "collector/recorder/folder/run_folder.h"

namespace dcmt::load {
namespace {

std::string folder_of(const std::filesystem::path& trace) {
  return trace.has_parent_path() ? trace.parent_path().string() : ".";
}

}  // namespace

std::string finished_path(const std::string& trace) {
  const std::filesystem::path path(trace);
  const std::string folder = folder_of(path);
  const std::string output = recorder::output_folder_of(folder);
  return output == folder ? trace : output + "/" + path.filename().string();
}

Recorder recorder_of(const std::string& trace) {
  const std::filesystem::path path(finished_path(trace));
  const std::string folder = folder_of(path);
  const std::string name = path.filename().string();
  Recorder found = Recorder::kUnknown;
  for (const std::string& file : recorder::run_files(folder)) {
    const Expected<recorder::RunState> run = recorder::load_run(folder, file);
    if (!run.ok()) continue;
    const bool names = std::ranges::any_of(run->traces, [&](const auto& each) { return each.second == name; });
    if (!names) continue;
    if (run->state != "recording") {
      found = Recorder::kDone;
    } else {
      found = recorder::is_recording(*run) ? Recorder::kAlive : Recorder::kGone;
    }
  }
  return found;
}

}  // namespace dcmt::load

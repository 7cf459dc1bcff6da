// A run whose traces are written to a local folder first, and moved when they are finished. Only for tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "collector/recorder/folder/local_folder.h"
#include "collector/recorder/folder/run_folder.h"

namespace dcmt::load {

struct LocalRun {
  /// Of this process, on this machine. The local folder is in `output`; the traces are not made.
  LocalRun(const std::string& output_folder, const std::vector<std::string>& names) : output(output_folder) {
    std::filesystem::create_directory(output);
    local = recorder::trace_folders(output, output)->local;
    state.local_folder = local;
    state.recorder_pid = getpid();
    state.host = recorder::this_host();
    state.boot = recorder::this_boot();
    state.state = "recording";
    for (const std::string& name : names) state.traces.emplace("spool of " + name, name);
    EXPECT_TRUE(recorder::create_run(output, state).ok());
  }

  [[nodiscard]] std::string local_path(const std::string& name) const { return local + "/" + name; }
  [[nodiscard]] std::string output_path(const std::string& name) const { return output + "/" + name; }

  /// The recorder has moved the trace, which is now this file.
  void move(const std::string& name, const std::filesystem::path& finished) const {
    std::filesystem::rename(finished, output_path(name));
    std::filesystem::remove(local_path(name));
  }
  void save() const { EXPECT_TRUE(recorder::save_run(output, state).ok()); }

  std::string output, local;
  recorder::RunState state;
};

}  // namespace dcmt::load

// The result of `status`: the processes in standby, and whether they are recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dcmt::cli {

struct StandbyProcess {
  std::int64_t pid = 0;
  std::int64_t rank = -1;
  std::string state;
  std::optional<std::int64_t> recorder;
  std::int64_t recordings = 0;
  std::string command;

  static constexpr std::string_view kShape = "standby_process";
  static void describe(auto&& field) {
    field("pid", &StandbyProcess::pid, "");
    field("rank", &StandbyProcess::rank, "by its launcher; -1: none");
    field("state", &StandbyProcess::state,
          "\"idle\": no recorder is attached; \"recorded\"; \"begins\": it is starting or ending a recording, or is "
          "stopped, and "
          "does not answer; \"unreachable\": why is said by doctor PID");
    field("recorder", &StandbyProcess::recorder,
          "the pid of the recorder that is attached, as the process sees it; null: none");
    field("recordings", &StandbyProcess::recordings, "that were begun so far");
    field("command", &StandbyProcess::command, "");
  }
};

struct StandbyList {
  std::vector<StandbyProcess> processes;

  static constexpr std::string_view kShape = "status";
  static void describe(auto&& field) { field("processes", &StandbyList::processes, "by pid"); }
};

}  // namespace dcmt::cli

// dc-memtrace status: lists the processes in standby.

#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/json_writer.h"
#include "cli/parser.h"
#include "cli/standby_list.h"
#include "cli/text.h"
#include "collector/recorder/target/standby.h"
#include "collector/recorder/target/target_process.h"
#include "trace/base/printable.h"

namespace dcmt::cli {
namespace {

StandbyProcess described(const recorder::TargetProcess& target) {
  StandbyProcess process;
  process.pid = target.pid;
  process.rank = target.launch.rank;
  for (const std::string& word : target.command) process.command += (process.command.empty() ? "" : " ") + word;
  const Expected<recorder::StandbyState> state = recorder::standby_state(target.pid);
  if (state.ok()) {
    process.state = state->recorded ? "recorded" : "idle";
    if (state->recorded) process.recorder = state->recorder;
    process.recordings = state->recordings;
  } else {
    process.state = state.error().code == ErrorCode::kStopped ? "begins" : "unreachable";
  }
  return process;
}

std::string list_text(const StandbyList& list, const Style& style) {
  if (list.processes.empty()) {
    return "No process is in standby. dc-memtrace run --standby -- COMMAND starts one that is; dc-memtrace attach "
           "finds "
           "others, too.\n";
  }
  Table table({"pid", "rank", "state", "recordings", "command"}, {true, true, false, true, false});
  for (const StandbyProcess& each : list.processes) {
    const std::string by = each.recorder ? " by " + std::to_string(*each.recorder) : "";
    table.add({std::to_string(each.pid), each.rank >= 0 ? std::to_string(each.rank) : "-", each.state + by,
               std::to_string(each.recordings), printable(each.command)});
  }
  return table.text(style, "");
}

}  // namespace

void add_status_command(Parser app, int& exit_code) {
  Parser command = app.add_subcommand("status", "Processes in standby, and which of them are recorded");
  auto json = std::make_shared<bool>(false);
  command.add_flag("--json", *json, "Machine-readable output (docs/json.md)");
  command.footer(
      "Shows those of this user; root sees all.\n\n"
      "Example:\n"
      "  dc-memtrace status");
  command.callback([json, &exit_code] {
    StandbyList list;
    for (const recorder::TargetProcess& each : recorder::all_in_standby()) list.processes.push_back(described(each));
    if (*json) {
      std::cout << JsonDocument("status").with(list);
    } else {
      std::cout << list_text(list, Style::of_stdout());
    }
    exit_code = kExitOk;
  });
}

}  // namespace dcmt::cli

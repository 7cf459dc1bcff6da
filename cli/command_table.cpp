#include "cli/command_table.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "cli/commands.h"
#include "trace/base/closest_word.h"

namespace dcmt::cli {
namespace {

constexpr Command kCommands[] = {
    {"run", add_run_command},           {"attach", add_attach_command},       {"detach", add_detach_command},
    {"status", add_status_command},     {"report", add_report_command},       {"show", add_show_command},
    {"diff", add_diff_command},         {"check", add_check_command},         {"view", add_view_command},
    {"snapshot", add_snapshot_command}, {"reproduce", add_reproduce_command}, {"prove", add_prove_command},
    {"lint", add_lint_command},         {"trim", add_trim_command},           {"convert", add_convert_command},
    {"doctor", add_doctor_command},
};

}  // namespace

const Command* command_named(std::string_view word) {
  const auto found = std::ranges::find(kCommands, word, &Command::name);
  return found != std::end(kCommands) ? found : nullptr;
}

std::string unknown_command(std::string_view word) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  return "unknown command '" + std::string(word) + "'." + did_you_mean(word, names);
}

void add_all_commands(Parser app, int& exit_code) {
  for (const Command& command : kCommands) command.add(app, exit_code);
}

}  // namespace dcmt::cli

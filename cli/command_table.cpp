#include "cli/command_table.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "cli/commands.h"

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

/// The number of letters to insert, delete or replace to turn one word into the other.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

const Command* command_named(std::string_view word) {
  const auto found = std::ranges::find(kCommands, word, &Command::name);
  return found != std::end(kCommands) ? found : nullptr;
}

std::string_view closest_command(std::string_view word) {
  std::string_view closest;
  std::size_t least = 3;  // a word with more than two different letters is another word
  for (const Command& command : kCommands) {
    const std::size_t distance = edit_distance(word, command.name);
    if (distance < least) {
      least = distance;
      closest = command.name;
    }
  }
  return closest;
}

void add_all_commands(Parser app, int& exit_code) {
  for (const Command& command : kCommands) command.add(app, exit_code);
}

}  // namespace dcmt::cli

// dc-memtrace run: records a command.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/default_folder.h"
#include "cli/installation.h"
#include "cli/oom_remedies.h"
#include "cli/parser.h"
#include "cli/rank_summaries.h"
#include "cli/recording_options.h"
#include "cli/watch_places.h"
#include "collector/recorder/drive/run.h"
#include "collector/recorder/target/launch.h"
#include "trace/base/printable.h"
#include "trace/base/shell_words.h"

namespace dcmt::cli {
namespace {

/// The tool failed before the job was started; the same code as of env(1) and timeout(1).
constexpr int kExitNotStarted = 125;

constexpr char kFooter[] =
    "The command and its arguments follow the options; after -- where the command begins with a dash. A script that\n"
    "cannot be executed by itself (train.py) is run by python.\n\n"
    "Examples:\n"
    "  dc-memtrace run train.py --epochs 3\n"
    "  dc-memtrace run -o out -- python train.py\n"
    "  dc-memtrace run --live train.py\n"
    "  dc-memtrace run -o out --detail full -- torchrun --nproc_per_node 2 train.py\n"
    "  dc-memtrace run --operators my_operators.toml -- python train.py\n"
    "  dc-memtrace run --standby -- python train.py\n"
    "  dc-memtrace run --oom-only -- torchrun --nproc_per_node 8 train.py\n"
    "  dc-memtrace run --steps 3:6 --max-disk 500MiB -- python train.py\n"
    "  dc-memtrace run --watch last#1 -- python train.py\n"
    "  dc-memtrace run --watch train.py:18 -- python train.py\n"
    "Exit code: the command's own; 128 + N if signal N ended it; 125 if dc-memtrace failed before it was started;\n"
    "126 if it cannot be executed, 127 if it was not found.";

/// Removes a whole number from the front of `text`; false if there is none.
bool consume_number(std::string_view& text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

/// Parses "3", "3:6" or "3:6,40"; both ends are included. Returns the error; empty if the list is valid.
std::string parse_steps(const std::string& list, std::vector<recorder::StepRange>& steps) {
  std::istringstream items(list);
  for (std::string item; std::getline(items, item, ',');) {
    recorder::StepRange range;
    std::string_view rest = item;
    bool right = consume_number(rest, range.first);
    range.last = range.first;
    if (right && rest.starts_with(':')) {
      rest.remove_prefix(1);
      right = consume_number(rest, range.last);
    }
    if (!right || !rest.empty() || range.first < 0 || range.last < range.first) {
      return "'" + item + "' is neither a step nor a range of steps like 3:6";
    }
    steps.push_back(range);
  }
  return steps.empty() ? "no step given" : "";
}

/// An option of ours behind the program, which gets it: most often it was meant for us. Empty: there is none.
std::string option_behind(const std::vector<std::string>& command) {
  static constexpr std::string_view kOurs[] = {"--detail",  "--live",    "--native",   "--oom-only",
                                               "--streams", "--kernels", "--max-disk", "--watch"};
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string name = command[i].substr(0, command[i].find('='));
    if (std::ranges::find(kOurs, name) != std::end(kOurs)) return name;
  }
  return {};
}

int run_in_standby(const recorder::RunOptions& options) {
  const Expected<recorder::RunResult> result = recorder::exec_in_standby(library_folder().string(), options.command);
  if (!result.ok()) {
    print_error(result.error());
    return kExitNotStarted;
  }
  for (const std::string& note : result->notes) print_note(note);
  return result->job_exit;
}

int run_command(recorder::RunOptions& options) {
  if (options.folder.empty()) {
    const bool launched = !recorder::launch_of_environment().name.empty();
    options.folder = default_folder(program_of(options.command), launched);
  }
  options.libraries = library_folder().string();
  set_installed_paths(options);
  const Expected<recorder::RunResult> result = recorder::run(options);
  if (!result.ok()) {
    print_error(result.error());
    return kExitNotStarted;
  }
  // Not fmt::print: it throws if the reader has closed the pipe, and the job's exit code would be lost.
  for (const std::string& note : result->notes)
    std::fputs(fmt::format("dc-memtrace: {}\n", printable(note)).c_str(), stderr);
  if (result->job_exit < 128) {  // else a signal ended the job, and the time may be short
    print_oom_remedies(result->traces);
    summarize(result->traces);
  }
  if (!options.quiet && isatty(STDERR_FILENO) != 0 && !result->traces.empty()) {
    fmt::print(stderr, "dc-memtrace: {} trace{} in {}. Next: dc-memtrace report {}\n", result->traces.size(),
               result->traces.size() == 1 ? "" : "s", options.folder, shell_word(options.folder));
  }
  return result->job_exit;
}

}  // namespace

std::vector<std::string>& words_from_dashes() {
  static std::vector<std::string> words;
  return words;
}

void add_run_command(Parser app, int& exit_code) {
  Parser run = app.add_subcommand("run", "Record a command and every process below it that uses torch");
  auto options = std::make_shared<recorder::RunOptions>();
  add_recording_options(run, options);
  run.add_option_function<std::string>(
         "--steps",
         [options](const std::string& text) {
           if (const std::string why = parse_steps(text, options->retention.steps); !why.empty()) {
             throw UsageError{"--steps: " + why};
           }
         },
         "Keep these steps in full, such as 3:6,40. Of others: new peaks, new findings, and exact sums of the rest")
      .type_name("STEPS");
  const Option every = run.add_option("--every", options->retention.every,
                                      "In a long run, keep every Nth step in full; 0: none, as with --steps")
                           .not_negative()
                           .capture_default_str();
  run.add_option("--last", options->retention.last, "In a long run, keep the last N steps in full")
      .range(0, 1000)
      .capture_default_str();
  run.add_flag("--wait-children", options->wait_children,
               "Record processes that outlive the command until they end, not for half a second");
  run.add_option(
         "--exit-wait", options->exit_wait,
         "Seconds that a program which kept memory waits at its end, at most, so that its holders can be read; after a "
         "long run, 2 % of its time more, up to 8 s; 0: it does not wait")
      .range(0, 600)
      .envname(agent::kEnvExitWait)
      .capture_default_str();
  run.add_flag("!--no-hold", options->holds,
               "Do not let the program wait while its variables are read. Without this option it waits some 10 ms at "
               "a time, 0.6 s and 0.2 % of its time in all");
  add_live_option(run, options);
  run.add_flag("--streams", options->streams,
               "Find memory of a GPU that is handed out again while a stream still uses it: record what kernels and "
               "copies use, and what orders streams. Sets --detail full");
  auto kernels = std::make_shared<std::string>();
  run.add_option(
         "--kernels", *kernels,
         "all: record when each kernel, copy and fill ran on which stream of a GPU, for `convert --to perfetto` "
         "and `show kernels`. Sets --detail full")
      .one_of({"all"});
  auto watch = std::make_shared<std::vector<std::string>>();
  add_watch_option(run, *watch);
  auto only_oom = std::make_shared<bool>(false);
  run.add_flag(
      "--oom-only", *only_oom,
      "A black box: follow blocks of 64 KiB or more only, and when memory runs out, read who holds what, before the "
      "program goes on. DC_MEMTRACE=oom does the same");
  auto standby = std::make_shared<bool>(false);
  run.add_flag("--standby", *standby,
               "Record nothing now: each process that uses torch waits until dc-memtrace attach asks for it. Options "
               "of the recording go there");
  run.prefix_command();
  run.footer(kFooter);
  run.callback([run, options, every, standby, only_oom, kernels, watch, &exit_code] {
    // All words from the first one that is no option, without the dashes. The command may have options of its own.
    options->command = run.remaining();
    const std::vector<std::string>& rest = words_from_dashes();
    const bool dashes_begin_it = options->command.empty() && !rest.empty();
    options->command.insert(options->command.end(), rest.begin() + (dashes_begin_it ? 1 : 0), rest.end());
    if (!dashes_begin_it && !options->command.empty() && options->command.front().starts_with('-')) {
      throw UsageError{"unknown option " + options->command.front()};
    }
    if (options->command.empty()) throw UsageError{"a command, such as train.py, is required"};
    if (const std::string option = option_behind(options->command); rest.empty() && !option.empty()) {
      print_note(option + " stands behind " + options->command.front() +
                 ", which gets it. Options of dc-memtrace come first; -- before the program says that this is meant");
    }
    options->command = with_interpreter(std::move(options->command));
    if (options->live && *standby) throw UsageError{"--live shows what --standby does not"};
    check_live_option(*options);
    // If steps are named, only these are kept.
    if (!options->retention.steps.empty() && !every.given()) options->retention.every = 0;
    const char* mode = std::getenv(agent::kEnvStandby);
    if (*only_oom && !watch->empty()) throw UsageError{"--oom-only does not follow what --watch asks for"};
    if (*only_oom || (mode != nullptr && std::string_view(mode) == text_of(Detail::kOutOfMemory))) {
      options->detail = Detail::kOutOfMemory;
    }
    if (const Status set = set_watch(*watch, *options); !set.ok()) {
      print_error(set.error());
      exit_code = kExitNotStarted;
      return;
    }
    options->gpu_work = *kernels == "all";
    if (options->streams || options->gpu_work) options->detail = std::max(options->detail, Detail::kFull);
    exit_code = *standby ? run_in_standby(*options) : run_command(*options);
  });
}

}  // namespace dcmt::cli

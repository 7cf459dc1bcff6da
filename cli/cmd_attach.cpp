// dc-memtrace attach and detach: records a running process.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/default_folder.h"
#include "cli/installation.h"
#include "cli/parser.h"
#include "cli/recording_options.h"
#include "cli/watch_places.h"
#include "collector/recorder/drive/attach.h"
#include "collector/recorder/target/choose_targets.h"
#include "collector/recorder/target/standby.h"
#include "trace/base/shell_words.h"

namespace dcmt::cli {
namespace {

constexpr char kAttachFooter[] =
    "A process in standby can be attached to without special rights: it was started by dc-memtrace run --standby, or\n"
    "has imported dc_memtrace.standby. dc-memtrace status lists these. Any other process that has torch can be "
    "attached\n"
    "to with the rights of a debugger: one of its sleeping threads then loads the agent. dc-memtrace doctor PID says\n"
    "what would work. Ctrl-C and dc-memtrace detach end the recording; the process goes on.\n\n"
    "Examples:\n"
    "  dc-memtrace attach 4711 --steps 3\n"
    "  dc-memtrace attach 4711 --live\n"
    "  dc-memtrace attach 4711 -o out --duration 60s --detail full --kernels\n"
    "  dc-memtrace attach --name train.py --all-ranks --steps 3\n"
    "  dc-memtrace attach 4711 --when 'reserved > 70GiB'";

constexpr char kDetachFooter[] =
    "Returns when the process has put back what was hooked. Its recorder then finishes the trace.\n\n"
    "Example:\n"
    "  dc-memtrace detach 4711";

int run_attach(recorder::AttachOptions& options, const recorder::TargetChoice& choice) {
  Expected<std::vector<pid_t>> chosen = recorder::choose_targets(choice);
  if (!chosen.ok()) return print_error(chosen.error());
  options.pids = std::move(*chosen);
  if (options.when) {
    if (options.steps != 0) options.when->after = options.steps;
    options.retention = recorder::retention_of(*options.when, options.retention);
  }
  if (options.folder.empty()) {
    const bool one = !choice.all_ranks && options.pids.size() == 1;
    options.folder = default_folder(one ? fmt::format("pid{}", options.pids.front()) : "attached", false);
  }
  if (!choice.only_standby) options.entry = entry_library().string();
  options.providers = entry_library().parent_path().string();
  set_installed_paths(options);
  const Expected<recorder::AttachResult> result = recorder::attach(options);
  if (!result.ok()) return print_error(result.error());
  if (options.when && !result->is_met) {
    fmt::print(stderr, "dc-memtrace: the recording ended before {}; its last steps are in {}\n",
               recorder::text_of(options.when->condition), options.folder);
  }
  if (!options.quiet && isatty(STDERR_FILENO) != 0) {
    fmt::print(stderr, "dc-memtrace: {} step{} recorded in {}. Next: dc-memtrace report {}\n", result->steps,
               result->steps == 1 ? "" : "s", options.folder, shell_word(options.folder));
  }
  return kExitOk;
}

void add_when_options(Parser attach, const std::shared_ptr<recorder::AttachOptions>& options) {
  const Option when =
      attach
          .add_option_function<std::string>(
              "--when",
              [options](const std::string& text) {
                const Expected<recorder::Condition> condition = recorder::parse_condition(text);
                if (!condition.ok()) throw UsageError{"--when: " + condition.error().message};
                if (!options->when) options->when.emplace();
                options->when->condition = *condition;
              },
              "Wait until memory passes a size, such as 'reserved > 70GiB'; keep the steps before and after that, and "
              "end. allocated: torch's blocks, of the device that has most. reserved: by torch's CUDA allocator. rss: "
              "of "
              "the process")
          .type_name("CONDITION");
  attach
      .add_option_function<std::int64_t>(
          "--before",
          [options](const std::int64_t& steps) {
            if (!options->when) options->when.emplace();
            options->when->before = steps;
          },
          "With --when: steps to keep from before the condition is met")
      .needs(when)
      .range(0, 1000)
      .type_name("N")
      .default_str("3");
  attach
      .add_option_function<int>(
          "--near",
          [options](const int& percent) {
            if (!options->when) options->when.emplace();
            options->when->near = percent / 100.0;
          },
          "With --when: nothing is hooked while memory is below this share of the size; 0: recorded at once")
      .needs(when)
      .range(0, 100)
      .type_name("PERCENT")
      .default_str("90");
}

}  // namespace

void add_attach_command(Parser app, int& exit_code) {
  Parser attach = app.add_subcommand("attach", "Record a running process for a while");
  auto options = std::make_shared<recorder::AttachOptions>();
  auto choice = std::make_shared<recorder::TargetChoice>();
  const Option pid = attach.add_option("pid", choice->pid, "The process").positive().type_name("PID");
  attach
      .add_option("--name", choice->name,
                  "The process that runs this program, script or module with torch, such as 'train*'")
      .excludes(pid)
      .type_name("GLOB");
  attach.add_flag("--all-ranks", choice->all_ranks,
                  "All ranks on this machine that torchrun, mpirun or srun started together with it");
  add_recording_options(attach, options);
  attach
      .add_option_function<std::string>(
          "--duration",
          [options](const std::string& text) {
            const std::optional<double> seconds =
                number_with_unit(text, {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}});
            if (!seconds) throw UsageError{"--duration: '" + text + "' is no time like 60s, 5m or 1h"};
            options->duration = std::chrono::milliseconds(static_cast<std::int64_t>(*seconds * 1e3));
          },
          "Record for this time, such as 60s, 5m or 1h; with --when, after the condition is met")
      .type_name("TIME");
  attach
      .add_option("--steps", options->steps,
                  "Record this many whole training steps; with --when, after the condition is met (default 3)")
      .range(std::int64_t{1}, std::int64_t{1} << 40)
      .type_name("N");
  attach.add_flag("--kernels", options->kernels,
                  "See kernels and copies that touch released storages, through CUPTI, which stays initialized in the "
                  "process");
  attach.add_flag("--wait", options->waits,
                  "Wait for a process that has not imported torch yet; at most as long as --duration");
  add_live_option(attach, options);
  add_when_options(attach, options);
  auto watch = std::make_shared<std::vector<std::string>>();
  add_watch_option(attach, *watch);
  attach.footer(kAttachFooter);
  attach.add_flag("--only-standby", choice->only_standby, "Do not put the agent into a process that is not in standby");
  attach.callback([options, choice, watch, &exit_code] {
    if (choice->pid == 0 && choice->name.empty() && !choice->all_ranks) {
      throw UsageError{"a process, --name GLOB or --all-ranks, is required"};
    }
    check_live_option(*options);
    if (const Status set = set_watch(*watch, *options); !set.ok()) {
      exit_code = print_error(set.error());
      return;
    }
    exit_code = run_attach(*options, *choice);
  });
}

void add_detach_command(Parser app, int& exit_code) {
  Parser detach = app.add_subcommand("detach", "End the recording of a process that was attached to");
  auto pid = std::make_shared<pid_t>(0);
  detach.add_option("pid", *pid, "The process").required().positive().type_name("PID");
  detach.footer(kDetachFooter);
  detach.callback([pid, &exit_code] {
    const Status done = recorder::detach(*pid);
    exit_code = done.ok() ? kExitOk : print_error(done.error());
  });
}

}  // namespace dcmt::cli

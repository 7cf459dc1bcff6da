#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/default_folder.h"
#include "cli/installation.h"
#include "cli/parser.h"

namespace dcmt::cli {
namespace {

struct ViewOptions {
  std::string path, compare, picture, facts, at, select, by, arrange, panel, size, theme;
};

/// Replaces this process by the viewer: the viewer's exit code is that of the command.
int view(ViewOptions options) {
  for (std::string* path : {&options.path, &options.compare}) {
    Expected<std::string> named = run_named(*path);
    if (!named.ok()) return print_error(named.error());
    *path = std::move(*named);
  }
  const std::filesystem::path program = installation_root() / "bin" / "dc-memtrace-view";
  std::vector<std::string> words{program.string()};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.push_back(name + ("=" + value));
  };
  add("--compare", options.compare);
  add("--picture", options.picture);
  add("--facts", options.facts);
  add("--at", options.at);
  add("--select", options.select);
  add("--by", options.by);
  add("--arrange", options.arrange);
  add("--panel", options.panel);
  add("--size", options.size);
  add("--theme", options.theme);
  words.emplace_back("--");
  if (!options.path.empty()) words.push_back(options.path);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  if (errno == ENOENT) {
    return print_error({ErrorCode::kUsage,
                        "the viewer is not part of this installation. It needs Qt 6: install qt6-base-dev and "
                        "qt6-svg-dev, then build again. Without it: dc-memtrace report --html FILE"});
  }
  return print_error({ErrorCode::kIo, program.string() + ": cannot be started: " + std::strerror(errno) + "."});
}

}  // namespace

void add_view_command(Parser app, int& exit_code) {
  Parser command = app.add_subcommand("view", "The timeline of a trace in a window");
  auto options = std::make_shared<ViewOptions>();
  command.add_option("PATH", options->path,
                     "A trace (*.dcmt), a memory snapshot of torch, a folder of a run's traces, or a link to a view");
  command.add_option("--compare", options->compare,
                     "An earlier trace, or a run's folder, to show beside it: what differs, and what explains it");
  command.add_option("--picture", options->picture, "Write a picture (PNG) of the window and end; needs no display");
  command.add_option("--facts", options->facts, "Write what the window shows as JSON and end");
  command.add_option("--at", options->at,
                     "The point of the live set: peak, exit, end, oom, step:N, mark:NAME or a sequence number");
  command.add_option("--select", options->select, "What is selected: finding:N or storage:N");
  command.add_option("--by", options->by,
                     "What the area is stacked by: site, operator, phase, kind, owner, holder or category");
  command.add_option("--arrange", options->arrange,
                     "How the lifetimes are arranged: kind (findings and sizes) or address");
  command.add_option(
      "--panel", options->panel,
      "The panel that is seen: live, story, on one axis, ranks, comparison, holders, releases, survivors, saved, "
      "addresses, run or sql");
  command.add_option("--size", options->size, "Of the window: 1920x1080");
  command.add_option("--theme", options->theme, "light or dark; without it, the desktop's");
  command.footer(
      "Examples:\n"
      "  dc-memtrace view out/                                    the ranks of a run, the first one open\n"
      "  dc-memtrace view out-new/ --compare out-old/             two runs on one axis of steps\n"
      "  dc-memtrace view out/rank0.dcmt --select finding:1       what a finding is about\n"
      "  dc-memtrace view out/rank0.dcmt --picture peak.png       a picture for an issue\n"
      "Exit codes: 0 fine, 2 usage, or no such point, finding or storage, 3 bad input, 5 nothing to compare");
  command.callback([options, &exit_code] { exit_code = view(*options); });
}

}  // namespace dcmt::cli

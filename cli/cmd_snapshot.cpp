// `dc-memtrace snapshot`: who holds the memory of a running program, without recording it.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/installation.h"
#include "cli/json_values.h"
#include "cli/text.h"
#include "collector/scan/census.h"
#include "collector/scan/holding_groups.h"
#include "trace/base/printable.h"

namespace dcmt::cli {
namespace {

struct Arguments {
  int pid = 0;
  std::string core;  ///< empty: the process
  std::uint64_t smallest = scan::CensusOptions().smallest;
  std::size_t rows = 25;
  bool all = false;
  bool json = false;
};

std::string holder_text(const scan::HoldingGroup& group) {
  if (group.holder.empty())
    return group.role == scan::Role::kNone ? "(no holder found)" : "(only the tensor it belongs to)";
  return group.holder + (group.confirmed ? "" : "  (unconfirmed: it was being changed)");
}

std::string snapshot_text(const Arguments& arguments, const scan::Census& census, const Style& style) {
  std::int64_t bytes = 0;
  std::int64_t named = 0;
  for (const scan::HeldStorage& storage : census.storages) {
    bytes += static_cast<std::int64_t>(storage.bytes);
    if (!storage.holders.empty() || storage.role != scan::Role::kNone)
      named += static_cast<std::int64_t>(storage.bytes);
  }
  std::string text = style.bold(counted(static_cast<std::int64_t>(census.storages.size()), "storage") + " of " +
                                rounded_bytes(static_cast<std::int64_t>(arguments.smallest)) + " or more, " +
                                rounded_bytes(bytes) + "; a holder is named for " + rounded_bytes(named) + ".") +
                     "\n\n";
  Table table({"bytes", "storages", "role", "held by"}, {true, true, false, false});
  const std::vector<scan::HoldingGroup> groups = scan::group_by_holder(census);
  for (std::size_t i = 0; i < groups.size() && (arguments.all || i < arguments.rows); ++i) {
    table.add({rounded_bytes(static_cast<std::int64_t>(groups[i].bytes)),
               grouped(static_cast<std::int64_t>(groups[i].storages)), std::string(name_of(groups[i].role)),
               holder_text(groups[i])});
    for (const std::string& also : groups[i].also) table.add({"", "", "", "  also " + also});
  }
  text += table.text(style, "");
  if (!arguments.all && groups.size() > arguments.rows) {
    text += "… " + counted(static_cast<std::int64_t>(groups.size() - arguments.rows), "more holder") + ": --all\n";
  }
  text += "\n" +
          style.dim((arguments.core.empty() ? "process " + std::to_string(arguments.pid) : printable(arguments.core)) +
                    " · CPython " + census.python + " · torch " + census.torch + " · " +
                    grouped(static_cast<std::int64_t>(census.objects)) + " objects, " +
                    grouped(static_cast<std::int64_t>(census.torn)) + " changed while they were read · read in " +
                    duration(static_cast<std::int64_t>(census.seconds * 1e9)) +
                    (arguments.core.empty() ? ", the program went on" : "")) +
          "\n";
  return text;
}

nlohmann::ordered_json snapshot_json(const Arguments& arguments, const scan::Census& census) {
  using Json = nlohmann::ordered_json;
  Json storages = Json::array();
  for (const scan::HeldStorage& storage : census.storages) {
    Json holders = Json::array();
    for (const scan::Holder& holder : storage.holders)
      holders.push_back({{"path", holder.readable()}, {"confirmed", holder.confirmed}});
    const std::string role(name_of(storage.role));
    storages.push_back({{"data", storage.data},
                        {"bytes", storage.bytes},
                        {"references", storage.references},
                        {"role", role.empty() ? Json() : Json(role)},
                        {"holders", holders}});
  }
  return {{"pid", arguments.core.empty() ? Json(arguments.pid) : Json()},
          {"core", arguments.core.empty() ? Json() : Json(arguments.core)},
          {"python", census.python},
          {"torch", census.torch},
          {"smallest", arguments.smallest},
          {"objects", census.objects},
          {"torn", census.torn},
          {"collecting", census.collecting},
          {"bytes_read", census.bytes_read},
          {"seconds", census.seconds},
          {"storages", storages}};
}

int snapshot(const Arguments& arguments) {
  const scan::LayoutFolders layouts{(data_folder() / "layouts").string(), prepared_folder().string()};
  Expected<scan::Censuses> censuses = arguments.core.empty() ? scan::Censuses::open(arguments.pid, layouts)
                                                             : scan::Censuses::open_core(arguments.core, layouts);
  if (!censuses.ok()) return print_error(censuses.error());
  // The first pass only makes the second one quick: the shorter a pass, the less changes under it.
  Expected<scan::Census> census = censuses->take({.smallest = arguments.smallest, .native = !arguments.core.empty()});
  if (census.ok() && arguments.core.empty()) census = censuses->take({.smallest = arguments.smallest, .native = true});
  if (!census.ok()) return print_error(census.error());
  if (arguments.json) {
    std::cout << printed(snapshot_json(arguments, *census)) << "\n";
  } else {
    std::cout << snapshot_text(arguments, *census, Style::of_stdout());
  }
  return kExitOk;
}

}  // namespace

void add_snapshot_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("snapshot", "Who holds the memory of a running program, now, or of a core file");
  auto arguments = std::make_shared<Arguments>();
  CLI::Option* pid = command->add_option("pid", arguments->pid,
                                         "Process to inspect; it goes on meanwhile, and nothing is loaded into it");
  CLI::Option* core = command->add_option("--core", arguments->core, "Inspect this core file instead");
  core->type_name("FILE")->excludes(pid);
  command->add_option("--smallest", arguments->smallest, "Bytes of the smallest storage that counts")
      ->capture_default_str();
  command->add_flag("--all", arguments->all, "All holders instead of the largest 25");
  command->add_flag("--json", arguments->json, "Machine-readable output (docs/json.md)");
  command->footer(
      "Needs the right to read the process: the same user, and a parent of it or root where kernel.yama.ptrace_scope "
      "is 1.\n"
      "A core file names the libraries that the process had: they must be where they were, unchanged.\n"
      "Exits with 4 where the process cannot be read, or runs no CPython 3.11 to 3.13 or no torch.\n\n"
      "Examples:\n"
      "  dc-memtrace snapshot 4711\n"
      "  dc-memtrace snapshot 4711 --json > held.json\n"
      "  dc-memtrace snapshot --core core.4711");
  command->callback([arguments, pid, core, &exit_code] {
    if (pid->empty() && core->empty()) throw CLI::RequiredError("a process, or --core FILE,");
    exit_code = snapshot(*arguments);
  });
}

}  // namespace dcmt::cli

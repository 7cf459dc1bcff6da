// `dc-memtrace snapshot`: who holds the memory of a running program, without recording it.

#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/snapshot.h"
#include "cli/commands.h"
#include "cli/installation.h"
#include "cli/json_writer.h"
#include "cli/parser.h"
#include "cli/text.h"
#include "collector/scan/agreement.h"
#include "collector/scan/census.h"
#include "collector/scan/holding_groups.h"
#include "trace/base/printable.h"

namespace dcmt::cli {
namespace {

struct Arguments {
  int pid = 0;
  std::string core;  ///< empty: a process
  std::uint64_t smallest = scan::CensusOptions().smallest;
  std::size_t rows = 25;
  std::size_t retained = 0;
  bool all = false;
  bool json = false;
};

std::optional<std::string> role_of(scan::Role role) {
  return role == scan::Role::kNone ? std::nullopt : std::optional(std::string(name_of(role)));
}

/// The census as the model's type.
model::Snapshot snapshot_of(const Arguments& arguments, const scan::Census& census) {
  const auto number = [](auto value) { return static_cast<std::int64_t>(value); };
  model::Snapshot snapshot;
  if (arguments.core.empty()) {
    snapshot.pid = arguments.pid;
  } else {
    snapshot.core = arguments.core;
  }
  snapshot.python = census.python;
  snapshot.torch = census.torch;
  snapshot.smallest = Bytes(number(arguments.smallest));
  snapshot.objects = number(census.objects);
  snapshot.torn = number(census.torn);
  snapshot.collecting = census.collecting;
  snapshot.bytes_read = Bytes(number(census.bytes_read));
  snapshot.seconds = census.seconds;
  for (const scan::HeldStorage& from : census.storages) {
    model::SnapshotStorage& storage = snapshot.storages.emplace_back();
    storage.data = number(from.data);
    storage.bytes = Bytes(number(from.bytes));
    storage.references = number(from.references);
    storage.role = role_of(from.role);
    for (const scan::Holder& holder : from.holders) storage.holders.push_back({holder.readable(), holder.confirmed});
  }
  for (const scan::Retained& from : census.retained) {
    const scan::Holder path{from.path, from.place};
    snapshot.retained.push_back({path.readable(), from.type, Bytes(number(from.bytes)), number(from.storages),
                                 number(from.references), from.confirmed});
  }
  for (scan::HoldingGroup& from : scan::group_by_holder(census)) {
    snapshot.groups.push_back({std::move(from.holder), role_of(from.role), from.confirmed, Bytes(number(from.bytes)),
                               number(from.storages), std::move(from.also)});
  }
  return snapshot;
}

std::string holder_text(const model::SnapshotGroup& group) {
  if (group.holder.empty()) {
    return group.role == name_of(scan::Role::kGradient) ? "(only the tensor it belongs to)" : "(no holder found)";
  }
  return group.holder + (group.confirmed ? "" : "  (unconfirmed: it was being changed)");
}

std::string retained_text(const std::vector<model::SnapshotRetained>& retained, const Style& style) {
  Table table({"bytes", "storages", "references", "go with"}, {true, true, true, false});
  for (const model::SnapshotRetained& each : retained) {
    table.add({rounded_bytes(each.bytes.value), grouped(each.storages), grouped(each.references),
               each.path + " [" + each.type + "]" + (each.confirmed ? "" : "  (unconfirmed: it was being changed)")});
  }
  return "\n" + table.text(style, "");
}

std::string snapshot_text(const model::Snapshot& snapshot, std::size_t most_rows, const Style& style) {
  std::string text =
      style.bold(counted(std::ssize(snapshot.storages), "storage") + " of " + rounded_bytes(snapshot.smallest.value) +
                 " or more, " + rounded_bytes(snapshot.bytes().value) + "; a holder is named for " +
                 rounded_bytes(snapshot.bytes_explained().value) + ".") +
      "\n\n";
  Table table({"bytes", "storages", "role", "held by"}, {true, true, false, false});
  const std::vector<model::SnapshotGroup>& groups = snapshot.groups;
  for (std::size_t i = 0; i < groups.size() && i < most_rows; ++i) {
    table.add({rounded_bytes(groups[i].bytes.value), grouped(groups[i].storages), groups[i].role.value_or(""),
               holder_text(groups[i])});
    for (const std::string& also : groups[i].also) table.add({"", "", "", "  also " + also});
  }
  text += table.text(style, "");
  if (groups.size() > most_rows) {
    text += "… " + counted(static_cast<std::int64_t>(groups.size() - most_rows), "more holder") + ": --all\n";
  }
  if (!snapshot.retained.empty()) text += retained_text(snapshot.retained, style);
  text += "\n" +
          style.dim((snapshot.pid ? "process " + std::to_string(*snapshot.pid) : printable(*snapshot.core)) +
                    (snapshot.python.empty() ? "" : " · CPython " + snapshot.python) + " · torch " + snapshot.torch +
                    " · " + grouped(snapshot.objects) + " objects, " + grouped(snapshot.torn) +
                    " changed while they were read · read in " +
                    duration(static_cast<std::int64_t>(snapshot.seconds * 1e9)) +
                    (snapshot.pid ? ", the program went on" : "")) +
          "\n";
  return text;
}

int snapshot(const Arguments& arguments) {
  const scan::LayoutFolders layouts{(data_folder() / "layouts").string(), prepared_folder().string()};
  Expected<scan::Censuses> censuses = arguments.core.empty() ? scan::Censuses::open(arguments.pid, layouts)
                                                             : scan::Censuses::open_core(arguments.core, layouts);
  if (!censuses.ok()) return print_error(censuses.error());
  const scan::CensusOptions options{
      .smallest = arguments.smallest, .native = scan::Native::kAll, .retained = arguments.retained};
  const Expected<scan::Census> census =
      arguments.core.empty() ? scan::take_agreed(*censuses, options) : censuses->take(options);
  if (!census.ok()) return print_error(census.error());
  const model::Snapshot snapshot = snapshot_of(arguments, *census);
  if (arguments.json) {
    std::cout << JsonDocument("snapshot").with(snapshot);
  } else {
    constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
    std::cout << snapshot_text(snapshot, arguments.all ? kAll : arguments.rows, Style::of_stdout());
  }
  return kExitOk;
}

}  // namespace

void add_snapshot_command(Parser app, int& exit_code) {
  Parser command = app.add_subcommand("snapshot", "Who holds the memory of a running program now, or of a core file");
  auto arguments = std::make_shared<Arguments>();
  const Option pid = command.add_option("pid", arguments->pid,
                                        "Process to inspect; it goes on meanwhile, and nothing is loaded into it");
  const Option core = command.add_option("--core", arguments->core, "Inspect this core file instead");
  core.type_name("FILE").excludes(pid);
  command.add_option("--smallest", arguments->smallest, "Bytes of the smallest storage that counts")
      .capture_default_str();
  command
      .add_option("--retained", arguments->retained,
                  "Also the N objects with which most memory would go: all of it, by whatever way it hangs on them")
      .type_name("N");
  command.add_flag("--all", arguments->all, "All holders instead of the largest 25");
  command.add_flag("--json", arguments->json, "Machine-readable output (docs/json.md)");
  command.footer(
      "Needs the right to read the process: the same user, and a parent of it or root where kernel.yama.ptrace_scope "
      "is 1.\n"
      "A core file names the libraries that the process had: they must be where they were, unchanged.\n"
      "Exits with 4 where the process cannot be read, runs another CPython than 3.11 to 3.15, or no torch.\n\n"
      "Examples:\n"
      "  dc-memtrace snapshot 4711\n"
      "  dc-memtrace snapshot 4711 --retained 10\n"
      "  dc-memtrace snapshot 4711 --json > held.json\n"
      "  dc-memtrace snapshot --core core.4711");
  command.callback([arguments, pid, core, &exit_code] {
    if (!pid.given() && !core.given()) throw UsageError{"a process, or --core FILE, is required"};
    exit_code = snapshot(*arguments);
  });
}

}  // namespace dcmt::cli

#include "cli/show_view.h"

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/groups_text.h"
#include "trace/base/closest_word.h"

namespace dcmt::cli {

void ShowOutput::finish() {
  if (json_) {
    json_->finish();
  } else {
    std::cout << folded(text_, style_);
  }
}

RunView of_opened(const ShowTrace& show_one) {
  return [show_one](const std::string& command, const ShowOptions& options) -> int {
    Expected<std::vector<OpenedTrace>> traces = open_traces({options.path}, options.rank);
    if (!traces.ok()) return print_error(traces.error());
    const Style style = Style::of_stdout(options.bytes);
    ShowOutput output(options, command, style);
    for (OpenedTrace& trace : *traces) {
      if (traces->size() > 1) output.title(style.bold("== " + trace.path) + "\n");
      if (const Status status = show_one(trace, options, style, output); !status.ok())
        return print_error(status.error());
    }
    output.finish();
    return kExitOk;
  };
}

RunView of_loaded(Status (*show_one)(const LoadedTrace&, const ShowOptions&, const Style&, ShowOutput&)) {
  return of_opened(
      [show_one](OpenedTrace& opened, const ShowOptions& options, const Style& style, ShowOutput& output) -> Status {
        DCMT_ASSIGN_OR_RETURN(LoadedTrace trace, load_trace(std::move(opened)));
        DCMT_RETURN_IF_ERROR(keep_device(trace, options.device));
        return show_one(trace, options, style, output);
      });
}

Parser add_view(Parser show, const std::string& name, const std::string& help,
                const std::shared_ptr<ShowOptions>& options, const RunView& run_view, int& exit_code) {
  Parser view = show.add_subcommand(name, help);
  view.add_option("PATH", options->path, "A trace (*.dcmt), or a folder of them; last: the newest run")
      .capture_default_str();
  view.add_option("--rank", options->rank, "Only the trace of this rank");
  view.add_flag("--json", options->json, "Machine-readable output (docs/json.md)");
  view.add_flag("--bytes", options->bytes, kBytesHelp);
  view.callback([=, &exit_code] {
    if (options->second && !options->second->given()) {
      throw UsageError{"a run and a second word are required, as in: dc-memtrace show " + name + " last 1"};
    }
    exit_code = run_view("show " + name, *options);
  });
  return view;
}

void add_grouping(Parser view, const std::shared_ptr<ShowOptions>& options) {
  const auto wrong = [](const std::string& name) -> std::string {
    if (Grouping::named(name)) return {};
    std::vector<std::string> names;
    for (const auto& [each, by] : analyzer::kGroupNames) names.emplace_back(each);
    const std::string known = joined(names, ", ");
    return "'" + name + "' is none of " + known + ", module:DEPTH." +
           did_you_mean(name.substr(0, name.find(':')), names);
  };
  view.add_option("--by", options->by,
                  "Group by site, operator, phase, kind, category (parameter, gradient, optimizer state, saved for "
                  "backward, …), module (model.layers.3.mlp; module:2 joins model.layers.*), owner (the parameter "
                  "gathered), origin (of its gather) or "
                  "holder (the variable, container or graph that was found in the program's memory)")
      .check(wrong)
      .capture_default_str();
}

}  // namespace dcmt::cli

// What the views of `show` have in common: their options, how they read traces, and how they print.
#pragma once

#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/time/curve_overview.h"
#include "cli/default_folder.h"
#include "cli/inputs.h"
#include "cli/json_writer.h"
#include "cli/parser.h"
#include "cli/text.h"

namespace dcmt::cli {

inline constexpr char kDeviceHelp[] =
    "cpu, cuda:1, or cuda for the first GPU; without it, the GPU with the highest peak, else the CPU";

/// The options of all views. Each view has those that it adds, and the ones of add_view().
struct ShowOptions {
  std::string path = kLastRun;
  std::optional<std::int64_t> rank;
  bool json = false, bytes = false;
  std::string at = "peak";
  std::string by = "site";
  std::string device;
  std::int64_t storage = 0;
  std::string holders_of;  ///< a finding, a storage or a line
  analyzer::CurveQuestion curve;
  std::vector<std::string> settings;  ///< of torch's allocator, to predict
  bool job = false;
  std::optional<Option> second;  ///< the word behind the path, of a view that needs one
};

/// Prints what a view shows of each trace, as text or as JSON.
class ShowOutput {
 public:
  ShowOutput(const ShowOptions& options, const std::string& command, const Style& style) : style_(style) {
    if (options.json) json_.emplace(command, std::cout);
  }

  template <Described ShownView, class MakeText>
  void add(const ShownView& view, const MakeText& make_text) {
    if (json_) {
      json_->add(view);
    } else {
      text_ += make_text(view);
    }
  }
  void title(const std::string& text) { text_ += text; }
  void finish();

 private:
  Style style_;
  std::optional<TracesDocument> json_;
  std::string text_;
};

/// Adds what a view shows of one trace to the output.
using ShowTrace = std::function<Status(OpenedTrace&, const ShowOptions&, const Style&, ShowOutput&)>;
/// Prints a view of all traces that the options name; returns the exit code.
using RunView = std::function<int(const std::string& command, const ShowOptions&)>;

/// For a view that reads only what it shows.
[[nodiscard]] RunView of_opened(const ShowTrace& show_one);
/// For a view that needs the complete trace, and its analysis.
[[nodiscard]] RunView of_loaded(Status (*show_one)(const LoadedTrace&, const ShowOptions&, const Style&, ShowOutput&));

/// Adds the view with the options that all views have.
Parser add_view(Parser show, const std::string& name, const std::string& help,
                const std::shared_ptr<ShowOptions>& options, const RunView& run_view, int& exit_code);
/// Adds the option --by.
void add_grouping(Parser view, const std::shared_ptr<ShowOptions>& options);

// Each adds views to the command `show`, in the order of its help.
void add_curve_view(Parser show, int& exit_code);
void add_storage_views(Parser show, int& exit_code);
void add_process_views(Parser show, int& exit_code);
void add_gpu_views(Parser show, int& exit_code);
void add_ranks_view(Parser show, int& exit_code);

}  // namespace dcmt::cli

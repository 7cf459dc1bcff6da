// dc-memtrace lint: defects of lifetimes in generated code, found without running it.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/installation.h"
#include "cli/json_writer.h"
#include "cli/lint_text.h"
#include "cli/parser.h"
#include "cli/undeleted_names.h"
#include "collector/recorder/assemble/operator_toml.h"
#include "trace/base/printable.h"
#include "trace/base/scratch_folder.h"

namespace dcmt::cli {
namespace {

namespace fs = std::filesystem;
using analyzer::Linted;

struct LintOptions {
  std::vector<std::string> paths, operators;
  std::string python = "python3";
  bool json = false;
  bool fail_on_findings = false;
};

/// Views that Inductor may call as operators, and the wait of functional collectives.
constexpr const char* kFirstArgument[] = {
    "aten::view",       "aten::_unsafe_view", "aten::t",         "aten::transpose", "aten::permute",
    "aten::as_strided", "aten::alias",        "aten::detach",    "aten::slice",     "aten::select",
    "aten::expand",     "aten::squeeze",      "aten::unsqueeze", "aten::narrow",    "_c10d_functional::wait_tensor"};

/// The waits and releases of the tables, whose result is their first argument.
Expected<std::vector<std::string>> first_argument_operators(const std::vector<std::string>& tables) {
  std::vector<std::string> operators(std::begin(kFirstArgument), std::end(kFirstArgument));
  std::error_code ignored;
  std::vector<std::string> paths = tables;
  if (const fs::path shipped = data_folder() / "operators.toml"; fs::exists(shipped, ignored)) {
    paths.push_back(shipped.string());
  }
  DCMT_ASSIGN_OR_RETURN(const recorder::OperatorTables compiled, recorder::compile_operator_tables(paths));
  const std::vector<std::string>& tabled = compiled.waits_and_releases;
  operators.insert(operators.end(), tabled.begin(), tabled.end());
  return operators;
}

/// A file that may be a generated wrapper.
struct Candidate {
  std::string path, trace;  ///< as in LintedFile
  std::string file;         ///< the file that contains its text
};

/// The files and operators that the paths name. Wrappers are read later.
class Collected {
 public:
  Linted linted;
  std::vector<Candidate> candidates;

  void add_file(const fs::path& path) { candidates.push_back({path.string(), {}, path.string()}); }

  /// Writes a text from a trace to a file, so that Python can read it.
  Status add_text(const std::string& path, const std::string& trace, std::string_view text) {
    const fs::path file = copies_.path() / std::to_string(candidates.size());
    std::ofstream copy(file, std::ios::binary);
    copy << text;
    copy.close();
    if (copies_.path().empty() || !copy) {
      return {ErrorCode::kIo, "no copy of " + path + " can be written among the temporary files: set TMPDIR."};
    }
    candidates.push_back({path, trace, file.string()});
    return {};
  }

 private:
  ScratchFolder copies_;
};

/// Collects what operators of the trace shared, and the generated files that the trace has copies of.
Status collect_trace(OpenedTrace& trace, Collected& collected) {
  DCMT_ASSIGN_OR_RETURN(std::vector<analyzer::OperatorAliases> aliases, analyzer::operator_aliases(trace.database));
  for (analyzer::OperatorAliases& one : aliases) collected.linted.operators.push_back({trace.path, std::move(one)});
  DCMT_ASSIGN_OR_RETURN(
      Statement query,
      trace.database.prepare(
          "SELECT path.text, source.text FROM source JOIN string AS path ON path.id = source.path ORDER BY source.id"));
  for (;;) {
    DCMT_ASSIGN_OR_RETURN(const bool row, query.step());
    if (!row) return {};
    DCMT_RETURN_IF_ERROR(collected.add_text(std::string(query.text(0)), trace.path, query.text(1)));
  }
}

/// Python files below a folder, in the order of their paths.
Expected<std::vector<fs::path>> python_files(const std::string& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".py" && at->is_regular_file(error)) found.push_back(at->path());
  }
  if (error) return Error{ErrorCode::kBadInput, folder + ": cannot be read: " + error.message() + "."};
  std::sort(found.begin(), found.end());
  return found;
}

Status collect_path(const std::string& path, Collected& collected) {
  std::error_code ignored;  // a path without access is no folder; opening it reports why
  const bool folder = fs::is_directory(path, ignored);
  bool traces = fs::path(path).extension() == ".dcmt";
  if (folder) {
    DCMT_ASSIGN_OR_RETURN(const std::vector<std::string> files, trace_files_in(path));
    traces = !files.empty();
  }
  if (traces) {
    DCMT_ASSIGN_OR_RETURN(std::vector<OpenedTrace> opened, open_traces({path}, std::nullopt));
    for (OpenedTrace& trace : opened) DCMT_RETURN_IF_ERROR(collect_trace(trace, collected));
    return {};
  }
  if (!folder) {
    if (!std::ifstream(path)) return {ErrorCode::kBadInput, path + ": cannot be read."};
    collected.add_file(path);
    return {};
  }
  DCMT_ASSIGN_OR_RETURN(const std::vector<fs::path> found, python_files(path));
  for (const fs::path& file : found) collected.add_file(file);
  return {};
}

/// Reads the candidates and stores the generated ones in `collected.linted`.
Status read_candidates(const LintOptions& options, const std::vector<std::string>& operators, Collected& collected) {
  std::vector<std::string> files;
  for (const Candidate& candidate : collected.candidates) files.push_back(candidate.file);
  DCMT_ASSIGN_OR_RETURN(std::vector<ReadWrapper> wrappers, undeleted_names(options.python, files, operators));
  for (std::size_t i = 0; i < wrappers.size(); ++i) {
    ReadWrapper& wrapper = wrappers[i];
    const Candidate& candidate = collected.candidates[i];
    if (!wrapper.generated) continue;
    collected.linted.files.push_back(
        {printable(candidate.path), candidate.trace, std::move(wrapper.error), std::move(wrapper.storages)});
  }
  return {};
}

int lint(const LintOptions& options) {
  const Expected<std::vector<std::string>> operators = first_argument_operators(options.operators);
  if (!operators.ok()) return print_error(operators.error());
  Collected collected;
  for (const std::string& path : options.paths) {
    if (const Status done = collect_path(path, collected); !done.ok()) return print_error(done.error());
  }
  if (const Status done = read_candidates(options, *operators, collected); !done.ok()) return print_error(done.error());
  const Linted& linted = collected.linted;
  if (options.json) {
    std::cout << JsonDocument("lint").with(linted);
  } else {
    std::cout << lint_text(linted, Style::of_stdout());
  }
  return linted.found() && options.fail_on_findings ? kExitFindings : kExitOk;
}

}  // namespace

void add_lint_command(Parser app, int& exit_code) {
  Parser command = app.add_subcommand(
      "lint", "Names that generated code never deletes, and aliases that operators' schemas do not declare");
  auto options = std::make_shared<LintOptions>();
  command
      .add_option("PATH", options->paths,
                  "Folders or files of code that Inductor wrote, or traces: of these the generated files in which "
                  "a holder was seen; last: the newest run")
      .required();
  command.add_option("--operators", options->operators,
                     "Tables of your gather and release operators (TOML): waits and releases return their argument");
  command
      .add_option("--python", options->python,
                  "Python 3.8 or newer that parses the code; it needs no torch, and runs nothing of the code")
      .type_name("PROGRAM")
      .capture_default_str();
  command.add_flag("--json", options->json, "Machine-readable output (docs/json.md)");
  command.add_flag("--fail-on-findings", options->fail_on_findings, "Exit with 1 if there is a finding");
  command.footer(
      "Examples:\n"
      "  dc-memtrace lint torch_compile_debug/        every output_code.py below\n"
      "  dc-memtrace lint /tmp/torchinductor_$USER    Inductor's cache\n"
      "  dc-memtrace lint out/ --json                 what a recorded run held weights with\n"
      "Exit codes: 0 done, 1 findings (with --fail-on-findings), 2 usage, 3 bad input, 4 no Python to parse with");
  command.callback([options, &exit_code] { exit_code = lint(*options); });
}

}  // namespace dcmt::cli

// dc-memtrace prove: runs a program again with what the releases of a finding leave fenced, and says who touched it.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/model/proof.h"
#include "analyzer/releases/graph_order.h"
#include "analyzer/storages/parameters.h"
#include "cli/commands.h"
#include "cli/default_folder.h"
#include "cli/inputs.h"
#include "cli/installation.h"
#include "cli/json_writer.h"
#include "cli/parser.h"
#include "cli/recording_options.h"
#include "cli/redirects.h"
#include "cli/signals_as_before.h"
#include "cli/text.h"
#include "collector/recorder/drive/run.h"
#include "render/wording/proof_words.h"
#include "trace/base/shell_words.h"

namespace dcmt::cli {
namespace {

struct Options : recorder::RunOptions {
  std::string path = kLastRun, by = "fence";
  std::optional<std::int64_t> rank, finding;
  bool json = false;
};

/// The findings, and the peak that they are about.
struct FoundIn {
  std::vector<const analyzer::Finding*> findings;
  std::string_view device;
  Bytes peak;
  std::optional<Bytes> predicted;
};

/// The error in proving this finding; nullopt: there is none.
std::optional<Error> wrong_with(const LoadedTrace& trace, const analyzer::Finding& finding, std::string_view by) {
  if (finding.rule != "residual") {
    return Error{ErrorCode::kNotComparable,
                 fmt::format("finding {} is \"{}\": only what a release leaves (\"release keeps storage\") can be "
                             "proved.",
                             finding.number, finding.title)};
  }
  if (const std::string_view device = trace.data->text(finding.device); device != "cpu" && by != "free") {
    return Error{ErrorCode::kCannotRecord,
                 fmt::format("finding {} is on {}: only memory of the CPU can be fenced or overwritten. Use --by free.",
                             finding.number, device)};
  }
  return std::nullopt;
}

/// @param number  nullopt: all findings that can be proved
Expected<FoundIn> found_in(const LoadedTrace& trace, std::optional<std::int64_t> number, std::string_view by) {
  FoundIn found;
  std::optional<Error> wrong;
  for (const analyzer::Finding& finding : trace.analysis.findings) {
    if (number && finding.number != *number) continue;
    if (!number && finding.rule != "residual") continue;
    if (std::optional<Error> error = wrong_with(trace, finding, by)) {
      wrong = std::move(error);
    } else if (found.findings.empty() || found.findings.front()->device == finding.device) {
      found.findings.push_back(&finding);
    }
  }
  if (found.findings.empty()) {
    if (wrong) return *wrong;
    return Error{ErrorCode::kUsage,
                 fmt::format("{} has no {}; dc-memtrace report {} lists those it has.", trace.path,
                             number ? fmt::format("finding {}", *number) : "finding \"release keeps storage\"",
                             shell_word(trace.path))};
  }
  found.device = trace.data->text(found.findings.front()->device);
  for (const analyzer::DeviceAnalysis& device : trace.analysis.devices) {
    if (device.device != found.findings.front()->device) continue;
    found.peak = device.what_if.measured.bytes;
    found.predicted = found.findings.size() == 1 ? found.findings.front()->predicted_peak
                                                 : std::optional(device.what_if.predicted.bytes);
  }
  return found;
}

std::vector<recorder::ProvedKey> keys_of(const FoundIn& found) {
  std::set<analyzer::Key> keys;
  for (const analyzer::Finding* finding : found.findings) {
    for (const analyzer::FindingItem& item : finding->items) keys.insert(item.key);
  }
  std::vector<recorder::ProvedKey> proved;
  for (const analyzer::Key& key : keys) proved.push_back({key.graph, key.key});
  return proved;
}

/// The chosen parameters by their names in this process.
std::vector<analyzer::Key> names_in(const LoadedTrace& trace, const Options& options) {
  const std::vector<std::int64_t> graphs = analyzer::graphs_by_gather(*trace.data);
  std::vector<analyzer::Key> names;
  for (const recorder::ProvedKey& key : options.prove) {
    names.push_back(analyzer::key_in({key.graph, key.key}, options.proved_graphs, graphs));
  }
  return names;
}

/// What one process has shown. A process that gathers none of the parameters, such as a launcher, is left out.
std::optional<model::ReleaseProof> proof_of_process(const LoadedTrace& trace, const Options& options) {
  std::set<analyzer::Key> released;
  for (const analyzer::ReleaseRow& row : trace.analysis.releases.rows) released.insert(row.key());
  const std::vector<analyzer::Key> keys = names_in(trace, options);
  std::vector<std::string> absent;
  for (const analyzer::Key& name : keys) {
    if (!released.contains(name)) absent.push_back(describe_key(*trace.data, name));
  }
  std::optional<model::ReleaseProof> proof = model::proof_of(trace.analysis);
  if (absent.size() == keys.size() && !proof) return std::nullopt;
  if (!proof) {
    proof.emplace();
    proof->verdict = "not_proved";
    proof->why_not.emplace_back("no release of these parameters left a storage in this run");
  }
  if (!absent.empty()) {
    proof->why_not.push_back(joined(absent, ", ") + (absent.size() == 1 ? " was" : " were") +
                             " not released in this run");
    if (proof->verdict == "proved") proof->verdict = "not_proved";
  }
  return proof;
}

/// A launcher of ranks ends with a code of its own if it is asked to end.
bool was_stopped(const recorder::RunResult& run) {
  constexpr int kSignal = 128;
  const int exit = run.job_exit;
  return run.asked_to_end || exit == kSignal + SIGINT || exit == kSignal + SIGTERM || exit == kSignal + SIGKILL ||
         exit == kSignal + SIGHUP;
}

/// One run of the command.
struct OneRun {
  int exit = 0;
  bool stopped = false;  ///< somebody ended it: what it has not computed shows nothing
  std::vector<LoadedTrace> traces;
};

/// @param name  of its folder inside of the proof's; empty: the proof's own
Expected<OneRun> run_once(const Options& options, const std::string& how, const std::string& name) {
  recorder::RunOptions once = options;
  once.prove_by = how;
  if (!name.empty()) once.folder += "/" + name;
  const StdoutRedirect aside(options.json);
  const SignalsAsBefore signals;
  DCMT_ASSIGN_OR_RETURN(const recorder::RunResult result, recorder::run(once));
  for (const std::string& note : result.notes) print_note(note);
  if (result.traces.empty()) {
    const std::string failed =
        result.job_exit == 0 ? "" : fmt::format("the command failed: exit code {}; ", result.job_exit);
    return Error{ErrorCode::kCannotRecord, failed + "nothing was recorded, so nothing is proved."};
  }
  OneRun run{result.job_exit, was_stopped(result), {}};
  DCMT_ASSIGN_OR_RETURN(run.traces, load_traces({once.folder}, std::nullopt));
  return run;
}

/// The trace of the same process in another run. nullptr: it has none.
const LoadedTrace* same_process(const OneRun& run, std::size_t at, std::size_t of) {
  return run.traces.size() == of ? &run.traces[at] : nullptr;
}

/// Verdicts of processes, the strongest first.
std::string verdict_of(const model::ProvedRun& run) {
  for (const std::string_view each : {"touched", "not_proved", "unchanged"}) {
    for (const model::ProvedProcess& process : run.processes) {
      if (process.proof.verdict == each) return std::string(each);
    }
  }
  return run.processes.empty() ? "not_proved" : "proved";
}

model::ProvedRun by_fence(const Options& options, const OneRun& run) {
  model::ProvedRun proved;
  for (const LoadedTrace& trace : run.traces) {
    if (std::optional<model::ReleaseProof> proof = proof_of_process(trace, options)) {
      proved.processes.push_back({trace.path, std::move(*proof), {}, {}});
    }
  }
  return proved;
}

bool computes_nothing(const model::ComparedResults& results) { return results.gradients == 0 && results.numbers == 0; }

/// Changes what the proof says to what the comparison shows. `twin` is of two runs that were left as they are.
void judge_results(model::ProvedProcess& process, const std::optional<model::ComparedResults>& twin) {
  model::ReleaseProof& proof = process.proof;
  if (!process.results || !twin || twin->first || (computes_nothing(*twin) && !process.results->first)) {
    proof.verdict = "not_proved";
    proof.why_not.emplace_back(
        !process.results || !twin ? "the runs have other processes"
        : twin->first
            ? "not comparable: two runs that were left as they are differ, too (" +
                  wording::different_result_text(*twin->first) + ")"
            : "the program computed no gradient of a parameter and read no number, so nothing can be compared");
  } else if (process.results->first) {
    proof.verdict = "touched";
  } else if (proof.why_not.empty()) {
    proof.verdict = "unchanged";
  }
}

/// What the releases of the parameters left, and whether it was freed.
std::optional<model::ReleaseProof> freed_in(const LoadedTrace& trace, const Options& options) {
  const std::vector<analyzer::Key> keys = names_in(trace, options);
  const std::set<analyzer::Key> names(keys.begin(), keys.end());
  model::ReleaseProof proof;
  std::set<const analyzer::Step*> steps;
  std::int64_t left = 0;
  for (const analyzer::ReleaseRow& row : trace.analysis.releases.rows) {
    if (!names.contains(row.key()) || !row.mark->flags.final) continue;
    ++proof.releases;
    if (row.step != nullptr) steps.insert(row.step);
    if (row.residual) ++left;
  }
  if (proof.releases == 0) return std::nullopt;
  proof.steps = static_cast<std::int64_t>(steps.size());
  proof.verdict = left > 0 ? "not_proved" : "unchanged";
  if (left > 0) {
    proof.why_not.push_back("what " + counted(left, "release") + " left could not be freed");
  }
  return proof;
}

/// The peak of the finding's device, in a run in which that was freed.
std::optional<model::FreedPeak> freed_peak(const LoadedTrace& trace, const FoundIn& found) {
  for (const analyzer::DeviceAnalysis& device : trace.analysis.devices) {
    if (trace.data->text(device.device) != found.device) continue;
    return model::FreedPeak{found.peak, found.predicted, device.what_if.measured.bytes};
  }
  return std::nullopt;
}

/// Of each process, what the changed run shows that shows most.
/// @param runs  two that were left as they are, then those with what the releases left overwritten or freed
model::ProvedRun by_comparing(const Options& options, const FoundIn& found, const std::vector<OneRun>& runs) {
  model::ProvedRun proved;
  const std::size_t processes = runs[0].traces.size();
  for (std::size_t at = 0; at < processes; ++at) {
    const LoadedTrace& plain = runs[0].traces[at];
    const auto compared = [&](const OneRun& run) -> std::optional<model::ComparedResults> {
      const LoadedTrace* trace = same_process(run, at, processes);
      if (trace == nullptr) return std::nullopt;
      return model::compare_results(plain.analysis, trace->analysis);
    };
    std::optional<model::ProvedProcess> most;
    for (std::size_t changed = 2; changed < runs.size(); ++changed) {
      const LoadedTrace* same = same_process(runs[changed], at, processes);
      const LoadedTrace& trace = same != nullptr ? *same : plain;
      std::optional<model::ReleaseProof> proof =
          options.by == "free" ? freed_in(trace, options) : proof_of_process(trace, options);
      if (!proof) continue;
      model::ProvedProcess process{trace.path, std::move(*proof), compared(runs[changed]), {}};
      judge_results(process, compared(runs[1]));
      if (options.by == "free") process.peak = freed_peak(trace, found);
      if (!most || process.proof.verdict == "touched") most = std::move(process);
    }
    if (most) proved.processes.push_back(std::move(*most));
  }
  return proved;
}

struct Way {
  std::string how, folder;  ///< as recorder::RunOptions::prove_by; inside of the proof's folder
};

/// The runs that a proof needs.
std::vector<Way> ways(const std::string& by) {
  if (by == "fence") return {{"fence", ""}};
  std::vector<Way> ways{{"compare", "plain-1"}, {"compare", "plain-2"}};
  if (by == "free") {
    ways.push_back({"free", "freed"});
  } else {
    // As a float a NaN, which arithmetic keeps; and a large number, which max() and comparisons keep.
    ways.push_back({"poison=255", "poison-1"});
    ways.push_back({"poison=127", "poison-2"});
  }
  return ways;
}

/// @param runs  out: what the result refers to
Expected<model::ProvedRun> proved_run(const Options& options, const FoundIn& found, std::vector<OneRun>& runs) {
  std::int64_t exit = 0;
  for (const Way& way : ways(options.by)) {
    DCMT_ASSIGN_OR_RETURN(OneRun run, run_once(options, way.how, way.folder));
    runs.push_back(std::move(run));
    if (exit == 0) exit = runs.back().exit;
    // A program that fails by itself shows nothing.
    if ((exit != 0 && way.how == "compare") || runs.back().stopped) break;
  }
  model::ProvedRun proved;
  if (options.by == "fence") {
    proved = by_fence(options, runs[0]);
  } else if (runs.size() > 2 && !runs.back().stopped) {
    proved = by_comparing(options, found, runs);
  }
  proved.by = options.by;
  proved.folder = options.folder;
  proved.exit = exit;
  proved.verdict = verdict_of(proved);
  return proved;
}

int exit_code_of(const model::ProvedRun& proved) {
  if (proved.verdict == "touched") return kExitFindings;
  if (proved.exit == kExitStopped) return kExitStopped;
  if (proved.exit != 0) return kExitCommandFailed;
  return proved.verdict == "not_proved" ? kExitNoVerdict : kExitOk;
}

/// @param stopped  somebody ended the command
void print_proof(const model::ProvedRun& proved, bool stopped) {
  const Style style = Style::of_stdout();
  for (const model::ProvedProcess& process : proved.processes) {
    if (proved.processes.size() > 1) std::cout << process.trace << "\n";
    std::cout << lines_of(wording::proved_facts(process, proved.by, style.form()), style);
  }
  if (proved.processes.empty()) {
    const std::string_view why = stopped ? "the command was ended"
                                 : proved.exit == 0 || proved.by == "fence"
                                     ? "none of these parameters was released in this run"
                                     : "the command fails also if it is left as it is";
    std::cout << labelled("proof", "not proved: " + std::string(why), style);
  }
  if (proved.exit != 0) {
    std::cout << labelled("", fmt::format("the command failed: exit code {}", proved.exit), style);
  }
  std::cout << labelled("recorded", proved.folder, style);
}

int prove(Options& options) {
  const Expected<std::vector<LoadedTrace>> traces = load_traces({options.path}, options.rank);
  if (!traces.ok()) return print_error(traces.error());
  if (traces->size() > 1) {
    return print_error({ErrorCode::kUsage, fmt::format("{} has {} traces: name one, or a rank with --rank.",
                                                       options.path, traces->size())});
  }
  const Expected<FoundIn> found = found_in(traces->front(), options.finding, options.by);
  if (!found.ok()) return print_error(found.error());
  options.prove = keys_of(*found);
  options.proved_graphs = analyzer::graphs_by_gather(*traces->front().data);
  if (options.folder.empty()) options.folder = default_folder(program_of(options.command), false);
  options.libraries = library_folder().string();
  set_installed_paths(options);
  std::vector<OneRun> runs;
  const Expected<model::ProvedRun> proved = proved_run(options, *found, runs);
  if (!proved.ok()) return print_error(proved.error());
  if (options.json) {
    std::cout << JsonDocument("prove").with(*proved);
  } else {
    print_proof(*proved, runs.back().stopped);
  }
  return exit_code_of(*proved);
}

}  // namespace

void add_prove_command(Parser app, int& exit_code) {
  Parser command = app.add_subcommand("prove", "Run a program again, and prove that nobody uses what a release left");
  auto options = std::make_shared<Options>();
  command.add_option("TRACE", options->path, "A trace (*.dcmt), or a folder with one; last: the newest run")
      .capture_default_str();
  command.add_option("--rank", options->rank, "Of a folder with several: the trace of this rank");
  command.add_option("--finding", options->finding,
                     "A release that keeps storage, by its number in the report; default: all of them");
  command
      .add_option("--by", options->by,
                  "fence: each access is stopped and named; poison: overwritten, results must "
                  "stay; free: freed, the peak is measured")
      .one_of({"fence", "poison", "free"})
      .capture_default_str();
  command.add_flag("--json", options->json, "Machine-readable output (docs/json.md)");
  add_recording_options(command, options);
  command.footer(
      "What releases of the finding's parameters leave is treated in one of three ways:\n"
      "  fence   on the CPU: the first access is recorded, and the program goes on. Losses and gradients stay the "
      "same.\n"
      "          Each tensor takes whole pages while this command runs.\n"
      "  poison  on the CPU: it is overwritten, in two runs in two ways. Gradients, and numbers that the program "
      "reads,\n"
      "          are compared with those of two runs that are left as they are.\n"
      "  free    it is freed at the next operator, as the fix would do. Results are compared, and the peak is "
      "measured.\n"
      "          Prove first by fence that nobody touches it: a raw pointer would read what took its place.\n\n"
      "Examples:\n"
      "  dc-memtrace prove last -- python train.py\n"
      "  dc-memtrace prove out/ --finding 1 -- train.py --epochs 1\n"
      "  dc-memtrace prove last --finding 1 -o proof -- python train.py\n"
      "  dc-memtrace prove last --finding 1 --by free -- python train.py\n"
      "Exit codes: 0 nobody touched it, or results stay the same, 1 touched, 2 usage, 3 bad input, 4 cannot be proved "
      "or recorded,\n5 a finding of another kind, 6 not proved, 7 the command failed");
  command.callback([options, &exit_code] {
    const std::vector<std::string>& words = words_from_dashes();
    if (words.size() < 2) throw UsageError{"the command to run, such as -- train.py, is required"};
    options->command = with_interpreter({words.begin() + 1, words.end()});
    exit_code = prove(*options);
  });
}

}  // namespace dcmt::cli

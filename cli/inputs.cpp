#include "cli/inputs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/commands.h"
#include "trace/sql/trace_file.h"

namespace dcmt::cli {
namespace {

namespace fs = std::filesystem;

Expected<LoadedTrace> load(const std::string& path) {
  Expected<Database> database = open_trace(path);
  if (!database.ok()) return database.error();
  Expected<analyzer::TraceData> data = analyzer::TraceData::load(*database);
  if (!data.ok()) return data.error();
  auto kept = std::make_unique<analyzer::TraceData>(std::move(*data));
  analyzer::Analysis analysis = analyzer::analyze(*kept);
  return LoadedTrace{path, std::move(kept), std::move(analysis)};
}

Expected<std::vector<std::string>> traces_in(const std::string& folder) {
#ifdef DCMT_HAVE_RUN
  const Status finished = finish_interrupted_run(folder);
  if (!finished.ok()) {
    if (finished.error().code != ErrorCode::kCannotRecord) return finished.error();
    print_error(finished.error());  // it cannot be finished yet, but it can be looked at
  }
#endif
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".dcmt") files.push_back(at->path().string());
  }
  if (error) return Error{ErrorCode::kBadInput, folder + ": cannot be read: " + error.message() + "."};
  if (files.empty()) {
    return Error{ErrorCode::kBadInput, folder + ": no trace (*.dcmt) in this folder. Record one: dc-memtrace run -o " +
                                           folder + " -- <command>"};
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Expected<std::vector<LoadedTrace>> load_traces(const std::vector<std::string>& paths,
                                               std::optional<std::int64_t> rank) {
  std::vector<LoadedTrace> traces;
  for (const std::string& path : paths) {
    std::vector<std::string> files{path};
    std::error_code ignored;  // a path that cannot be looked at is explained by open_trace
    if (fs::is_directory(path, ignored)) {
      Expected<std::vector<std::string>> found = traces_in(path);
      if (!found.ok()) return found.error();
      files = std::move(*found);
    }
    const auto first = static_cast<std::ptrdiff_t>(traces.size());
    for (const std::string& file : files) {
      Expected<LoadedTrace> trace = load(file);
      if (!trace.ok()) return trace.error();
      if (!rank || trace->analysis.facts.rank == *rank) traces.push_back(std::move(*trace));
    }
    std::stable_sort(traces.begin() + first, traces.end(), [](const LoadedTrace& a, const LoadedTrace& b) {
      return a.analysis.facts.rank < b.analysis.facts.rank;
    });
  }
  if (traces.empty())
    return Error{ErrorCode::kBadInput, "no trace of rank " + std::to_string(rank.value_or(0)) + " there."};
  return traces;
}

}  // namespace dcmt::cli

#include "cli/rank_summaries.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "cli/new_file.h"
#include "trace/base/build_id.h"
#include "trace/sql/meta_keys.h"
#include "trace/sql/read_meta.h"
#include "trace/sql/trace_file.h"

namespace dcmt::cli {
namespace {

namespace fs = std::filesystem;
using analyzer::RankSummary;

constexpr std::uintmax_t kLargestSummary = 64 << 20;
// The limit at the end of a job: about a second per trace, and no more memory than a small recorder.
constexpr std::uintmax_t kLargestAtTheEnd = 64 << 20;
constexpr std::chrono::seconds kLongestAtTheEnd(10);

std::string summary_file(const std::string& trace) { return trace + ".summary"; }

/// A text that changes whenever the trace or the build does. nullopt if the trace may change at any time.
Expected<std::optional<std::string>> state_of(Database& trace) {
  static const std::string kBuild = build_id_of("/proc/self/exe");
  std::string state = kBuild;
  bool finished = false;
  DCMT_RETURN_IF_ERROR(each_row(trace,
                                "SELECT key, value FROM meta WHERE key IN ('state', 'pid', 'rank', 'world_size', "
                                "'start_real_ns', 'last_seq') ORDER BY key",
                                [&](const Statement& row) {
                                  const std::string_view key = row.text(0);
                                  const std::string value(row.text(1));
                                  if (key == meta::kState) finished = value == "finished" || value == "recovered";
                                  state.append(" ").append(value);
                                }));
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(trace.path(), error);
  if (error || kBuild.empty() || !finished) return std::optional<std::string>();
  char changes[4] = {};  // the change counter in the header of a SQLite file
  std::ifstream file(trace.path(), std::ios::binary);
  if (!file.seekg(24).read(changes, sizeof changes)) return std::optional<std::string>();
  for (const char byte : changes) state.append(" ").append(std::to_string(static_cast<unsigned char>(byte)));
  return std::optional(state + " " + std::to_string(bytes));
}

std::optional<RankSummary> read_summary(const std::string& trace, const std::string& state) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(summary_file(trace), error);
  if (error || bytes > kLargestSummary) return std::nullopt;
  std::ifstream file(summary_file(trace), std::ios::binary);
  return analyzer::summary_in(std::string(std::istreambuf_iterator<char>(file), {}), state);
}

/// The file is readable for users who can read the trace: its owner. If it cannot be written, the trace is read again.
void write_summary(const std::string& trace, const std::string& state, const RankSummary& summary) {
  NewFile file(summary_file(trace));
  if (!file.check(true).ok()) return;
  std::ofstream out(file.part(), std::ios::binary);
  std::error_code error;
  fs::permissions(file.part(), fs::perms::owner_read | fs::perms::owner_write, error);
  out << analyzer::text_of(summary, state);
  out.close();
  if (out && !error) static_cast<void>(file.keep().ok());
}

bool of_many_ranks(Database& trace) {
  const Expected<std::optional<std::int64_t>> ranks = meta_integer(trace, meta::kWorldSize);
  return ranks.ok() && ranks->value_or(0) > static_cast<std::int64_t>(kMostInFull);
}

}  // namespace

Expected<RankSummary> load_summary(OpenedTrace trace) {
  const std::string file = trace.database.path();
  const std::string shown = trace.path;
  DCMT_ASSIGN_OR_RETURN(const std::optional<std::string> state, state_of(trace.database));
  if (state) {
    if (std::optional<RankSummary> summary = read_summary(file, *state)) {
      summary->facts.path = shown;
      return std::move(*summary);
    }
  }
  DCMT_ASSIGN_OR_RETURN(const LoadedTrace loaded, load_trace(std::move(trace)));
  RankSummary summary = analyzer::rank_summary(loaded.analysis);
  analyzer::bound(summary);
  if (state) write_summary(file, *state, summary);
  return summary;
}

Expected<std::vector<analyzer::RankFacts>> load_rank_facts(const std::vector<std::string>& paths) {
  DCMT_ASSIGN_OR_RETURN(std::vector<OpenedTrace> opened, open_traces(paths, std::nullopt));
  const bool many = opened.size() > kMostInFull;
  std::vector<analyzer::RankFacts> ranks;
  for (OpenedTrace& trace : opened) {
    if (many) {
      DCMT_ASSIGN_OR_RETURN(RankSummary summary, load_summary(std::move(trace)));
      ranks.push_back(std::move(summary.facts));
    } else {
      DCMT_ASSIGN_OR_RETURN(const LoadedTrace loaded, load_trace(std::move(trace)));
      ranks.push_back(analyzer::rank_facts(loaded.analysis));
    }
  }
  return ranks;
}

void summarize(const std::vector<std::string>& traces) {
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string& trace : traces) {
    std::error_code error;
    if (fs::file_size(trace, error) > kLargestAtTheEnd || error) continue;
    Expected<std::vector<OpenedTrace>> opened = open_traces({trace}, std::nullopt);
    if (!opened.ok() || !of_many_ranks(opened->front().database)) continue;
    static_cast<void>(load_summary(std::move(opened->front())).ok());
    if (std::chrono::steady_clock::now() - begin > kLongestAtTheEnd) return;
  }
}

}  // namespace dcmt::cli

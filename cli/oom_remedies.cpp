#include "cli/oom_remedies.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "render/wording/fragmented_words.h"
#include "trace/base/shell_words.h"
#include "trace/sql/trace_file.h"

namespace dcmt::cli {
namespace {

constexpr std::uintmax_t kLargestTrace = 64 << 20;

/// The model needs the allocator's segments.
bool may_have_remedies(Database& trace) {
  bool may = false;
  const Status read = each_row(trace, "SELECT EXISTS(SELECT 1 FROM oom) AND EXISTS(SELECT 1 FROM segment)",
                               [&](const Statement& row) { may = row.integer(0) != 0; });
  return read.ok() && may;
}

}  // namespace

void print_oom_remedies(const std::vector<std::string>& traces) {
  for (const std::string& trace : traces) {
    std::error_code error;
    if (std::filesystem::file_size(trace, error) > kLargestTrace || error) continue;
    Expected<std::vector<OpenedTrace>> opened = open_traces({trace}, std::nullopt);
    if (!opened.ok() || !may_have_remedies(opened->front().database)) continue;
    const Expected<LoadedTrace> loaded = load_trace(std::move(opened->front()));
    if (!loaded.ok()) continue;
    for (const analyzer::Finding& finding : loaded->analysis.findings) {
      const analyzer::Remedy* best = finding.fragmentation ? finding.fragmentation->best() : nullptr;
      if (best == nullptr || best->fits != true) continue;
      print_note(fmt::format("{}; more: dc-memtrace show reserved {} --at oom", wording::remedy_text(*best, {}),
                             shell_word(trace)));
    }
  }
}

}  // namespace dcmt::cli

#include "collector/recorder/console/live_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "trace/base/printable.h"
#include "trace/base/quantities.h"

namespace dcmt::recorder {
namespace {

constexpr int kMostRows = 16;
constexpr int kFewestForAView = 12;  // rows of a screen; a smaller one has the status line
constexpr std::size_t kMostFindings = 2, kMostPlaces = 5, kMostPlotted = 6;
constexpr std::size_t kMargin = 13;  // "  999.9 MiB ┤"
constexpr std::string_view kSoFar = "so far: ";

/// The text in lines of this width, broken at spaces; the rest is left out.
std::vector<std::string> folded(std::string_view text, std::size_t columns, std::size_t most) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < most) {
    std::size_t end = text.size();
    if (end > columns) {
      const std::size_t space = text.rfind(' ', columns);
      end = space != std::string_view::npos && space > 0 ? space : columns;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return lines;
}

void add_findings(std::vector<std::string>& lines, const std::string& findings, std::size_t columns) {
  if (columns <= kSoFar.size()) return;
  std::string begin(kSoFar);
  for (const std::string& line : folded(findings, columns - kSoFar.size(), kMostFindings)) {
    lines.push_back(begin + line);
    begin.assign(kSoFar.size(), ' ');
  }
}

void add_curve(std::vector<std::string>& lines, const LiveFacts& facts, const MemoryCurve& curve, std::size_t rows,
               std::size_t columns) {
  if (rows == 0 || columns <= kMargin) return;
  const std::vector<std::string> drawn = plot(curve.columns(columns - kMargin), rows, facts.peak);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const std::string value = i == 0 ? rounded_bytes(facts.peak) : i + 1 == drawn.size() ? "0" : "";
    lines.push_back(fmt::format("{:>11} {}{}", value, value.empty() ? "│" : "┤", drawn[i]));
  }
}

void add_places(std::vector<std::string>& lines, const LiveFacts& facts, std::size_t most) {
  for (std::size_t i = 0; i < std::min(most, facts.places.size()); ++i) {
    const AliveGroup& place = facts.places[i];
    const std::string count = place.blocks > 0 ? fmt::format("   {}", counted(place.blocks, "block")) : "";
    lines.push_back(fmt::format("{:>11} {}{}", rounded_bytes(place.bytes), place.name, count));
  }
}

std::string row_of(const LiveProcess& each, const LiveFacts& facts) {
  return fmt::format("{:>11} {} · step {} · peak {}{}{}", rounded_bytes(each.allocated), each.name, each.steps,
                     rounded_bytes(each.peak), each.has_ended ? " · has ended" : "",
                     each.name == facts.shown ? " · shown above" : "");
}

/// Those with the highest peaks, where not all have room.
void add_processes(std::vector<std::string>& lines, const LiveFacts& facts, std::size_t most) {
  if (most == 0) return;
  std::vector<LiveProcess> rows = facts.processes;
  const bool all = rows.size() <= most;
  if (!all) std::ranges::stable_sort(rows, std::greater(), &LiveProcess::peak);
  const std::size_t full = all ? rows.size() : most - 1;
  for (std::size_t i = 0; i < full; ++i) lines.push_back(row_of(rows[i], facts));
  if (all) return;
  lines.push_back(fmt::format("{:>11} {} more, each with a peak of {} or less", "",
                              grouped(static_cast<std::int64_t>(rows.size() - full)), rounded_bytes(rows[full].peak)));
}

}  // namespace

std::string live_view(const LiveFacts& facts, const MemoryCurve& curve, ScreenSize screen) {
  if (screen.rows < kFewestForAView) return printable(facts.status);
  const auto rows = static_cast<std::size_t>(std::min(kMostRows, screen.rows / 2));
  const auto columns = static_cast<std::size_t>(std::max(screen.columns, 1));
  std::vector<std::string> findings, lines{"── " + facts.status};
  add_findings(findings, facts.findings, columns);
  std::size_t room = rows - 1 - findings.size();
  const std::size_t processes = facts.processes.size() > 1 ? std::min(facts.processes.size(), room / 3) : 0;
  room -= processes;
  const std::size_t places = std::min({kMostPlaces, facts.places.size(), room / 2});
  add_curve(lines, facts, curve, std::min(room - places, kMostPlotted), columns);
  add_places(lines, facts, places);
  add_processes(lines, facts, processes);
  lines.insert(lines.end(), findings.begin(), findings.end());
  lines.resize(rows);
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + printable(line);
  return text;
}

}  // namespace dcmt::recorder

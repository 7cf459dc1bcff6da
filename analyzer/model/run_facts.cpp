#include "analyzer/model/run_facts.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <utility>

#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {
namespace {

/// Diagnostics that differ only in addresses count as equal.
std::string without_addresses(std::string_view text) {
  std::string rest;
  for (std::size_t at = 0; at < text.size();) {
    if (!text.substr(at).starts_with("0x")) {
      rest += text[at++];
      continue;
    }
    at += 2;
    while (at < text.size() && std::isxdigit(static_cast<unsigned char>(text[at])) != 0) ++at;
  }
  return rest;
}

/// The usage, relative to the limit, from which a group has reached it: the kernel frees page cache before it kills.
constexpr double kReached = 0.95;

std::optional<GroupKill> group_kill_of(const TraceData& data, const RunFacts& facts) {
  const auto limit = data.meta_integer(meta::kCgroupLimit);
  if (!limit) return {};
  GroupKill kill;
  kill.limit = Bytes(*limit);
  kill.seen = facts.exit == "signal 9" && data.meta_integer(meta::kCgroupKills).value_or(0) > 0;
  if (!data.memory.samples.empty()) {
    const Resident& last = data.memory.samples.back();
    kill.used = last.cgroup;
    kill.process = last.all();
    kill.torch = last.torch;
  }
  const bool reached = kill.used && static_cast<double>(kill.used->value) >= kReached * static_cast<double>(*limit);
  return kill.seen || (facts.state == "recovered" && reached) ? std::optional(kill) : std::nullopt;
}

}  // namespace

RunFacts run_facts(const TraceData& data, const Releases& releases) {
  RunFacts facts;
  facts.state = data.meta_text(meta::kState);
  facts.command = data.meta_text(meta::kCommand);
  facts.exit = data.meta_text(meta::kExit);
  facts.group_kill = group_kill_of(data, facts);
  facts.torch = data.meta_text(meta::kTorch);
  facts.python = data.meta_text(meta::kPython);
  facts.detail = data.meta_text(meta::kDetail);
  facts.history = data.meta_text(meta::kHistory);
  facts.tool_version = data.meta_text(meta::kToolVersion);
  facts.pid = data.meta_integer(meta::kPid).value_or(0);
  facts.rank = data.meta_integer(meta::kRank).value_or(-1);
  facts.world_size = data.meta_integer(meta::kWorldSize).value_or(-1);
  for (const Step& step : releases.steps) {
    if (!step.to.valid()) continue;
    facts.steps += step.count;
    if (!step.sums.valid()) ++facts.steps_kept;
  }
  std::map<Kept, std::int64_t> kept;
  for (const Interval& interval : data.intervals) {
    if (interval.kept != Kept::kNo) kept[interval.kept] += interval.steps;
    facts.final_releases += interval.releases;
  }
  for (const KeySum& sum : data.key_sums) facts.residual_releases += sum.residual;
  for (const auto& [why, steps] : kept) facts.kept.push_back({why, steps});

  facts.records = data.meta_integer(meta::kRecords);
  std::map<std::string, std::int64_t> losses;
  for (const Loss& loss : data.losses) {
    losses[std::string(data.text(loss.reason))] += loss.count;
    facts.lost += loss.count;
  }
  for (const auto& [reason, count] : losses) facts.losses.push_back({reason, count});
  if (const auto last = data.meta_integer(meta::kLastSeq); last && facts.records) {
    const std::int64_t before = data.meta_integer(meta::kFirstSeq).value_or(1) - 1;
    facts.sequence_gaps = std::max<std::int64_t>(0, *last - before - *facts.records);
  }

  for (const ReleaseRow& row : releases.rows) {
    if (!row.mark->flags.final || row.mark->flags.persistent || row.mark->flags.no_gather) continue;
    if (row.mark->bytes_after.value_or(Bytes(0)).value == 0) continue;
    ++facts.releases_with_bytes;
    facts.censuses += row.holders() != nullptr ? 1 : 0;
  }
  for (const Sample& sample : data.samples) facts.unexplained += sample.unexplained;

  std::map<std::pair<StringId, std::string>, std::size_t> alike;
  for (const Diagnostic& diagnostic : data.diagnostics) {
    const std::string text(data.text(diagnostic.text));
    const auto [at, fresh] = alike.try_emplace({diagnostic.code, without_addresses(text)}, facts.diagnostics.size());
    if (fresh) facts.diagnostics.push_back({std::string(data.text(diagnostic.code)), text, 0});
    ++facts.diagnostics[at->second].count;
  }

  const auto start = data.meta_integer(meta::kStartNs);
  const auto end = data.meta_integer(meta::kEndNs);
  if (start && end && *end > *start) {
    facts.seconds = static_cast<double>(*end - *start) * 1e-9;
    if (const auto cpu = data.meta_integer(meta::kRecorderCpuNs)) {
      facts.recorder_cores = static_cast<double>(*cpu) * 1e-9 / *facts.seconds;
    }
  }
  return facts;
}

}  // namespace dcmt::analyzer

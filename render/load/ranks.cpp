#include "render/load/ranks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "analyzer/load/trace_data.h"
#include "analyzer/model/analysis.h"
#include "analyzer/time/curve_overview.h"
#include "trace/base/printable.h"
#include "trace/base/quantities.h"
#include "trace/sql/trace_file.h"

namespace dcmt::load {
namespace {

/// The number of stretches of a curve: about the number of columns of a strip.
constexpr std::size_t kStretches = 1500;

struct OneRank {
  std::string path;  ///< the path that was opened
  analyzer::RankEvents events;
  analyzer::CurveOverview curve;
};

Status read_rank(const std::string& path, const analyzer::Watch& watch, std::vector<analyzer::RankFacts>& facts,
                 std::map<std::string, OneRank>& by_path) {
  OneRank rank;
  rank.path = path;
  DCMT_ASSIGN_OR_RETURN(Database database, open_trace(path));
  analyzer::CurveQuestion question;
  question.rows = kStretches;
  DCMT_ASSIGN_OR_RETURN(rank.curve, analyzer::curve_overview(database, question));
  DCMT_ASSIGN_OR_RETURN(analyzer::TraceData data, analyzer::TraceData::load(database, watch.part(0, 0.7)));
  data.path = printable(path);
  DCMT_ASSIGN_OR_RETURN(const analyzer::Analysis analysis, analyzer::analyze(data, watch.part(0.7, 1)));
  rank.events = analyzer::rank_events(data);
  facts.push_back(analyzer::rank_facts(analysis));
  by_path.insert_or_assign(facts.back().path, std::move(rank));
  return {};
}

std::string note_of(const analyzer::RankFacts& facts, const std::vector<std::string>& in) {
  std::string note = facts.devices.empty() ? "no memory" : "peak " + rounded_bytes(facts.devices.front().bytes.value);
  for (std::size_t i = 0; i < in.size(); ++i) note += (i == 0 ? " · differs in " : ", ") + in[i];
  return note;
}

}  // namespace

double Ranks::axis_of(std::size_t rank, std::int64_t ns) const {
  return static_cast<double>(clocks[rank].common(TimeNs(ns)).value) - static_cast<double>(begin_ns);
}

std::size_t Ranks::index_of(const std::string& path) const {
  return static_cast<std::size_t>(std::ranges::find(paths, path) - paths.begin());
}

Expected<std::shared_ptr<const Ranks>> read_ranks(const std::vector<std::string>& paths, const analyzer::Watch& watch) {
  std::vector<analyzer::RankFacts> facts;
  std::map<std::string, OneRank> by_path;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto share = [&](std::size_t done) { return static_cast<double>(done) / static_cast<double>(paths.size()); };
    DCMT_RETURN_IF_ERROR(watch.check());
    DCMT_RETURN_IF_ERROR(read_rank(paths[i], watch.part(share(i), share(i + 1)), facts, by_path));
  }
  auto ranks = std::make_shared<Ranks>();
  DCMT_ASSIGN_OR_RETURN(ranks->comparison, analyzer::compare_ranks(std::move(facts)));
  ranks->apart = analyzer::ranks_apart(ranks->comparison);
  std::vector<analyzer::RankEvents> events;
  for (const analyzer::RankFacts& each : ranks->comparison.ranks) {
    OneRank& rank = by_path.at(each.path);
    ranks->paths.push_back(rank.path);
    events.push_back(std::move(rank.events));
  }
  ranks->clocks = analyzer::align_ranks(events);

  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < ranks->paths.size(); ++i) {
    const analyzer::CurveOverview& curve = by_path.at(ranks->comparison.ranks[i].path).curve;
    if (!curve.rows.empty()) {
      begin = std::min(begin, ranks->clocks[i].common(curve.rows.front().stretch.from_ns).value);
    }
  }
  ranks->begin_ns = begin != std::numeric_limits<std::int64_t>::max() ? begin : 0;
  for (std::size_t i = 0; i < ranks->paths.size(); ++i) {
    const analyzer::RankFacts& of = ranks->comparison.ranks[i];
    const analyzer::CurveOverview& curve = by_path.at(of.path).curve;
    const auto apart = std::ranges::find(ranks->apart, of.rank, &analyzer::RankApart::rank);
    scene::Strip& strip = ranks->strips.strips.emplace_back();
    strip.name = "rank " + std::to_string(of.rank);
    strip.apart = apart != ranks->apart.end();
    strip.note = note_of(of, strip.apart ? apart->in : std::vector<std::string>{});
    for (const analyzer::CurveRow& row : curve.rows) {
      const double from = ranks->axis_of(i, row.stretch.from_ns.value);
      const double to = std::max(from, ranks->axis_of(i, row.stretch.to_ns.value));
      strip.stretches.push_back({from, to, row.stretch.highest.value});
      ranks->strips.length = std::max(ranks->strips.length, to);
      ranks->strips.most = std::max(ranks->strips.most, row.stretch.highest.value);
    }
  }
  constexpr int kTicks = 8;
  ranks->strips.ticks = scene::time_ticks(ranks->strips.length, kTicks);
  return std::shared_ptr<const Ranks>(std::move(ranks));
}

}  // namespace dcmt::load

// Hands the readers of traces files that no recorder would leave: damaged pages, rows that make no sense, references to
// nothing, circles, tables that are missing. See harness.h for the command line. A trace may be refused with one line;
// otherwise everything that report and show print of it is printed.
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/curve_view.h"
#include "analyzer/model/report.h"
#include "analyzer/model/views.h"
#include "analyzer/testing/test_trace.h"
#include "cli/curve_text.h"
#include "cli/html_page.h"
#include "cli/inputs.h"
#include "cli/json_writer.h"
#include "cli/ranks_text.h"
#include "cli/report_text.h"
#include "cli/show_text.h"
#include "collector/recorder/job/process_recorder.h"
#include "gui/load/comparison.h"
#include "gui/load/device_timeline.h"
#include "gui/load/hold_arrows.h"
#include "gui/load/holder_tree.h"
#include "gui/load/overview.h"
#include "gui/load/query.h"
#include "gui/load/ranks.h"
#include "gui/load/session.h"
#include "gui/load/story_of_storage.h"
#include "gui/scene/address_map.h"
#include "gui/scene/frame.h"
#include "gui/scene/raster.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/random.h"
#include "tests/fuzz/spool_image.h"
#include "tests/fuzz/trace_mutations.h"

namespace {

using namespace dcmt;  // NOLINT(google-build-using-namespace)
using analyzer::GroupBy;
using dcmt::testing::TestTrace;
using fuzz::Outcome;
using fuzz::wrong;

/// A trace of whole steps with findings, written by hand.
void write_by_hand(const std::string& path, fuzz::Random& random) {
  TestTrace trace;
  const auto layers = static_cast<std::int64_t>(1 + random.below(4));
  const bool fixed = random.chance(30);
  for (std::int64_t step = 1; step <= 3; ++step) {
    trace.phase("forward", [&] { dcmt::testing::add_zero3_graph(trace, layers, 1 << 20, fixed); });
    trace.op("c10d::allreduce_", [&] { trace.op("aten::mul_"); });
    const auto kept = trace.allocate(4096);
    trace.gather(layers, kept);
    const std::int64_t release = trace.release(layers, kept);
    trace.op("aten::mm", [&] { trace.read(release, layers, kept, "aten::mm"); });
    trace.user_mark("here");
    trace.step(step);
  }
  if (random.chance(50)) dcmt::testing::add_streams(trace);
  trace.persist(0);
  trace.diagnostic("note", "a note");
  trace.loss("no_room", 2);
  std::filesystem::rename(trace.save(), path);
}

/// A trace as the recorder makes it of a spool in which every type of record occurs.
bool write_by_recorder(const std::string& path, fuzz::Random& random) {
  const std::string spool = path + ".spool";
  std::ofstream(spool, std::ios::binary) << image_of(fuzz::story(random), random);
  auto recorder = recorder::ProcessRecorder::start(spool, path, {{"fuzz"}, {}});
  return recorder.ok() && (*recorder)->finish("exit 0", "finished").ok();
}

void print_trace(const cli::LoadedTrace& trace, std::ostream& out) {
  const cli::Style style;
  const auto peak = model::peak_view(trace.path, trace.analysis);
  const auto releases = model::releases_view(trace.path, trace.analysis);
  out << cli::json_of(model::report_of(trace.path, trace.analysis)) << cli::json_of(peak) << cli::json_of(releases)
      << cli::releases_text(releases, style);
  for (const GroupBy by : {GroupBy::kSite, GroupBy::kOperator, GroupBy::kPhase, GroupBy::kKind, GroupBy::kOwner}) {
    out << cli::peak_text(peak, by, style);
    for (const char* at : {"end", "peak", "oom", "step:2", "here", "forward#2", "17"}) {
      const auto live = model::live_view(trace.path, trace.analysis, at, true);
      if (!live.ok()) continue;
      out << cli::live_text(*live, by, style);
      if (by == GroupBy::kSite) out << cli::json_of(*live);
    }
  }
  for (const analyzer::Storage& storage : trace.data->storages) {
    const auto view = model::storage_view(trace.path, trace.analysis, storage.id);
    if (view.ok()) out << cli::storage_text(*view, style) << cli::json_of(*view);
  }
}

/// What the viewer shows of it, at random places.
void draw_timelines(const cli::LoadedTrace& trace, fuzz::Random& random, std::ostream& out) {
  cli::HtmlPage page;
  if (page.add(trace, "the report").ok()) out << page.page({});
  gui::scene::Painter painter;
  gui::scene::Raster raster;
  for (const analyzer::DeviceAnalysis& device : trace.analysis.devices) {
    auto timeline = gui::load::DeviceTimeline::make(trace.analysis, device, {});
    if (!timeline.ok()) continue;
    gui::scene::View view((*timeline)->recording(), gui::scene::Axis::kTime);
    gui::scene::Look look;
    look.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
    std::vector<gui::scene::LifetimeId> selected((*timeline)->recording().lifetimes().size());
    std::iota(selected.begin(), selected.end(), 0U);
    look.holds = gui::load::hold_arrows(**timeline, model::find_holds(*trace.data), selected);
    for (int step = 0; step < 6; ++step) {
      look.width = 1 + static_cast<int>(random.below(900));
      look.height = 1 + static_cast<int>(random.below(700));
      look.scroll = static_cast<int>(random.below(300));
      view.zoom(random.chance(50) ? 5 : 0.5, 0.01 * static_cast<double>(random.below(100)));
      if (random.chance(30)) view.pan(0.5);
      if (random.chance(30)) view.set_axis((*timeline)->recording(), gui::scene::Axis::kEvents);
      if (random.chance(30)) {
        (*timeline)->stack_by(analyzer::kGroupNames[random.below(std::size(analyzer::kGroupNames))].by);
      }
      raster.begin(look.width, look.height, look.theme->background);
      painter.draw((*timeline)->document(), view, look, raster);
      if (painter.hit((*timeline)->document(), look.width / 2, look.height / 2)) out << "a bar\n";
    }
    std::vector<gui::load::BlockAddress> addresses;
    for (const analyzer::Block& block : trace.data->blocks)
      addresses.push_back({block.id, random.bits() >> random.below(64)});
    (*timeline)->set_by_address((*timeline)->by_address(addresses));
    (*timeline)->arrange(gui::load::Arrangement::kAddress);
    const gui::load::ByAddress& places = *(*timeline)->addresses();
    const auto stretches =
        gui::scene::stretches_at((*timeline)->recording(), places.addresses, places.places,
                                 static_cast<gui::scene::Unit>(random.below((*timeline)->recording().units())));
    raster.begin(look.width, look.height, look.theme->background);
    painter.draw((*timeline)->document(), view, look, raster);
    const auto map = gui::scene::draw_address_map((*timeline)->recording(), places.addresses, stretches, look, raster);
    if (gui::scene::hit(map, look.width / 2, look.height / 2)) out << "a block\n";
    for (const analyzer::Finding& finding : trace.analysis.findings) {
      (*timeline)->show((*timeline)->without({finding.number}));
      painter.draw((*timeline)->document(), view, look, raster);
    }
  }
}

/// What the viewer's panels draw: the stories of a few storages with their holders, ranks and runs beside each other.
/// False: refused with something else than one line.
bool draw_panels(const std::vector<std::string>& paths, fuzz::Random& random) {
  const auto is_one_line = [](const Error& error) {
    return !error.message.empty() && error.message.find('\n') == std::string::npos;
  };
  gui::scene::Look look;
  look.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
  look.width = 1 + static_cast<int>(random.below(900));
  look.height = 1 + static_cast<int>(random.below(300));
  gui::scene::Raster raster;
  raster.begin(look.width, look.height, look.theme->background);
  std::vector<std::shared_ptr<gui::load::Session>> sessions;
  for (const std::string& path : paths) {
    auto session = gui::load::open_session(path);
    if (!session.ok()) return is_one_line(session.error());
    sessions.push_back(*session);
  }
  const gui::load::Session& session = *sessions.front();
  const gui::scene::Recording& recording = session.devices.front()->recording();
  std::size_t stories = 0;
  for (const analyzer::Storage& each : session.data->storages) {
    if (++stories > 20) break;
    const auto storage = model::storage_view(session.path, session.analysis, each.id);
    const auto holders =
        model::holders_view(session.path, session.analysis, "storage:" + std::to_string(each.id.value));
    if (!storage.ok() || !holders.ok()) continue;
    const auto story =
        gui::load::story_of(*storage, *holders, recording.begin_ns(), recording.end_ns() - recording.begin_ns());
    gui::scene::draw_story_chart(story.chart, look, story.chart.length / 2, raster);
    gui::scene::draw_holder_tree(gui::load::holder_tree(*holders, 60), look, &raster);
  }
  const auto comparison = gui::load::compare(session, *sessions.back());
  gui::scene::draw_strips(comparison->strips, look, 0.5, 1, raster);
  const auto ranks = gui::load::read_ranks(paths, {});
  if (!ranks.ok()) return is_one_line(ranks.error());
  gui::scene::draw_strips((*ranks)->strips, look, (*ranks)->axis_of(0, recording.end_ns()), 0, raster);
  const auto answer = gui::load::run_query(paths.front(), "SELECT * FROM allocated", 100, {});
  return answer.ok() || is_one_line(answer.error());
}

/// False: refused with something else than one line.
bool print_curve(const std::string& path, fuzz::Random& random, std::ostream& out) {
  const auto overview = gui::load::read_overview(path, 500);
  if (!overview.ok() && overview.error().message.find('\n') != std::string::npos) return false;
  auto traces = cli::open_traces({path}, std::nullopt);
  if (!traces.ok()) return true;  // as report refuses it
  analyzer::CurveQuestion question{"", "", "", 1 + random.below(30)};
  if (random.chance(50)) question.from = random.chance(50) ? "step:2" : std::to_string(1 + random.below(60));
  const auto curve = analyzer::curve_overview(traces->front().database, question);
  if (!curve.ok()) return !curve.error().message.empty() && curve.error().message.find('\n') == std::string::npos;
  const auto view = model::curve_view(path, 0, *curve);
  out << cli::curve_text(view, cli::Style{}) << cli::json_of(view);
  return true;
}

void print_ranks(const std::vector<cli::LoadedTrace>& traces, std::ostream& out) {
  std::vector<analyzer::RankFacts> ranks;
  for (const cli::LoadedTrace& trace : traces) {
    ranks.push_back(analyzer::rank_facts(trace.analysis));
    ranks.back().rank = static_cast<std::int64_t>(ranks.size());  // or most would be refused
    ranks.back().world_size = 4;
  }
  const auto comparison = analyzer::compare_ranks(std::move(ranks));
  if (comparison.ok()) {
    out << cli::ranks_text(*comparison, cli::Style{}) << cli::json_of(*comparison);
  }
}

Outcome run(std::uint64_t seed, const std::string& folder) {
  fuzz::Random random(seed);
  const std::string path = folder + "/rank0.dcmt";
  if (random.chance(50)) {
    write_by_hand(path, random);
  } else if (!write_by_recorder(path, random)) {
    return wrong("no trace could be made");
  }
  const bool pristine = random.chance(5);
  if (!pristine) fuzz::mutate_trace(path, random);

  std::vector<std::string> paths{path};
  if (random.chance(20)) {
    paths.push_back(folder + "/rank1.dcmt");
    write_by_hand(paths.back(), random);
  }
  std::ostringstream out;
  if (!print_curve(path, random, out)) return wrong("the curve was not refused with one line");
  if (random.chance(30) && !draw_panels(paths, random)) return wrong("a panel was not refused with one line");
  const auto traces = cli::load_traces(paths, std::nullopt);
  if (!traces.ok()) {
    const std::string& message = traces.error().message;
    if (pristine || message.empty() || message.find('\n') != std::string::npos) {
      return wrong("refused with: '" + message + "'");
    }
    return Outcome::kRefused;
  }
  cli::ReportText report(traces->size() > 1, cli::Style{});
  for (const cli::LoadedTrace& trace : *traces) report.add(model::report_of(trace.path, trace.analysis));
  out << report.text();
  print_ranks(*traces, out);
  for (const cli::LoadedTrace& trace : *traces) {
    print_trace(trace, out);
    draw_timelines(trace, random, out);
  }
  return out.str().empty() ? wrong("nothing was printed") : Outcome::kDone;
}

}  // namespace

int main(int argc, char** argv) { return fuzz::fuzz_main(argc, argv, "shown", run); }

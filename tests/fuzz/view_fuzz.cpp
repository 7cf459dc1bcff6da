// Hands the timeline viewer, without its window, traces that no recorder would leave (made_traces.h): opens them, draws
// timelines at random places and what panels show, and does beside each other what its threads do. See harness.h for
// the command line. A trace may be refused with one line.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/views.h"
#include "analyzer/storages/group_names.h"
#include "render/load/comparison.h"
#include "render/load/device_timeline.h"
#include "render/load/hold_arrows.h"
#include "render/load/holder_tree.h"
#include "render/load/overview.h"
#include "render/load/query.h"
#include "render/load/ranks.h"
#include "render/load/session.h"
#include "render/load/story_of_storage.h"
#include "render/scene/address_map.h"
#include "render/scene/frame.h"
#include "render/scene/overview.h"
#include "render/scene/raster.h"
#include "tests/fuzz/beside_window.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/made_traces.h"
#include "tests/fuzz/random.h"

namespace {

using namespace dcmt;  // NOLINT(google-build-using-namespace)
using fuzz::Outcome;
using fuzz::wrong;
using load::Session;

bool is_one_line(const Error& error) { return !error.message.empty() && error.message.find('\n') == std::string::npos; }

/// The picture before the rows are read. False: refused with something else than one line.
bool draw_overview(const std::string& path) {
  const auto overview = load::read_overview(path, 500);
  if (!overview.ok()) return is_one_line(overview.error());
  scene::Appearance appearance;
  appearance.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
  appearance.width = 300;
  appearance.height = 200;
  scene::Raster raster;
  raster.begin(appearance.width, appearance.height, appearance.theme->background);
  scene::draw_overview(*overview, appearance, "reading the rest", raster);
  return true;
}

/// What the viewer shows of it, at random places.
void draw_timelines(const Session& session, fuzz::Random& random) {
  scene::Painter painter;
  scene::Raster raster;
  for (const auto& timeline : session.devices) {
    scene::View view(timeline->recording(), scene::Axis::kTime);
    scene::Appearance appearance;
    appearance.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
    std::vector<scene::LifetimeId> selected(timeline->recording().lifetimes().size());
    std::iota(selected.begin(), selected.end(), 0U);
    appearance.holds = load::hold_arrows(*timeline, session.holds, selected);
    for (int step = 0; step < 6; ++step) {
      appearance.width = 1 + static_cast<int>(random.below(900));
      appearance.height = 1 + static_cast<int>(random.below(700));
      appearance.scroll = static_cast<int>(random.below(300));
      view.zoom(random.chance(50) ? 5 : 0.5, 0.01 * static_cast<double>(random.below(100)));
      if (random.chance(30)) view.pan(0.5);
      if (random.chance(30)) view.set_axis(timeline->recording(), scene::Axis::kEvents);
      if (random.chance(30)) {
        timeline->stack_by(analyzer::kGroupNames[random.below(std::size(analyzer::kGroupNames))].by);
      }
      raster.begin(appearance.width, appearance.height, appearance.theme->background);
      painter.draw(timeline->document(), view, appearance, raster);
      static_cast<void>(painter.hit(timeline->document(), appearance.width / 2, appearance.height / 2));
    }
    const auto by_address = timeline->by_address([&](const load::ReceiveAddress& receive) -> Status {
      for (const analyzer::Block& block : session.data->blocks) receive(block.id, random.bits() >> random.below(64));
      return {};
    });
    timeline->add_lanes(**by_address);
    timeline->set_by_address(*by_address);
    timeline->arrange(load::Arrangement::kAddress);
    const load::ByAddress& places = *timeline->addresses();
    const auto stretches = scene::stretches_at(timeline->recording(), places.addresses, places.stretches,
                                               static_cast<scene::Unit>(random.below(timeline->recording().units())));
    raster.begin(appearance.width, appearance.height, appearance.theme->background);
    painter.draw(timeline->document(), view, appearance, raster);
    const auto map = scene::draw_address_map(timeline->recording(), places.addresses, stretches, appearance, raster);
    static_cast<void>(scene::hit(map, appearance.width / 2, appearance.height / 2));
    for (const analyzer::Finding& finding : session.analysis.findings) {
      timeline->show(timeline->without({finding.number}));
      painter.draw(timeline->document(), view, appearance, raster);
    }
  }
}

/// What the viewer's panels draw: the stories of a few storages with their holders, ranks and runs beside each other.
/// False: refused with something else than one line.
bool draw_panels(const std::vector<std::string>& paths, const std::vector<std::shared_ptr<Session>>& sessions,
                 fuzz::Random& random) {
  scene::Appearance appearance;
  appearance.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
  appearance.width = 1 + static_cast<int>(random.below(900));
  appearance.height = 1 + static_cast<int>(random.below(300));
  scene::Raster raster;
  raster.begin(appearance.width, appearance.height, appearance.theme->background);
  const Session& session = *sessions.front();
  const scene::Recording& recording = session.devices.front()->recording();
  std::size_t stories = 0;
  for (const analyzer::Storage& each : session.data->storages) {
    if (++stories > 20) break;
    const auto storage = model::storage_view(session.path, session.analysis, each.id);
    const auto holders =
        model::holders_view(session.path, session.analysis, "storage:" + std::to_string(each.id.value));
    if (!storage.ok() || !holders.ok()) continue;
    const auto story =
        load::story_of(*storage, *holders, recording.begin_ns(), recording.end_ns() - recording.begin_ns());
    scene::draw_story_chart(story.chart, appearance, story.chart.length / 2, raster);
    scene::draw_holder_tree(load::holder_tree(*holders, 60), appearance, &raster);
  }
  const auto comparison = load::compare(session, *sessions.back());
  scene::draw_strips(comparison->strips, appearance, 0.5, 1, raster);
  const auto ranks = load::read_ranks(paths, {});
  if (!ranks.ok()) return is_one_line(ranks.error());
  scene::draw_strips((*ranks)->strips, appearance, (*ranks)->axis_of(0, recording.end_ns()), 0, raster);
  const auto answer = load::run_query(paths.front(), "SELECT * FROM allocated", 100, {});
  return answer.ok() || is_one_line(answer.error());
}

Outcome run(std::uint64_t seed, const std::string& folder) {
  fuzz::Random random(seed);
  const auto [paths, pristine] = fuzz::make_traces(folder, random);
  if (paths.empty()) return wrong("no trace could be made");
  if (!draw_overview(paths.front())) return wrong("the overview was not refused with one line");
  std::vector<std::shared_ptr<Session>> sessions;
  for (const std::string& path : paths) {
    auto session = load::open_session(path);
    if (!session.ok()) {
      return pristine || !is_one_line(session.error()) ? wrong("refused with: '" + session.error().message + "'")
                                                       : Outcome::kRefused;
    }
    sessions.push_back(*session);
  }
  fuzz::use_beside_window(*sessions.front(), *sessions.back(), random);
  if (!draw_panels(paths, sessions, random)) return wrong("a panel was not refused with one line");
  for (const auto& session : sessions) draw_timelines(*session, random);
  return Outcome::kDone;
}

}  // namespace

int main(int argc, char** argv) { return fuzz::fuzz_main(argc, argv, "drawn", run); }

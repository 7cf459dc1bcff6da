#include "tests/fuzz/beside_window.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <thread>
#include <vector>

#include "analyzer/model/views.h"
#include "analyzer/storages/group_names.h"
#include "render/load/comparison.h"
#include "render/load/device_timeline.h"
#include "render/scene/frame.h"
#include "render/scene/raster.h"

namespace dcmt::fuzz {
namespace {

using load::DeviceTimeline;
using load::Session;

constexpr int kFrames = 4;

/// As the window's thread. @param stacks  whether the area may be stacked by something else meanwhile
void draw(const Session& session, DeviceTimeline& timeline, bool stacks, Random& random) {
  scene::Painter painter;
  scene::Raster raster;
  scene::Appearance appearance;
  appearance.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
  appearance.width = 300;
  appearance.height = 200;
  scene::View view(timeline.recording(), scene::Axis::kTime);
  const std::size_t storages = session.data->storages.size();
  for (int frame = 0; frame < kFrames; ++frame) {
    if (stacks) timeline.stack_by(analyzer::kGroupNames[random.below(std::size(analyzer::kGroupNames))].by);
    view.zoom(random.chance(50) ? 3 : 0.5, 0.5);
    raster.begin(appearance.width, appearance.height, appearance.theme->background);
    painter.draw(timeline.document(), view, appearance, raster);
    static_cast<void>(timeline.find("a"));
    if (storages == 0) continue;
    const auto storage = std::next(session.data->storages.begin(), static_cast<std::ptrdiff_t>(random.below(storages)));
    static_cast<void>(model::storage_view(session.path, session.analysis, storage->id));
  }
}

}  // namespace

void use_beside_window(const Session& session, const Session& before, Random& random) {
  std::vector<std::pair<BlockId, std::uint64_t>> addresses;
  for (const analyzer::Block& block : session.data->blocks)
    addresses.emplace_back(block.id, random.bits() >> random.below(64));
  const auto read = [&](const load::ReceiveAddress& receive) -> Status {
    for (const auto& [block, address] : addresses) receive(block, address);
    return {};
  };
  for (const auto& timeline : session.devices) {
    {
      const std::jthread what_if([&] {
        for (const analyzer::Finding& finding : session.analysis.findings)
          static_cast<void>(timeline->without({finding.number}));
      });
      const std::jthread comparing([&] { static_cast<void>(load::compare(before, session)); });
      draw(session, *timeline, true, random);
    }
    const std::jthread arranging([&] { timeline->add_lanes(**timeline->by_address(read)); });
    draw(session, *timeline, false, random);
  }
}

}  // namespace dcmt::fuzz

#include "render/load/story_of_storage.h"

#include <algorithm>
#include <map>
#include <string>

#include "render/scene/strips.h"
#include "render/wording/reference_words.h"
#include "render/wording/story_words.h"
#include "trace/base/quantities.h"

namespace dcmt::load {
namespace {

using analyzer::MarkKind;
using scene::StoryChart;
using Point = StoryChart::Point;

/// The maximum of rows of a kind.
constexpr std::size_t kMostTensors = 12;
constexpr std::size_t kMostHolders = 16;
constexpr std::size_t kMostReferences = 24;
constexpr std::size_t kMostPoints = 2000;

std::optional<Point> point_of(const model::StoryEvent& event) {
  if (event.what != model::StoryEvent::What::kMark) return std::nullopt;
  const auto point = [&event](Point::What what) { return Point{what, 0, wording::short_event_text(event)}; };
  switch (event.kind) {
    case MarkKind::kGather:
    case MarkKind::kWait:
      return point(Point::What::kGather);
    case MarkKind::kRead:
    case MarkKind::kTouch:
      return point(Point::What::kRead);
    case MarkKind::kRelease:
      return point(Point::What::kRelease);
    case MarkKind::kCensus:
      return point(Point::What::kOther);
    default:
      return std::nullopt;
  }
}

class Builder {
 public:
  Builder(const model::StorageView& storage, std::int64_t start_ns, std::int64_t end_ns)
      : storage_(storage), start_(start_ns), end_(end_ns) {}

  StoryOfStorage build(const model::HoldersView& holders) {
    find_axis(holders);
    bytes();
    tensors();
    names();
    readings(holders);
    references();
    points();
    constexpr int kTicks = 6;
    story_.chart.ticks = scene::time_ticks(story_.chart.length, kTicks);
    for (scene::Tick& tick : story_.chart.ticks) {
      tick.label = scene::time_label(tick.x + static_cast<double>(story_.begin_ns), story_.chart.ticks[1].x,
                                     story_.chart.length + static_cast<double>(story_.begin_ns));
    }
    return std::move(story_);
  }

 private:
  [[nodiscard]] double x(TimeNs at) const {
    return static_cast<double>(at.value) - static_cast<double>(start_) - static_cast<double>(story_.begin_ns);
  }
  [[nodiscard]] double x(const std::optional<model::RunPoint>& at) const {
    return at ? x(at->ns) : story_.chart.length;
  }

  /// Sets the axis from the birth to the last known event, with some space.
  void find_axis(const model::HoldersView& holders) {
    std::int64_t begin = storage_.born.ns.value - start_;
    std::int64_t end = storage_.bytes_gone ? storage_.bytes_gone->at.ns.value - start_ : end_;
    if (storage_.last_reference_gone) end = std::max(end, storage_.last_reference_gone->ns.value - start_);
    for (const model::HoldingPath& path : holders.paths) end = std::max(end, path.still.after_start.value);
    end = std::max(end, begin + 1);
    const std::int64_t room = std::max<std::int64_t>(1, (end - begin) / 20);
    story_.begin_ns = std::max<std::int64_t>(0, begin - room);
    story_.chart.length = static_cast<double>(end - story_.begin_ns) + static_cast<double>(room);
  }

  void bytes() {
    std::optional<double> released;
    for (const model::StoryEvent& event : storage_.events) {
      if (event.what == model::StoryEvent::What::kMark && event.kind == MarkKind::kRelease && event.final)
        released = x(event.at.ns);
    }
    // The model counts from the end of the release.
    if (storage_.held_for && storage_.bytes_gone)
      released = x(storage_.bytes_gone->at.ns) - static_cast<double>(storage_.held_for->value);
    for (const model::StoryBlock& block : storage_.blocks) {
      StoryChart::Bar bar{StoryChart::What::kBytes,
                          "storage " + std::to_string(storage_.storage.value),
                          rounded_bytes(block.bytes.value),
                          x(block.born.ns),
                          x(block.freed),
                          {},
                          false};
      if (storage_.held_for && released && *released > bar.from && *released < bar.to) bar.dead_from = released;
      story_.chart.bars.push_back(bar);
    }
    if (story_.chart.bars.empty()) {
      story_.chart.bars.push_back({StoryChart::What::kBytes,
                                   "storage " + std::to_string(storage_.storage.value),
                                   "",
                                   x(storage_.born.ns),
                                   x(storage_.last_reference_gone),
                                   {},
                                   storage_.birth_is_first_sight});
    }
  }

  void tensors() {
    for (const model::StoryTensor& tensor : storage_.tensors) {
      if (by_tensor_.size() == kMostTensors) break;
      by_tensor_.emplace(tensor.tensor.value, story_.chart.bars.size());
      story_.chart.bars.push_back({StoryChart::What::kTensor,
                                   "tensor " + std::to_string(tensor.tensor.value),
                                   "",
                                   x(tensor.from.ns),
                                   x(tensor.to),
                                   {},
                                   false});
      held(story_.chart.bars.size() - 1, 0);
    }
  }

  /// The results of a census: names that existed by then.
  void names() {
    std::map<std::string, bool> known;
    for (const analyzer::Holders& census : storage_.censuses) {
      for (const analyzer::HolderPath& path : census.paths) {
        std::string name(path.function.value_or("a frame"));
        for (std::size_t i = 0; i < path.names.size(); ++i)
          name += (i == 0 ? ": " : ", ") + std::string(path.names[i].name.value_or("?"));
        if (known.size() == kMostHolders || !known.emplace(name, true).second) continue;
        const double from = x(path.held_since_at_most.ns);
        // Without a delete, the name lasts until the bytes are freed. With one, its end was not observed.
        const bool deleted =
            std::ranges::any_of(path.names, [](const auto& each) { return each.delete_line.has_value(); });
        const bool to_return = path.return_line && !deleted && storage_.bytes_gone;
        const double to = to_return ? x(storage_.bytes_gone->at.ns) : x(census.at().ns);
        std::size_t what = 0;
        if (path.tensor) {
          if (const auto found = by_tensor_.find(path.tensor->value); found != by_tensor_.end()) what = found->second;
        }
        story_.chart.bars.push_back({StoryChart::What::kHolder,
                                     name,
                                     to_return ? "not deleted before the return" : "",
                                     from,
                                     std::max(from, to),
                                     {},
                                     true});
        held(story_.chart.bars.size() - 1, what);
      }
    }
  }

  /// The results of readings of the memory, from the first to the last that found them.
  void readings(const model::HoldersView& holders) {
    std::size_t count = 0;
    for (const model::HoldingPath& path : holders.paths) {
      if (count++ == kMostHolders) break;
      const double from = static_cast<double>(path.found.after_start.value - story_.begin_ns);
      const double to = static_cast<double>(path.still.after_start.value - story_.begin_ns);
      story_.chart.bars.push_back({StoryChart::What::kHolder,
                                   path.path,
                                   path.confirmed ? "" : "changed while it was read",
                                   from,
                                   to,
                                   {},
                                   true});
      held(story_.chart.bars.size() - 1, 0);
    }
  }

  /// References that were watched, from the change that took them to the one that gave them back: those that are left
  /// first. What a line takes and gives back is too short to be seen.
  void references() {
    std::size_t count = 0;
    const auto add = [&](const model::CountStory& story, const std::vector<model::ReferenceRow>& rows,
                         bool at_exit = false) {
      for (const model::ReferenceRow& row : rows) {
        if (!row.taken || wording::is_within_a_line(row) || count == kMostReferences) continue;
        ++count;
        const double from = x(row.first.ns);
        const double to = row.given_back ? x(row.last.ns) : x(story.to);
        story_.chart.bars.push_back({StoryChart::What::kReference,
                                     row.taken->code.value_or(row.taken->by.site),
                                     at_exit ? "to the exit" : wording::reference_end(story, row),
                                     from,
                                     std::max(from, to),
                                     {},
                                     false});
        const auto tensor = story.tensor ? by_tensor_.find(story.tensor->value) : by_tensor_.end();
        held(story_.chart.bars.size() - 1, tensor != by_tensor_.end() ? tensor->second : 0);
      }
    };
    for (const model::CountStory& story : storage_.references) {
      add(story, story.left);
      add(story, story.at_exit, true);
    }
    for (const model::CountStory& story : storage_.references) add(story, story.given_back);
  }

  void held(std::size_t holder, std::size_t what) {
    const StoryChart::Bar& by = story_.chart.bars[holder];
    story_.chart.arrows.push_back({holder, what, std::clamp(by.from, 0.0, story_.chart.length)});
  }

  void points() {
    for (const model::StoryEvent& event : storage_.events) {
      if (story_.chart.points.size() == kMostPoints) break;
      if (std::optional<Point> point = point_of(event)) {
        point->at = x(event.at.ns);
        story_.chart.points.push_back(std::move(*point));
      }
    }
    std::ranges::stable_sort(story_.chart.points, {}, &Point::at);
  }

  const model::StorageView& storage_;
  std::int64_t start_, end_;
  StoryOfStorage story_;
  std::map<std::int64_t, std::size_t> by_tensor_;
};

}  // namespace

StoryOfStorage story_of(const model::StorageView& storage, const model::HoldersView& holders, std::int64_t start_ns,
                        std::int64_t end_ns) {
  return Builder(storage, start_ns, end_ns).build(holders);
}

}  // namespace dcmt::load

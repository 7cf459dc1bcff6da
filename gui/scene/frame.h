// One picture of a recording: ruler, steps, phases, the curve and bands of lanes.
//
// What a picture shows is said as facts, too: which texts stand where, what each column of the curve stands for, which
// bars are drawn. Tests compare these; the window finds with them what lies below the pointer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/scene/band_curves.h"
#include "gui/scene/canvas.h"
#include "gui/scene/colors.h"
#include "gui/scene/curve.h"
#include "gui/scene/lanes.h"
#include "gui/scene/recording.h"
#include "gui/scene/view.h"

namespace dcmt::gui::scene {

struct BandOf {
  std::string name;
  std::int64_t finding = 0;  ///< its number; 0: not of one
  bool open = true;          ///< its lanes are drawn, not only its bytes
  std::string count = {};    ///< of its lifetimes; left out where there is no room for all of it
};

/// A stretch with a name: a step, a phase.
struct Named {
  std::string name;
  Unit from = 0, to = 0;
};

/// What an allocator had reserved in a stretch, at most.
struct Reserved {
  Unit from = 0, to = 0;
  std::int64_t bytes = 0;
};

/// Points of a few kinds: one row. A column shows the last kind that it has.
struct PointRow {
  struct Kind {
    std::string name;
    std::uint8_t group = 0;   ///< its color
    bool finding = false;     ///< or that of findings
    std::vector<Unit> units;  ///< ascending
  };
  std::string name;
  std::vector<Kind> kinds;
};

/// What lasted, one after the other, of which there may be millions: the operators of a thread.
struct SpanRow {
  struct Span {
    double from = 0, to = 0;  ///< on the axis
    std::uint32_t index = 0;
  };
  std::string name, unit;  ///< "operators", "operators": the latter behind a number
  /// Those that lie in [from, to) of the axis of `view`, in order, if they are at most `most`; else none. Returns how
  /// many there are. Replaces what is in `found`.
  std::function<std::size_t(const View& view, std::size_t most, std::vector<Span>& found)> spans;
  /// Writes into a string that is empty.
  std::function<void(std::uint32_t index, std::string&)> label;
};

/// What is drawn. All parts outlive the picture.
struct Document {
  const Recording* recording = nullptr;
  const Lanes* lanes = nullptr;
  const Curve* curve = nullptr;
  const BandCurves* band_curves = nullptr;
  const Curve* without = nullptr;  ///< the curve without what is kept for nothing; nullptr: there is nothing
  std::vector<Dead> dead;          ///< ascending by lifetime
  std::vector<BandOf> bands;
  std::vector<Named> steps, phases;  ///< each in order
  std::vector<SpanRow> spans;
  std::vector<PointRow> points;
  std::vector<Named> lost;          ///< stretches in which something was not recorded, in order
  std::vector<Named> sums_only;     ///< stretches of which no lifetimes are known
  std::vector<std::string> groups;  ///< names; of those that are used
  std::string peak_text;            ///< "peak 12.1 MiB · step 1 · forward"
  std::vector<Reserved> reserved;   ///< in order; empty: nothing is known of it
  /// What a bar says. Writes into a string that is empty.
  std::function<void(LifetimeId, std::string&)> label;
};

/// What holds a lifetime, as an arrow between their bars at a unit of both.
struct HoldArrow {
  LifetimeId holder = kNoLifetime, held = kNoLifetime;
  Unit at = 0;
};

struct Look {
  int width = 0, height = 0;  ///< of the picture
  int text_height = 16;
  int scroll = 0;  ///< of the bands
  const Theme* theme = &kLight;
  std::function<int(std::string_view)> text_width;
  std::optional<LifetimeId> selected;
  std::optional<LifetimeId> hovered;
  std::optional<Unit> point;
  std::optional<std::pair<Unit, Unit>> range;
  std::vector<HoldArrow> holds;  ///< of what is selected
};

/// A horizontal part of the picture.
struct Row {
  enum class What : std::uint8_t { kRuler, kSteps, kPhases, kLost, kSpans, kPoints, kCurve, kBand, kLane };
  What what = What::kRuler;
  int y = 0, height = 0;
  std::uint32_t index = 0;  ///< of the band, of the lane, of its kind of row
};

struct BarOf {
  LifetimeId lifetime = kNoLifetime;
  Box box;
};

/// From the holder's bar to that of what it holds; to the edge of the picture if one of them is selected and the other
/// one not seen.
struct ArrowOf {
  LifetimeId holder = kNoLifetime, held = kNoLifetime;
  Box line;
};

struct TextOf {
  Box box;
  std::string text;
};

struct Facts {
  Box chart;  ///< where columns are; left of it stand names
  std::vector<Column> columns;
  std::vector<CurveColumn> curve;      ///< of each column
  std::vector<GroupBytes> groups;      ///< at the highest unit of each column
  std::vector<CurveColumn> without;    ///< of each column; empty: there is none
  std::vector<std::int64_t> dead;      ///< of it, at the highest unit of each column of the curve
  std::vector<std::int64_t> reserved;  ///< of each column, at most, -1: not known; empty: of none
  std::vector<Row> rows;
  std::vector<std::vector<std::uint8_t>> points;  ///< of each row of them: for each column 1 + its kind; 0: none
  std::vector<std::vector<SpanRow::Span>> spans;  ///< of each row of them, those that are drawn one by one
  std::vector<std::size_t> span_counts;           ///< of each row of them: how many the view has
  std::vector<BarOf> bars;
  std::vector<ArrowOf> arrows;
  std::int64_t scale = 1;  ///< bytes at the top of the curve
  int content = 0;         ///< height of all bands
  std::uint64_t runs = 0;  ///< read for the lanes
  [[nodiscard]] std::span<const TextOf> texts() const { return {all_texts.data(), text_count}; }

  std::vector<TextOf> all_texts;
  std::size_t text_count = 0;
};

/// Draws pictures one after the other; memory that one needed is kept for the next. Not for several threads at once.
class Painter {
 public:
  const Facts& draw(const Document& document, const View& view, const Look& look, Canvas& canvas);
  [[nodiscard]] const Facts& facts() const { return facts_; }
  /// What lies there; nullopt: nothing.
  [[nodiscard]] std::optional<Hit> hit(const Document& document, int x, int y) const;
  [[nodiscard]] const Row* row_at(int y) const;
  /// Where the bars of a lane are, from the top of all bands.
  [[nodiscard]] static int top_of(const Document& document, const Look& look, std::uint32_t lane);
  /// Where the bands begin below the top.
  [[nodiscard]] int bands_top() const { return bands_top_; }

 private:
  void ruler();
  void named(Row::What what, const std::vector<Named>& all, std::string_view title);
  /// Every how many of those before `end` one has room for its name: 1, 2, 5, 10, 20 ...
  [[nodiscard]] std::ptrdiff_t label_stride(const std::vector<Named>& all,
                                            std::vector<Named>::const_iterator end) const;
  void spans(std::size_t row);
  void points(std::size_t row);
  void curve();
  template <class YOf>
  void reserved(const YOf& y_of);
  void bands();
  void band_bytes(std::size_t band, int y, int height);
  void lane(std::uint32_t lane, int y, int height);
  /// What is selected there, if it is too narrow for a bar of its own: a stroke at each side.
  void mark_narrow(std::uint32_t lane, int y, int height);
  void arrows();
  void arrow(const HoldArrow& of);
  /// Where the bars of a lane are in the picture: its row, or where that would be.
  [[nodiscard]] Row row_of(std::uint32_t lane) const;
  void overlays();
  /// Cut to what fits, or left out where it is not to be cut; nothing if that is less than a few letters.
  void text(int x, int y, int width, int height, std::string_view text, Color color, bool cut = true);
  [[nodiscard]] int x_of(Unit unit) const;

  const Document* document_ = nullptr;
  const View* view_ = nullptr;
  const Look* look_ = nullptr;
  Canvas* canvas_ = nullptr;
  Facts facts_;
  int bands_top_ = 0;
  std::vector<Cell> cells_;
  std::vector<Bar> bars_;
  std::vector<Color> colors_;
  static constexpr std::size_t kShades = 16;
  std::array<std::array<Color, kShades>, kGroups> shades_{};  ///< by group, the more a column is busy the stronger
  std::vector<int> tops_, bottoms_;
  std::vector<std::int64_t> bytes_;
  std::vector<Tick> ticks_;
  std::string scratch_, scratch_name_, label_;
};

}  // namespace dcmt::gui::scene

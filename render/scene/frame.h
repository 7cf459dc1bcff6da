// A picture of a recording: ruler, steps, phases, the curve, and bands of lanes.
//
// Each picture also has facts: the texts and their boxes, what each column of the curve stands for, and the drawn bars.
// Tests compare the facts; the window uses them to find what is below the pointer.
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

#include "render/scene/appearance.h"
#include "render/scene/band_curves.h"
#include "render/scene/canvas.h"
#include "render/scene/colors.h"
#include "render/scene/curve.h"
#include "render/scene/label.h"
#include "render/scene/lanes.h"
#include "render/scene/recording.h"
#include "render/scene/view.h"

namespace dcmt::scene {

struct BandOf {
  std::string name;
  std::int64_t finding = 0;  ///< number of the finding; 0: not a finding
  bool open = true;          ///< lanes are drawn, not only bytes
  std::string count = {};    ///< number of its lifetimes; omitted if it does not fit completely
};

/// A stretch with a name, such as a step or a phase.
struct Named {
  std::string name;
  Unit from = 0, to = 0;
};

/// The maximum that an allocator had reserved in a stretch.
struct Reserved {
  Unit from = 0, to = 0;
  std::int64_t bytes = 0;
};

/// A row of points of a few kinds. A column shows the last kind that it contains.
struct PointRow {
  struct Kind {
    std::string name;
    std::uint8_t group = 0;   ///< the index of its color
    bool finding = false;     ///< uses the color of findings instead
    std::vector<Unit> units;  ///< ascending
  };
  std::string name;
  std::vector<Kind> kinds;
};

/// A row of consecutive spans, such as the operators of a thread. There may be millions.
struct SpanRow {
  struct Span {
    double from = 0, to = 0;  ///< on the axis
    std::uint32_t index = 0;
  };
  std::string name, unit;  ///< "operators", "operators": the latter follows a number
  /// Finds the spans in [from, to) of the axis of `view`, in order, if there are at most `most`; else none. Returns
  /// their number. Replaces the contents of `found`.
  std::function<std::size_t(const View& view, std::size_t most, std::vector<Span>& found)> spans;
  /// Writes into an empty string.
  std::function<void(std::uint32_t index, std::string&)> label;
};

/// The contents of a picture. All parts must outlive the picture.
struct Document {
  const Recording* recording = nullptr;
  const Lanes* lanes = nullptr;
  const Curve* curve = nullptr;
  const BandCurves* band_curves = nullptr;
  const Curve* without = nullptr;  ///< the curve without what is kept for nothing; nullptr: none
  std::vector<Dead> dead;          ///< ascending by lifetime
  std::vector<BandOf> bands;
  std::vector<Named> steps, phases;  ///< each in order
  std::vector<SpanRow> spans;
  std::vector<PointRow> points;
  std::vector<Named> lost;          ///< stretches with lost records, in order
  std::vector<Named> sums_only;     ///< stretches without known lifetimes
  std::vector<std::string> groups;  ///< names of the groups in use
  std::string peak_text;            ///< "peak 12.1 MiB · step 1 · forward"
  std::vector<Reserved> reserved;   ///< in order; empty: unknown
  /// Writes the text of a bar into an empty string.
  std::function<void(LifetimeId, std::string&)> label;
};

/// A horizontal part of a picture.
struct Row {
  enum class What : std::uint8_t { kRuler, kSteps, kPhases, kLost, kSpans, kPoints, kCurve, kBand, kLane };
  What what = What::kRuler;
  int y = 0, height = 0;
  std::uint32_t index = 0;  ///< index of the band, of the lane, or within its kind of row
};

struct BarOf {
  LifetimeId lifetime = kNoLifetime;
  Box box;
};

/// From the holder's bar to the held bar. If one of them is selected and the other not visible, to the edge of the
/// picture.
struct ArrowOf {
  LifetimeId holder = kNoLifetime, held = kNoLifetime;
  Box line;
};

struct Facts {
  Box chart;  ///< the area of columns; names are left of it
  std::vector<Column> columns;
  std::vector<CurveColumn> curve;      ///< by column
  std::vector<GroupBytes> groups;      ///< at the highest unit of each column
  std::vector<CurveColumn> without;    ///< by column; empty: there is no such curve
  std::vector<std::int64_t> dead;      ///< dead bytes, at the highest unit of each column of the curve
  std::vector<std::int64_t> reserved;  ///< maximum by column; -1: unknown; empty: no such line
  std::vector<Row> rows;
  std::vector<std::vector<std::uint8_t>> points;  ///< by row and column: 1 + the kind; 0: none
  std::vector<std::vector<SpanRow::Span>> spans;  ///< by row: the spans that are drawn individually
  std::vector<std::size_t> span_counts;           ///< by row: the number of spans in the view
  std::vector<BarOf> bars;
  std::vector<ArrowOf> arrows;
  std::int64_t scale = 1;  ///< bytes at the top of the curve
  int content = 0;         ///< height of all bands
  std::uint64_t runs = 0;  ///< runs read for the lanes
  [[nodiscard]] std::span<const TextOf> texts() const { return {all_texts.data(), text_count}; }

  std::vector<TextOf> all_texts;
  std::size_t text_count = 0;
};

/// Draws pictures one after the other. Memory of one picture is reused for the next. Not thread-safe.
class Painter {
 public:
  const Facts& draw(const Document& document, const View& view, const Appearance& appearance, Canvas& canvas);
  [[nodiscard]] const Facts& facts() const { return facts_; }
  /// What is at that pixel; nullopt: nothing.
  [[nodiscard]] std::optional<Hit> hit(const Document& document, int x, int y) const;
  [[nodiscard]] const Row* row_at(int y) const;
  /// The position of a lane's bars, from the top of all bands.
  [[nodiscard]] static int top_of(const Document& document, const Appearance& appearance, std::uint32_t lane);
  /// The position of the first band, from the top of the picture.
  [[nodiscard]] int bands_top() const { return bands_top_; }

 private:
  void ruler();
  void named(Row::What what, const std::vector<Named>& all, std::string_view title);
  /// Of the names before `end`, every n-th fits: 1, 2, 5, 10, 20 ...
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
  /// Marks a selected lifetime that is too narrow for a bar: a stroke at each side.
  void mark_narrow(std::uint32_t lane, int y, int height);
  void arrows();
  void arrow(const HoldArrow& of);
  /// The row of a lane in the picture, even if it is not visible.
  [[nodiscard]] Row row_of(std::uint32_t lane) const;
  void overlays();
  /// Draws text, cut to the width or, without `cut`, only if it fits; nothing if only a few characters fit.
  void text(int x, int y, int width, int height, std::string_view text, Color color, bool cut = true);
  [[nodiscard]] int x_of(Unit unit) const;

  const Document* document_ = nullptr;
  const View* view_ = nullptr;
  const Appearance* appearance_ = nullptr;
  Canvas* canvas_ = nullptr;
  Facts facts_;
  int bands_top_ = 0;
  std::vector<Cell> cells_;
  std::vector<Bar> bars_;
  std::vector<Color> colors_;
  static constexpr std::size_t kShades = 16;
  std::array<std::array<Color, kShades>, kGroups> shades_{};  ///< by group; a busier column has a stronger color
  std::vector<int> tops_, bottoms_;
  std::vector<std::int64_t> bytes_;
  std::vector<Tick> ticks_;
  std::string scratch_, scratch_name_, label_;
};

}  // namespace dcmt::scene

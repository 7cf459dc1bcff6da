// One device of a trace as a scene: its lifetimes in bands, its curve, its steps and phases.
//
// Bands are the findings, what was gathered, and all else by size. Everything in it points into the TraceData and the
// Analysis that it was made of, which must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/load/watch.h"
#include "analyzer/model/analysis.h"
#include "analyzer/model/devices.h"
#include "gui/load/block_addresses.h"
#include "gui/load/segments.h"
#include "gui/scene/addresses.h"
#include "gui/scene/frame.h"

namespace dcmt::gui::load {

/// The curve without what some findings keep for nothing.
struct Without {
  std::vector<std::int64_t> findings;  ///< their numbers
  std::vector<scene::Dead> dead;       ///< ascending by lifetime
  std::unique_ptr<scene::Curve> curve;
  Bytes peak;  ///< as the analyzer predicts it
};

/// How the lifetimes are arranged.
enum class Arrangement : std::uint8_t {
  kKind,     ///< findings, what was gathered, and all else by size
  kAddress,  ///< by where they lay
};

/// Where lifetimes lie: what the map of a point needs, and of the arrangement by address its lanes, which take several
/// times as much memory.
struct ByAddress {
  std::vector<scene::Address> addresses;  ///< by lifetime; 0: not known
  std::vector<scene::AddressStretch> stretches;
  std::unique_ptr<scene::Lanes> lanes;             ///< nullptr: nobody asked for them
  std::unique_ptr<scene::BandCurves> band_curves;  ///< the same
};

class DeviceTimeline {
 public:
  /// Fails with kStopped as `watch` says.
  static Expected<std::unique_ptr<DeviceTimeline>> make(const analyzer::Analysis& analysis,
                                                        const analyzer::DeviceAnalysis& device,
                                                        const analyzer::Watch& watch);

  [[nodiscard]] const scene::Document& document() const { return document_; }
  [[nodiscard]] const scene::Recording& recording() const { return recording_; }
  [[nodiscard]] const model::DevicePeak& peak() const { return peak_; }
  [[nodiscard]] const analyzer::DeviceAnalysis& device() const { return *device_; }
  [[nodiscard]] std::string_view name() const { return peak_.device.value_or("no device"); }

  /// The unit right after the event at `seq`.
  [[nodiscard]] scene::Unit unit_of(Sequence seq) const;
  /// Of the event at which the unit begins.
  [[nodiscard]] Sequence sequence_of(scene::Unit unit) const;
  [[nodiscard]] const analyzer::Block& block_of(scene::LifetimeId lifetime) const { return *blocks_[lifetime]; }
  /// The first lifetime of the storage that is drawn as a bar.
  [[nodiscard]] std::optional<scene::LifetimeId> lifetime_of(StorageId storage) const;
  /// Those of a finding, in order.
  [[nodiscard]] std::vector<scene::LifetimeId> lifetimes_of(std::int64_t finding) const;

  /// Those that are drawn as bars and whose operator or site has the text, in order. Letters of ASCII are alike, small
  /// or capital. Nothing for an empty text.
  [[nodiscard]] std::vector<scene::LifetimeId> find(std::string_view text) const;

  /// What if these findings were fixed. May run in any thread, beside others.
  [[nodiscard]] std::shared_ptr<const Without> without(std::vector<std::int64_t> findings) const;
  /// The picture shows that.
  void show(std::shared_ptr<const Without> without);
  [[nodiscard]] const Without* shown() const { return without_.get(); }

  /// The area is stacked by that from now on. The largest groups at the peak have a color of their own.
  void stack_by(analyzer::GroupBy by);
  [[nodiscard]] analyzer::GroupBy stacked_by() const { return by_; }

  /// What its allocator had reserved, where the trace has segments: once, before other threads use it. The line of
  /// reserved bytes is that of each point then, not the most of an interval.
  void set_segments(std::vector<Segment> segments);
  [[nodiscard]] bool has_segments() const { return !segments_.empty(); }
  /// Those that are reserved in the unit, right after its event.
  [[nodiscard]] std::vector<scene::AddressStretch> segments_at(scene::Unit unit) const {
    return segments_after(segments_, sequence_of(unit));
  }

  /// Where the blocks lie, without lanes. May run in any thread, beside others, but not beside stack_by().
  /// @param read  gives what it is called with each address, as read_addresses(); its error is the result
  [[nodiscard]] Expected<std::shared_ptr<ByAddress>> by_address(
      const std::function<Status(const TakeAddress&)>& read) const;
  /// On the same terms.
  void add_lanes(ByAddress& by_address) const;
  /// nullptr: not known any more; the arrangement is by kind then.
  void set_by_address(std::shared_ptr<ByAddress> by_address);
  [[nodiscard]] const ByAddress* addresses() const { return by_address_.get(); }
  /// By address only where addresses with their lanes are set.
  void arrange(Arrangement arrangement);
  [[nodiscard]] Arrangement arrangement() const { return arrangement_; }
  /// The number of the finding that a lifetime is of; 0: none.
  [[nodiscard]] std::int64_t finding_of(scene::LifetimeId lifetime) const;

  void set_open(std::size_t band, bool open) { document_.bands[band].open = open; }

 private:
  DeviceTimeline(const analyzer::Analysis& analysis, const analyzer::DeviceAnalysis& device);
  void read(const analyzer::Watch& watch);
  [[nodiscard]] std::uint16_t band_of(const analyzer::Block& block);
  void find_bands();
  void find_names();
  /// Opens bands, the first ones first, as long as there is room for their lanes.
  void open_first(std::vector<scene::BandOf>& bands, const scene::Lanes& lanes) const;
  void label(scene::LifetimeId lifetime, std::string& text) const;
  /// The first unit that begins at the event at `seq` or later.
  [[nodiscard]] scene::Unit first_from(Sequence seq) const;

  const analyzer::Analysis* analysis_;
  const analyzer::DeviceAnalysis* device_;
  model::DevicePeak peak_;
  analyzer::GroupBy by_ = analyzer::GroupBy::kSite;

  scene::Recording recording_;
  std::vector<const analyzer::Block*> blocks_;                 ///< by lifetime
  std::unordered_map<scene::Unit, Sequence> other_sequences_;  ///< of units that begin at no begin or end of a block
  std::unordered_map<const analyzer::Block*, std::int64_t> finding_of_;
  std::vector<std::int64_t> sizes_;  ///< least bytes of the bands by size, the largest first
  bool has_gathered_ = false;

  std::unique_ptr<scene::Curve> curve_;
  std::unique_ptr<scene::BandCurves> band_curves_;
  std::unique_ptr<scene::Lanes> lanes_;
  std::vector<Segment> segments_;
  std::shared_ptr<ByAddress> by_address_;
  Arrangement arrangement_ = Arrangement::kKind;
  std::vector<scene::BandOf> other_bands_;  ///< of the arrangement that is not shown
  std::shared_ptr<const Without> without_;
  scene::Document document_;
};

}  // namespace dcmt::gui::load

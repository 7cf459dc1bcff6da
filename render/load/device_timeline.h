// One device of a trace as a scene: its lifetimes in bands, its curve, its steps and phases.
//
// The bands are findings, gathered storages, and the others by size. Everything points into the TraceData and the
// Analysis that it was made of. Both must outlive it.
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
#include "analyzer/storages/group_names.h"
#include "render/load/block_addresses.h"
#include "render/load/segments.h"
#include "render/scene/addresses.h"
#include "render/scene/frame.h"

namespace dcmt::load {

/// The curve if some findings were fixed.
struct Without {
  std::vector<std::int64_t> findings;  ///< their numbers
  std::vector<scene::Dead> dead;       ///< ascending by lifetime
  std::unique_ptr<scene::Curve> curve;
  Bytes peak;  ///< as predicted by the analyzer
};

/// The arrangement of lifetimes in bands.
enum class Arrangement : std::uint8_t {
  kKind,     ///< findings, gathered storages, and the others by size
  kAddress,  ///< by the addresses of blocks
};

/// The addresses of lifetimes, for the map of a point. The arrangement by address also needs lanes, which use several
/// times as much memory.
struct ByAddress {
  std::vector<scene::Address> addresses;  ///< by lifetime; 0: unknown
  std::vector<scene::AddressStretch> stretches;
  std::unique_ptr<scene::Lanes> lanes;             ///< nullptr: not requested
  std::unique_ptr<scene::BandCurves> band_curves;  ///< nullptr: not requested
};

class DeviceTimeline {
 public:
  /// Fails with kStopped if `watch` stops it.
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
  /// The sequence of the event at which the unit begins.
  [[nodiscard]] Sequence sequence_of(scene::Unit unit) const;
  [[nodiscard]] const analyzer::Block& block_of(scene::LifetimeId lifetime) const { return *blocks_[lifetime]; }
  /// The first lifetime of the storage that is drawn as a bar.
  [[nodiscard]] std::optional<scene::LifetimeId> lifetime_of(StorageId storage) const;
  /// The lifetimes of a finding, in order.
  [[nodiscard]] std::vector<scene::LifetimeId> lifetimes_of(std::int64_t finding) const;

  /// The lifetimes drawn as bars whose operator or site contains the text, in order. The case of ASCII letters is
  /// ignored. Empty for an empty text.
  [[nodiscard]] std::vector<scene::LifetimeId> find(std::string_view text) const;

  /// Computes what the curve would be if these findings were fixed. Any thread may call it, also in parallel.
  [[nodiscard]] std::shared_ptr<const Without> without(std::vector<std::int64_t> findings) const;
  /// Shows this prediction in the picture.
  void show(std::shared_ptr<const Without> without);
  [[nodiscard]] const Without* shown() const { return without_.get(); }

  /// Stacks the area by this grouping from now on. The largest groups at the peak get a color of their own.
  void stack_by(analyzer::GroupBy by);
  [[nodiscard]] analyzer::GroupBy stacked_by() const { return by_; }

  /// Sets what the allocator had reserved, if the trace has segments. May be called once, before other threads use this
  /// object. The line of reserved bytes then shows each point, not the maximum of an interval.
  void set_segments(std::vector<Segment> segments);
  [[nodiscard]] bool has_segments() const { return !segments_.empty(); }
  /// The segments that are reserved in the unit, right after its event.
  [[nodiscard]] std::vector<scene::AddressStretch> segments_at(scene::Unit unit) const {
    return segments_after(segments_, sequence_of(unit));
  }

  /// Computes the addresses, without lanes. Any thread may call it in parallel, but not in parallel with stack_by().
  /// @param read  calls its argument with each address, like read_addresses(); its error is returned
  [[nodiscard]] Expected<std::shared_ptr<ByAddress>> by_address(
      const std::function<Status(const ReceiveAddress&)>& read) const;
  /// Adds the lanes. The rules for threads are those of by_address().
  void add_lanes(ByAddress& by_address) const;
  /// nullptr: the addresses are unknown again, and the arrangement is by kind.
  void set_by_address(std::shared_ptr<ByAddress> by_address);
  [[nodiscard]] const ByAddress* addresses() const { return by_address_.get(); }
  /// The arrangement by address requires that addresses with lanes are set.
  void arrange(Arrangement arrangement);
  [[nodiscard]] Arrangement arrangement() const { return arrangement_; }
  /// The number of the finding of a lifetime; 0: none.
  [[nodiscard]] std::int64_t finding_of(scene::LifetimeId lifetime) const;

  void set_open(std::size_t band, bool open) { document_.bands[band].open = open; }

 private:
  DeviceTimeline(const analyzer::Analysis& analysis, const analyzer::DeviceAnalysis& device);
  void read(const analyzer::Watch& watch);
  [[nodiscard]] std::uint16_t band_of(const analyzer::Block& block);
  void find_bands();
  void find_names();
  /// Opens bands in order, as long as there is space for their lanes.
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
  std::unordered_map<scene::Unit, Sequence> other_sequences_;  ///< of units without the begin or end of a block
  std::unordered_map<const analyzer::Block*, std::int64_t> finding_of_;
  std::vector<std::int64_t> sizes_;  ///< lower limits of the bands by size, in descending order
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

}  // namespace dcmt::load

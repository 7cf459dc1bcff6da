#include "render/load/device_timeline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analyzer/releases/lost_stretches.h"
#include "analyzer/storages/groups.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/time/changes.h"
#include "render/load/event_rows.h"
#include "trace/base/quantities.h"

namespace dcmt::load {
namespace {

using analyzer::Block;
using analyzer::Change;
using scene::LifetimeId;
using scene::Unit;

/// Smaller blocks share one band: with detail `full` there are many of them.
constexpr std::int64_t kSmall = 64 << 10;
/// The number of lanes of bands that are open at first. A window has space for about that many.
constexpr std::uint32_t kFirstLanes = 48;

/// The lower limit of the half octave that contains `bytes`.
std::int64_t size_class(std::int64_t bytes) {
  if (bytes < kSmall) return 0;
  std::int64_t octave = kSmall;
  while (octave <= bytes / 2) octave *= 2;
  const auto half = static_cast<std::int64_t>(static_cast<double>(octave) * std::sqrt(2.0));
  return bytes >= half ? half : octave;
}

std::int64_t next_size_class(std::int64_t least) {
  if (least == 0) return kSmall;
  const std::int64_t next = size_class(static_cast<std::int64_t>(static_cast<double>(least) * 1.45));
  return std::max(next, least + 1);
}

std::string size_name(std::int64_t least) {
  if (least == 0) return "under " + rounded_bytes(kSmall);
  std::string from = rounded_bytes(least);
  const std::string to = rounded_bytes(next_size_class(least));
  // "181.0 to 256.0 KiB": a common unit is written once.
  if (from.substr(from.find(' ')) == to.substr(to.find(' '))) from.resize(from.find(' '));
  return from + " to " + to;
}

bool has_text(std::string_view where, std::string_view text) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::search(where, text, [&](char a, char b) { return small(a) == small(b); }).begin() != where.end();
}

std::string peak_text(const model::DevicePeak& peak) {
  std::string text = "peak " + rounded_bytes(peak.bytes.value);
  if (peak.step) text += " · step " + std::to_string(*peak.step);
  if (peak.phase) text += " · " + std::string(*peak.phase);
  return text;
}

/// Finds the groups of blocks and their names, with a cache: most blocks have only a few sites.
class GroupOfBlock {
 public:
  GroupOfBlock(const analyzer::Analysis& analysis, const analyzer::DeviceAnalysis& device, analyzer::GroupBy by)
      : data_(*analysis.data),
        phases_(analysis.phases),
        by_(by),
        at_(device.what_if.measured.seq),
        names_(*analysis.data, analysis.phases) {
    const std::vector<const Block*> live = analyzer::live_blocks(data_, device.device, at_);
    for (const analyzer::Group& group : analyzer::group_blocks(data_, phases_, live, by, at_)) {
      if (groups_.size() + 1 == scene::kGroups) break;
      numbers_.emplace(group.name, static_cast<std::uint8_t>(groups_.size()));
      groups_.push_back(group.name);
    }
    others_ = static_cast<std::uint8_t>(scene::kGroups - 1);
  }

  [[nodiscard]] std::vector<std::string> groups() const { return groups_; }

  std::uint8_t of(const Block& block) {
    const std::optional<std::int64_t> key = key_of(block);
    if (!key) return number(names_.of(block, by_, at_));
    const auto [found, added] = known_.try_emplace(*key, others_);
    if (added) found->second = number(names_.of(block, by_, at_));
    return found->second;
  }

 private:
  /// A cheap key that is the same for all blocks of a group, if there is one.
  [[nodiscard]] std::optional<std::int64_t> key_of(const Block& block) const {
    if (analyzer::is_sum_of_small_blocks(data_, block)) return -1;
    switch (by_) {
      case analyzer::GroupBy::kSite:
        return block.birth.stack.value;
      case analyzer::GroupBy::kPhase: {
        const analyzer::Mark* phase = phases_.at(block.span.from_seq);
        return phase != nullptr ? phase->name.value : 0;
      }
      default:
        return std::nullopt;
    }
  }
  [[nodiscard]] std::uint8_t number(const std::string& name) const {
    const auto found = numbers_.find(name);
    return found != numbers_.end() ? found->second : others_;
  }

  const analyzer::TraceData& data_;
  const analyzer::PhaseIndex& phases_;
  analyzer::GroupBy by_;
  Sequence at_;
  analyzer::GroupNames names_;
  std::vector<std::string> groups_;
  std::unordered_map<std::string, std::uint8_t> numbers_;
  std::unordered_map<std::int64_t, std::uint8_t> known_;
  std::uint8_t others_ = 0;
};

}  // namespace

DeviceTimeline::DeviceTimeline(const analyzer::Analysis& analysis, const analyzer::DeviceAnalysis& device)
    : analysis_(&analysis), device_(&device), peak_(model::device_peak_of(analysis, device)) {}

Expected<std::unique_ptr<DeviceTimeline>> DeviceTimeline::make(const analyzer::Analysis& analysis,
                                                               const analyzer::DeviceAnalysis& device,
                                                               const analyzer::Watch& watch) {
  std::unique_ptr<DeviceTimeline> timeline(new DeviceTimeline(analysis, device));
  timeline->find_bands();
  DCMT_RETURN_IF_ERROR(watch.check());
  timeline->read(watch);
  watch.done(0.4);
  DCMT_RETURN_IF_ERROR(watch.check());
  timeline->curve_ = std::make_unique<scene::Curve>(timeline->recording_);
  const std::size_t bands = timeline->document_.bands.size();
  timeline->band_curves_ = std::make_unique<scene::BandCurves>(timeline->recording_, bands);
  watch.done(0.6);
  DCMT_RETURN_IF_ERROR(watch.check());
  timeline->lanes_ = std::make_unique<scene::Lanes>(timeline->recording_, bands);
  watch.done(0.9);
  DCMT_RETURN_IF_ERROR(watch.check());
  timeline->find_names();
  timeline->show(timeline->without(timeline->peak_.without_findings));
  watch.done(1);
  return timeline;
}

void DeviceTimeline::find_bands() {
  const analyzer::TraceData& data = *analysis_->data;
  for (const analyzer::Finding& finding : analysis_->findings) {
    if (finding.device != device_->device) continue;
    bool any = false;
    for (const Block* block : analyzer::blocks_of(data, finding))
      any |= finding_of_.emplace(block, finding.number).second;
    if (!any) continue;
    document_.bands.push_back({std::to_string(finding.number) + " " + finding.title, finding.number, true});
  }
  std::set<std::int64_t, std::greater<>> sizes;
  for (const Block& block : data.blocks) {
    if (block.device != device_->device || finding_of_.contains(&block) ||
        analyzer::is_sum_of_small_blocks(data, block))
      continue;
    if (analyzer::is_gathered(data, block.storage)) {
      has_gathered_ = true;
    } else {
      sizes.insert(size_class(block.bytes.value));
    }
  }
  if (has_gathered_) document_.bands.push_back({"gathered parameters", 0, true});
  for (const std::int64_t least : sizes) document_.bands.push_back({size_name(least), 0, true});
  sizes_.assign(sizes.begin(), sizes.end());
}

std::uint16_t DeviceTimeline::band_of(const Block& block) {
  const std::size_t by_size = document_.bands.size() - sizes_.size();
  if (const auto found = finding_of_.find(&block); found != finding_of_.end()) {
    const auto band = std::find_if(document_.bands.begin(), document_.bands.end(),
                                   [&](const scene::BandOf& each) { return each.finding == found->second; });
    return static_cast<std::uint16_t>(band - document_.bands.begin());
  }
  if (analyzer::is_sum_of_small_blocks(*analysis_->data, block)) return scene::kNoBand;
  if (has_gathered_ && analyzer::is_gathered(*analysis_->data, block.storage)) {
    return static_cast<std::uint16_t>(by_size - 1);
  }
  const auto size = std::lower_bound(sizes_.begin(), sizes_.end(), size_class(block.bytes.value), std::greater<>());
  return static_cast<std::uint16_t>(by_size + static_cast<std::size_t>(size - sizes_.begin()));
}

void DeviceTimeline::read(const analyzer::Watch& watch) {
  const analyzer::TraceData& data = *analysis_->data;
  std::vector<analyzer::RequestedPoint> points;
  const auto want = [&](Sequence seq, TimeNs ns) {
    if (seq.valid()) points.push_back({seq, ns});
  };
  for (const analyzer::Step& step : analysis_->releases.steps) {
    want(step.from, step.from_ns);
    want(step.to, step.to_ns);
  }
  for (const analyzer::Mark& mark : data.marks) {
    const bool is_point = mark.gives_storage() || mark.kind == analyzer::MarkKind::kRelease;
    if (is_point) want(mark.span.from_seq, mark.span.from_ns);
    if (mark.kind != analyzer::MarkKind::kPhase && mark.kind != analyzer::MarkKind::kUser) continue;
    want(mark.span.from_seq, mark.span.from_ns);
    want(mark.span.to_seq, mark.span.to_ns);
  }
  for (const analyzer::Interval& interval : data.intervals) {
    if (interval.kept != Kept::kNo) continue;
    want(interval.span.from_seq, interval.span.from_ns);
    want(interval.span.to_seq, interval.span.to_ns);
  }
  // The begins and ends of findings. Their times follow from the events before.
  for (const analyzer::Finding& finding : analysis_->findings) {
    if (finding.device != device_->device) continue;
    for (const analyzer::Gap& gap : analyzer::gaps_of_finding(data, finding)) {
      want(gap.from, {});
      want(gap.to, {});
    }
  }
  std::sort(points.begin(), points.end(),
            [](const auto& a, const auto& b) { return a.seq != b.seq ? a.seq < b.seq : a.ns > b.ns; });
  points.erase(std::unique(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.seq == b.seq; }),
               points.end());

  const std::int64_t start = data.meta_integer("start_ns").value_or(0);
  GroupOfBlock groups(*analysis_, *device_, by_);
  std::unordered_map<const Block*, LifetimeId> open;
  blocks_.reserve(data.blocks.size());
  std::size_t done = 0;
  bool begun = false;
  analyzer::for_each_change(data, device_->device, std::move(points), [&](const Change& change) {
    if (!begun) recording_.mark(start != 0 ? std::min(start, change.ns.value) : change.ns.value);
    begun = true;
    const std::int64_t ns = change.ns.value;
    const Unit unit = recording_.units();
    switch (change.what) {
      case Change::What::kBegin:
        blocks_.push_back(change.block);
        open.emplace(change.block, recording_.begin(ns, change.block->bytes.value, groups.of(*change.block),
                                                    band_of(*change.block), finding_of_.contains(change.block)));
        if (change.seq != change.block->span.from_seq) other_sequences_.emplace(unit, change.seq);
        break;
      case Change::What::kEnd: {
        const auto found = open.find(change.block);
        if (found == open.end()) return;  // only a damaged trace has an end without a begin
        recording_.end(ns, found->second);
        open.erase(found);
        if (change.seq != change.block->span.to_seq) other_sequences_.emplace(unit, change.seq);
        break;
      }
      case Change::What::kLevel:
        recording_.level(ns, change.delta, scene::kGroups - 1);
        other_sequences_.emplace(unit, change.seq);
        break;
      case Change::What::kPoint:
        recording_.mark(ns);
        other_sequences_.emplace(unit, change.seq);
        break;
    }
    if (++done % 65536 == 0) {
      watch.done(0.4 * static_cast<double>(done) / static_cast<double>(2 * data.blocks.size() + 1));
    }
  });
  recording_.finish(analyzer::last_ns(data).value);
}

void DeviceTimeline::find_names() {
  const analyzer::TraceData& data = *analysis_->data;
  document_.recording = &recording_;
  document_.curve = curve_.get();
  document_.band_curves = band_curves_.get();
  document_.lanes = lanes_.get();
  document_.groups = GroupOfBlock(*analysis_, *device_, by_).groups();
  document_.peak_text = peak_text(peak_);
  document_.label = [this](LifetimeId lifetime, std::string& text) { label(lifetime, text); };

  const auto end_of = [&](Sequence seq) { return seq.valid() ? unit_of(seq) : recording_.units(); };
  for (const analyzer::Step& step : analysis_->releases.steps) {
    document_.steps.push_back({std::to_string(step.number), unit_of(step.from), end_of(step.to)});
    if (step.count > 1) document_.steps.back().name += " (" + std::to_string(step.count) + " steps)";
  }
  for (const analyzer::Mark& mark : data.marks) {
    if (mark.kind != analyzer::MarkKind::kPhase) continue;
    document_.phases.push_back(
        {std::string(data.text(mark.name)), unit_of(mark.span.from_seq), end_of(mark.span.to_seq)});
  }
  const auto before = [](const scene::Named& a, const scene::Named& b) { return a.from < b.from; };
  std::stable_sort(document_.steps.begin(), document_.steps.end(), before);
  std::stable_sort(document_.phases.begin(), document_.phases.end(), before);
  for (const analyzer::Interval& interval : data.intervals) {
    if (interval.kept != Kept::kNo) continue;
    const Unit from = interval.span.from_seq.valid() ? unit_of(interval.span.from_seq) : 0;
    const Unit to = end_of(interval.span.to_seq);
    // Adjacent steps with sums only are merged: such a step may be a few units long.
    std::vector<scene::Named>& all = document_.sums_only;
    if (!all.empty() && all.back().to >= from) {
      all.back().to = std::max(all.back().to, to);
    } else {
      all.push_back({"sums only", from, to});
    }
  }
  // Events of any device may be missing there.
  const analyzer::LostStretches stretches(data);
  std::int64_t lost = 0;
  for (const analyzer::LostStretches::Stretch& each : stretches.all()) {
    const Unit from = each.from.valid() ? unit_of(each.from) : 0;
    // The record of a loss usually comes within a unit. Events up to it may be missing.
    const Unit to = std::max(from + 1, each.to.valid() ? first_from(each.to) : recording_.units());
    std::vector<scene::Named>& all = document_.lost;
    const bool same = !all.empty() && from < all.back().to;
    if (!same) all.push_back({{}, from, to});
    all.back().to = std::max(all.back().to, to);
    lost = same ? lost + each.count : each.count;
    all.back().name = grouped(lost) + " lost";
  }

  for (const analyzer::IntervalReserved& each : data.reserved) {
    if (each.device != device_->device) continue;
    const Unit last = each.span.ended() ? unit_of(each.span.to_seq) : recording_.units() - 1;
    const Unit first = each.span.from_seq.valid() ? unit_of(each.span.from_seq) + 1 : 0;
    document_.reserved.push_back({std::min(first, last), last + 1, each.peak.value});
  }

  document_.spans = operator_rows(data, recording_, [this](Unit unit) { return sequence_of(unit); });
  document_.points = release_rows(*analysis_, [this](Sequence seq) { return unit_of(seq); });

  for (std::size_t band = 0; band < document_.bands.size(); ++band)
    document_.bands[band].count = grouped(lanes_->bands()[band].lifetimes);
  open_first(document_.bands, *lanes_);
}

void DeviceTimeline::open_first(std::vector<scene::BandOf>& bands, const scene::Lanes& lanes) const {
  std::uint32_t open = 0;
  for (std::size_t band = 0; band < bands.size(); ++band) {
    const std::uint32_t count = lanes.bands()[band].count;
    scene::BandOf& of = bands[band];
    of.open = of.finding > 0 || open + count <= kFirstLanes;
    if (of.open) open += count;
  }
}

Expected<std::shared_ptr<ByAddress>> DeviceTimeline::by_address(
    const std::function<Status(const ReceiveAddress&)>& read) const {
  // Nearly all lifetimes are in the order of their ids; the others are few.
  std::unordered_map<std::int64_t, LifetimeId> late;
  BlockId last;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i]->id < last) late.emplace(blocks_[i]->id.value, static_cast<LifetimeId>(i));
    last = std::max(last, blocks_[i]->id);
  }
  auto found = std::make_shared<ByAddress>();
  found->addresses.resize(blocks_.size());
  std::size_t next = 0;
  DCMT_RETURN_IF_ERROR(read([&](BlockId block, std::uint64_t address) {
    if (const auto of = late.find(block.value); of != late.end()) {
      found->addresses[of->second] = address;
      return;
    }
    while (next < blocks_.size() && (blocks_[next]->id < block || late.contains(blocks_[next]->id.value))) ++next;
    if (next < blocks_.size() && blocks_[next]->id == block) found->addresses[next++] = address;
  }));
  std::vector<scene::AddressStretch> segments;
  for (const Segment& segment : segments_) segments.push_back(segment.addresses);
  found->stretches = scene::address_stretches(recording_, found->addresses, segments);
  return found;
}

void DeviceTimeline::set_segments(std::vector<Segment> segments) {
  segments_ = std::move(segments);
  if (segments_.empty()) return;
  std::map<Sequence, std::int64_t> changes;
  for (const Segment& each : segments_) {
    changes[each.from] += each.addresses.bytes();
    if (each.to.valid()) changes[each.to] -= each.addresses.bytes();
  }
  document_.reserved.clear();
  std::int64_t bytes = 0;
  Unit from = 0;
  const auto until = [&](Unit to) {
    if (from < to) document_.reserved.push_back({from, to, bytes});
  };
  for (const auto& [seq, change] : changes) {
    if (seq.valid()) {
      until(first_from(seq));
      from = unit_of(seq);
    }
    bytes += change;
  }
  until(recording_.units());
}

void DeviceTimeline::add_lanes(ByAddress& of) const {
  scene::AddressLanes lanes = scene::address_lanes(recording_, of.addresses, of.stretches);
  std::vector<std::uint32_t> bands;
  bands.reserve(of.addresses.size());
  for (const scene::Address address : of.addresses) bands.push_back(scene::stretch_of(of.stretches, address));
  of.lanes = std::make_unique<scene::Lanes>(recording_, std::move(lanes.lane_of), lanes.lanes_of_each);
  of.band_curves = std::make_unique<scene::BandCurves>(recording_, of.stretches.size(), bands);
}

void DeviceTimeline::set_by_address(std::shared_ptr<ByAddress> by_address) {
  arrange(Arrangement::kKind);
  by_address_ = std::move(by_address);
  other_bands_.clear();
  if (!by_address_ || !by_address_->lanes) return;
  for (const scene::AddressStretch& stretch : by_address_->stretches) {
    other_bands_.push_back({scene::address_text(stretch.from) + " " + rounded_bytes(stretch.bytes()), 0, true});
  }
  open_first(other_bands_, *by_address_->lanes);
}

void DeviceTimeline::arrange(Arrangement arrangement) {
  if (arrangement == arrangement_) return;
  if (arrangement == Arrangement::kAddress && (!by_address_ || !by_address_->lanes)) return;
  arrangement_ = arrangement;
  const bool by_kind = arrangement == Arrangement::kKind;
  document_.bands.swap(other_bands_);
  document_.lanes = by_kind ? lanes_.get() : by_address_->lanes.get();
  document_.band_curves = by_kind ? band_curves_.get() : by_address_->band_curves.get();
}

std::int64_t DeviceTimeline::finding_of(LifetimeId lifetime) const {
  const auto found = finding_of_.find(blocks_[lifetime]);
  return found != finding_of_.end() ? found->second : 0;
}

void DeviceTimeline::label(LifetimeId lifetime, std::string& text) const {
  const analyzer::TraceData& data = *analysis_->data;
  const Block& block = *blocks_[lifetime];
  text = rounded_bytes(block.bytes.value);
  if (const analyzer::Operator* op = analyzer::named_operator(data, block.birth.op); op != nullptr) {
    text.append(" · ").append(data.text(op->name));
  }
  if (block.birth.stack.valid()) text.append(" · ").append(analyzer::describe_site(data, block.birth.stack));
}

Sequence DeviceTimeline::sequence_of(Unit unit) const {
  if (const auto found = other_sequences_.find(unit); found != other_sequences_.end()) return found->second;
  const scene::Recording::Event event = recording_.event(unit);
  if (event.kind == scene::Recording::Kind::kBegin) return blocks_[event.index]->span.from_seq;
  if (event.kind == scene::Recording::Kind::kEnd) return blocks_[event.index]->span.to_seq;
  return {};  // the begin of the recording
}

Unit DeviceTimeline::unit_of(Sequence seq) const {
  Unit low = 0;  // begins no later than `seq`
  Unit high = recording_.units();
  while (high - low > 1) {
    const Unit middle = low + (high - low) / 2;
    (sequence_of(middle) <= seq ? low : high) = middle;
  }
  return low;
}

Unit DeviceTimeline::first_from(Sequence seq) const {
  const Unit unit = unit_of(seq);
  return sequence_of(unit) < seq ? unit + 1 : unit;
}

std::optional<LifetimeId> DeviceTimeline::lifetime_of(StorageId storage) const {
  for (const Block* block : analysis_->data->blocks_by_storage.of(storage)) {
    if (block->device != device_->device) continue;
    // Its begin is an event, unless only sums of it are known.
    const scene::Recording::Event event = recording_.event(unit_of(block->span.from_seq));
    if (event.kind == scene::Recording::Kind::kBegin && blocks_[event.index] == block) return event.index;
    const auto found = std::find(blocks_.begin(), blocks_.end(), block);
    if (found != blocks_.end()) return static_cast<LifetimeId>(found - blocks_.begin());
  }
  return std::nullopt;
}

std::vector<LifetimeId> DeviceTimeline::lifetimes_of(std::int64_t finding) const {
  std::vector<LifetimeId> lifetimes;
  const auto& bands = arrangement_ == Arrangement::kKind ? document_.bands : other_bands_;
  for (std::size_t band = 0; band < bands.size(); ++band) {
    if (bands[band].finding != finding || finding == 0) continue;
    const scene::Lanes::Band& of = lanes_->bands()[band];
    for (std::uint32_t lane = of.first; lane < of.first + of.count; ++lane) {
      const auto items = lanes_->lane(lane);
      lifetimes.insert(lifetimes.end(), items.begin(), items.end());
    }
  }
  std::sort(lifetimes.begin(), lifetimes.end());
  return lifetimes;
}

std::vector<LifetimeId> DeviceTimeline::find(std::string_view text) const {
  std::vector<LifetimeId> found;
  if (text.empty()) return found;
  const analyzer::TraceData& data = *analysis_->data;
  // A cache: most blocks have only a few operators and sites.
  std::unordered_map<std::int64_t, bool> operators;
  std::unordered_map<std::int64_t, bool> stacks;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (recording_.lifetimes()[i].band == scene::kNoBand) continue;
    const analyzer::Actor& birth = blocks_[i]->birth;
    const auto [stack, new_stack] = stacks.try_emplace(birth.stack.value, false);
    if (new_stack && birth.stack.valid()) stack->second = has_text(analyzer::describe_site(data, birth.stack), text);
    bool fits = stack->second;
    if (const analyzer::Operator* op = fits ? nullptr : analyzer::named_operator(data, birth.op); op != nullptr) {
      const auto [name, new_name] = operators.try_emplace(op->name.value, false);
      if (new_name) name->second = has_text(data.text(op->name), text);
      fits = name->second;
    }
    if (fits) found.push_back(static_cast<LifetimeId>(i));
  }
  return found;
}

std::shared_ptr<const Without> DeviceTimeline::without(std::vector<std::int64_t> findings) const {
  auto without = std::make_shared<Without>();
  const analyzer::TraceData& data = *analysis_->data;
  const std::vector<analyzer::Gap> gaps = analyzer::gaps_without(data, *device_, analysis_->findings, findings);
  without->findings = std::move(findings);
  without->peak = gaps.empty() ? device_->what_if.measured.bytes : analyzer::peak_of(data, device_->device, gaps).bytes;
  if (gaps.empty()) return without;
  std::unordered_map<const Block*, LifetimeId> ids;
  for (const analyzer::Gap& gap : gaps) ids.emplace(gap.block, scene::kNoLifetime);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (const auto found = ids.find(blocks_[i]); found != ids.end()) found->second = static_cast<LifetimeId>(i);
  }
  std::vector<scene::LeftOut> left_out;
  for (const analyzer::Gap& gap : gaps) {
    const LifetimeId id = ids.at(gap.block);
    if (id == scene::kNoLifetime) continue;
    const scene::Lifetime& lifetime = recording_.lifetimes()[id];
    const Unit from = std::max(lifetime.from, unit_of(gap.from));
    const Unit to = gap.to.valid() ? std::min(lifetime.to, unit_of(gap.to)) : lifetime.to;
    if (from >= to) continue;
    without->dead.push_back({id, from, to});
    left_out.push_back({from, -lifetime.bytes});
    if (to < recording_.units()) left_out.push_back({to, lifetime.bytes});
  }
  std::sort(without->dead.begin(), without->dead.end(), [](const scene::Dead& a, const scene::Dead& b) {
    return a.lifetime != b.lifetime ? a.lifetime < b.lifetime : a.from < b.from;
  });
  std::sort(left_out.begin(), left_out.end(), [](const scene::LeftOut& a, const scene::LeftOut& b) {
    return a.unit != b.unit ? a.unit < b.unit : a.delta < b.delta;
  });
  without->curve = std::make_unique<scene::Curve>(recording_, std::move(left_out));
  return without;
}

void DeviceTimeline::show(std::shared_ptr<const Without> without) {
  without_ = std::move(without);
  document_.without = without_ ? without_->curve.get() : nullptr;
  document_.dead.clear();
  if (without_) document_.dead = without_->dead;
}

void DeviceTimeline::stack_by(analyzer::GroupBy by) {
  by_ = by;
  GroupOfBlock groups(*analysis_, *device_, by);
  std::vector<std::uint8_t> numbers;
  numbers.reserve(blocks_.size());
  for (const Block* block : blocks_) numbers.push_back(groups.of(*block));
  recording_.set_groups(numbers);
  curve_->find_groups();
  lanes_->find_groups();
  if (by_address_ && by_address_->lanes) by_address_->lanes->find_groups();
  document_.groups = groups.groups();
}

}  // namespace dcmt::load

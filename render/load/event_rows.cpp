#include "render/load/event_rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace dcmt::load {
namespace {

using analyzer::MarkKind;
using analyzer::Operator;
using scene::SpanRow;
using scene::Unit;

constexpr std::size_t kMostThreads = 2;

/// An operator by its number in the file, which needs half the memory of a pointer.
const Operator& operator_at(const analyzer::TraceData& data, std::uint32_t id) {
  return *data.operators.find(OperatorId(id));
}

/// True if it ran in no other operator. Ranges of the program around it do not count.
bool is_outermost(const analyzer::TraceData& data, const Operator& op) {
  if (op.scope == analyzer::OperatorScope::kUser) return false;
  const Operator* parent = op.parent.valid() ? data.operators.find(op.parent) : nullptr;
  return parent == nullptr || parent->scope == analyzer::OperatorScope::kUser;
}

/// The operators of a thread that ran in no other operator. They do not overlap.
class OneThread {
 public:
  OneThread(const analyzer::TraceData& data, const scene::Recording& recording,
            std::function<Sequence(Unit)> sequence_of, std::vector<std::uint32_t> operators)
      : data_(data), recording_(recording), sequence_of_(std::move(sequence_of)), operators_(std::move(operators)) {}

  std::size_t find(const scene::View& view, std::size_t most, std::vector<SpanRow::Span>& found) const {
    found.clear();
    // On both axes, later events lie further right.
    const auto first = std::partition_point(operators_.begin(), operators_.end(), [&](std::uint32_t each) {
      return end_of(view.axis(), at(each)) < view.from();
    });
    const auto last = std::partition_point(
        first, operators_.end(), [&](std::uint32_t each) { return begin_of(view.axis(), at(each)) < view.to(); });
    const auto count = static_cast<std::size_t>(last - first);
    if (count > most) return count;
    for (auto each = first; each != last; ++each) {
      const Operator& op = at(*each);
      found.push_back({begin_of(view.axis(), op), end_of(view.axis(), op), *each});
    }
    return count;
  }

  void label(std::uint32_t index, std::string& text) const { text = data_.text(at(index).name); }

 private:
  [[nodiscard]] const Operator& at(std::uint32_t id) const { return operator_at(data_, id); }
  [[nodiscard]] double begin_of(scene::Axis axis, const Operator& op) const {
    return axis == scene::Axis::kTime ? time(op.span.from_ns) : event(op.span.from_seq);
  }
  [[nodiscard]] double end_of(scene::Axis axis, const Operator& op) const {
    if (!op.span.ended()) return axis == scene::Axis::kTime ? time(TimeNs(recording_.end_ns())) : recording_.units();
    return axis == scene::Axis::kTime ? time(op.span.to_ns) : event(op.span.to_seq);
  }
  [[nodiscard]] double time(TimeNs at) const {
    return static_cast<double>(at.value) - static_cast<double>(recording_.begin_ns());
  }
  /// Within a unit, the position follows the sequence: events there change no bytes, but they have an order.
  [[nodiscard]] double event(Sequence at) const {
    Unit low = 0;
    Unit high = recording_.units();
    while (high - low > 1) {
      const Unit middle = low + (high - low) / 2;
      (sequence_of_(middle) <= at ? low : high) = middle;
    }
    const auto begin = static_cast<double>(sequence_of_(low).value);
    const double end = high < recording_.units() ? static_cast<double>(sequence_of_(high).value) : begin;
    const double inside = end > begin ? (static_cast<double>(at.value) - begin) / (end - begin) : 0;
    return low + std::clamp(inside, 0.0, 1.0);
  }

  const analyzer::TraceData& data_;
  const scene::Recording& recording_;
  std::function<Sequence(Unit)> sequence_of_;
  std::vector<std::uint32_t> operators_;
};

}  // namespace

std::vector<SpanRow> operator_rows(const analyzer::TraceData& data, const scene::Recording& recording,
                                   std::function<Sequence(Unit)> sequence_of) {
  std::map<ThreadId, std::vector<std::uint32_t>> by_thread;
  for (const Operator& op : data.operators) {
    // A damaged trace may have larger ids.
    const bool fits = op.id.value > 0 && op.id.value <= std::numeric_limits<std::uint32_t>::max();
    if (fits && is_outermost(data, op)) by_thread[op.thread].push_back(static_cast<std::uint32_t>(op.id.value));
  }
  std::vector<std::vector<std::uint32_t>> threads;
  for (auto& [thread, operators] : by_thread) threads.push_back(std::move(operators));
  std::ranges::stable_sort(threads, [](const auto& a, const auto& b) { return a.size() > b.size(); });
  if (threads.size() > kMostThreads) threads.resize(kMostThreads);
  std::vector<SpanRow> rows;
  for (std::vector<std::uint32_t>& operators : threads) {
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
      return operator_at(data, a).span.from_seq < operator_at(data, b).span.from_seq;
    };
    if (!std::ranges::is_sorted(operators, before)) std::ranges::sort(operators, before);
    const auto thread = std::make_shared<const OneThread>(data, recording, sequence_of, std::move(operators));
    SpanRow& row = rows.emplace_back();
    row.name = rows.size() == 1 ? "operators" : "of another thread";
    row.unit = "operators";
    row.spans = [thread](const scene::View& view, std::size_t most, std::vector<SpanRow::Span>& found) {
      return thread->find(view, most, found);
    };
    row.label = [thread](std::uint32_t index, std::string& text) { thread->label(index, text); };
  }
  return rows;
}

std::vector<scene::PointRow> release_rows(const analyzer::Analysis& analysis,
                                          const std::function<Unit(Sequence)>& unit_of) {
  constexpr std::uint8_t kGreen = 2, kBlue = 3, kGrey = 7;
  scene::PointRow gathers{"gathers, waits", {{"waits", kBlue, false, {}}, {"gathers", kGreen, false, {}}}};
  scene::PointRow releases{"releases", {{"releases", kGrey, false, {}}, {"releases that left bytes", 0, true, {}}}};
  scene::PointRow kernels{"kernels",
                          {{"last kernel before a release", kBlue, false, {}},
                           {"kernel that got an address of what was released", 0, true, {}}}};
  for (const analyzer::Mark& mark : analysis.data->marks) {
    if (mark.kind == MarkKind::kTouch) kernels.kinds[0].units.push_back(unit_of(mark.span.from_seq));
    if (mark.kind == MarkKind::kRead && mark.flags.kernel)
      kernels.kinds[1].units.push_back(unit_of(mark.span.from_seq));
    if (mark.kind == MarkKind::kWait) gathers.kinds[0].units.push_back(unit_of(mark.span.from_seq));
    if (mark.kind == MarkKind::kGather) gathers.kinds[1].units.push_back(unit_of(mark.span.from_seq));
  }
  for (const analyzer::ReleaseRow& row : analysis.releases.rows)
    releases.kinds[row.residual ? 1 : 0].units.push_back(unit_of(row.mark->span.from_seq));
  std::vector<scene::PointRow> rows;
  for (scene::PointRow* row : {&gathers, &releases, &kernels}) {
    bool any = false;
    for (scene::PointRow::Kind& kind : row->kinds) {
      std::ranges::sort(kind.units);
      any |= !kind.units.empty();
    }
    if (any) rows.push_back(std::move(*row));
  }
  return rows;
}

}  // namespace dcmt::load

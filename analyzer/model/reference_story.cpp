#include "analyzer/model/reference_story.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "analyzer/references/change_stacks.h"
#include "analyzer/references/reference_pairs.h"
#include "trace/base/printable.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::model {
namespace {

using analyzer::ChangeStack;
using analyzer::ChangeStacks;
using analyzer::CountChange;
using analyzer::Frame;
using analyzer::WatchedCount;

/// Line `number` of a file of the trace, from 1.
std::optional<std::string> line_of(const TraceData& data, StringId file, std::int64_t number) {
  const auto source = std::ranges::lower_bound(data.sources, file, {}, &analyzer::SourceFile::path);
  if (source == data.sources.end() || source->path != file || number < 1) return std::nullopt;
  std::string_view text = source->text;
  for (std::int64_t at = 1; at < number; ++at) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  const std::size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return std::nullopt;
  return printable(text.substr(from, text.find_last_not_of(" \t\r") - from + 1));
}

/// The story of one count.
class Teller {
 public:
  Teller(const TraceData& data, const WatchedCount& count)
      : data_(data),
        count_(count),
        changes_(data.watched.changes_of(count.id)),
        stacks_(data),
        start_(data.meta_integer(meta::kStartNs).value_or(0)) {}

  CountStory tell() {
    const analyzer::PairedCount paired = analyzer::pair_references(data_, count_);
    CountStory story;
    story.subject = count_.subject;
    story.tensor = given(count_.tensor);
    story.how = count_.at_operators ? "operator" : "watchpoint";
    story.from = begin_of(count_.span);
    story.to = end_of(count_.span);
    story.first = count_.first;
    story.last = count_.last;
    story.changes = static_cast<std::int64_t>(changes_.size());
    story.missing = paired.missing;
    story.missing_drops = paired.missing_drops;
    for (const analyzer::PairedReference& each : paired.references) {
      const bool at_exit = each.given_back && stacks_.of(changes_[*each.given_back]).at_exit;
      add(each, !each.given_back ? story.left : at_exit ? story.at_exit : story.given_back);
    }
    for (std::vector<ReferenceRow>* rows : {&story.left, &story.at_exit, &story.given_back}) {
      std::ranges::stable_sort(*rows, {}, [](const ReferenceRow& row) { return row.first.seq; });
    }
    return story;
  }

 private:
  using Place = std::tuple<bool, FrameId, std::string_view, std::string_view>;
  using Row = std::tuple<Place, Place, bool, const std::vector<ReferenceRow>*>;

  [[nodiscard]] std::string_view return_of(const analyzer::PairedReference& pair) {
    const ChangeStack& end = stacks_.of(changes_[*pair.given_back]);
    if (!end.at_return || !pair.taken) return {};
    const ChangeStack& begin = stacks_.of(changes_[*pair.taken]);
    if (!analyzer::is_within(begin, end) || begin.python.size() == end.python.size()) return {};
    const Frame* frame = data_.frames.find(begin.python[end.python.size()]);
    return frame != nullptr ? data_.text(frame->function) : std::string_view();
  }

  [[nodiscard]] Place place_of(const std::optional<std::size_t>& change, std::string_view returns) {
    if (!change) return {};
    return {true, analyzer::site_of(data_, changes_[*change].by.stack), stacks_.of(changes_[*change]).function(),
            returns};
  }

  [[nodiscard]] std::optional<ReferencePlace> shown(const std::optional<std::size_t>& change,
                                                    std::string_view returns) {
    if (!change) return std::nullopt;
    const ChangeStack& stack = stacks_.of(changes_[*change]);
    ReferencePlace place;
    place.by = actor_of(data_, changes_[*change].by);
    if (const Frame* site = data_.frames.find(analyzer::site_of(data_, changes_[*change].by.stack))) {
      place.code = line_of(data_, site->file, site->line);
      place.site = {data_.text(site->file), data_.text(site->function), site->line};
    }
    place.function = analyzer::unless_empty(stack.function());
    place.native.assign(stack.native.rbegin(), stack.native.rend());
    place.return_of = analyzer::unless_empty(returns);
    return place;
  }

  void add(const analyzer::PairedReference& pair, std::vector<ReferenceRow>& rows) {
    const std::string_view returns = pair.given_back ? return_of(pair) : std::string_view();
    const Row key{place_of(pair.taken, {}), place_of(pair.given_back, returns), pair.certain, &rows};
    const RunPoint begin = pair.taken        ? at(*pair.taken)
                           : pair.given_back ? at(*pair.given_back)
                                             : begin_of(count_.span);
    const RunPoint end = pair.given_back ? at(*pair.given_back) : begin;
    const auto [known, is_new] = rows_.try_emplace(key, rows.size());
    if (is_new)
      rows.push_back({0, pair.certain, shown(pair.taken, {}), shown(pair.given_back, returns), begin, end, {}});
    ReferenceRow& row = rows[known->second];
    ++row.count;
    if (begin.seq < row.first.seq) row.first = begin;
    row.after_start = TimeNs(row.first.ns.value - start_);
    if (end.seq > row.last.seq) row.last = end;
  }

  [[nodiscard]] RunPoint at(std::size_t change) const { return {changes_[change].seq, changes_[change].ns}; }

  const TraceData& data_;
  const WatchedCount& count_;
  std::span<const CountChange> changes_;
  ChangeStacks stacks_;
  const std::int64_t start_;
  std::map<Row, std::size_t> rows_;  ///< index in its list
};

}  // namespace

std::vector<CountStory> reference_story(const TraceData& data, StorageId storage) {
  std::vector<CountStory> counts;
  for (const WatchedCount& count : data.watched.counts) {
    if (count.storage == storage) counts.push_back(Teller(data, count).tell());
  }
  return counts;
}

std::optional<WatchedStorages> watched_storages(const TraceData& data) {
  std::map<StorageId, std::int64_t> left;
  WatchedStorages watched;
  ChangeStacks stacks(data);
  for (const WatchedCount& count : data.watched.counts) {
    const std::span<const CountChange> changes = data.watched.changes_of(count.id);
    watched.changes += static_cast<std::int64_t>(changes.size());
    // A tensor that has left the storage may live on.
    left[count.storage] += count.ended ? 0 : std::max<std::int64_t>(0, count.last);
    left[count.storage] += std::ranges::count_if(
        changes, [&](const CountChange& change) { return change.after < change.before && stacks.of(change).at_exit; });
  }
  if (left.empty()) return std::nullopt;
  watched.storages = static_cast<std::int64_t>(left.size());
  const auto worst =
      std::ranges::max_element(left, {}, [](const auto& each) { return std::pair(each.second, each.first); });
  watched.storage = worst->first;
  watched.left = worst->second;
  return watched;
}

}  // namespace dcmt::model

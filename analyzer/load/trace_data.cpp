#include "analyzer/load/trace_data.h"

#include <algorithm>
#include <future>
#include <tuple>

namespace dcmt::analyzer {

void TraceData::build_indexes() {
  // This thread does about half of the work.
  const std::future<void> blocks_indexed = std::async(std::launch::async, [this] { index_blocks(); });
  operators.cut_circles();
  stacks.cut_circles();
  tensors_by_storage.reserve(tensors.size());
  marks_by_storage.reserve(marks.size());
  std::ranges::stable_sort(resizes, {}, [](const Resize& resize) { return std::tie(resize.storage, resize.seq); });
  for (const Tensor& tensor : tensors) {
    if (tensor.storage.valid()) tensors_by_storage.add(tensor.storage, &tensor);
  }
  for (const Mark& mark : marks) {
    if (mark.storage.valid()) marks_by_storage.add(mark.storage, &mark);
    if (mark.parent.valid()) marks_by_parent.add(mark.parent, &mark);
  }
  for (const Edge& edge : edges) edges_by_census.add(edge.census, &edge);
  for (const Sample& sample : samples) samples_by_census.add(sample.census, &sample);
  tensors_by_storage.build();
  marks_by_storage.build();
  marks_by_parent.build();
  edges_by_census.build();
  samples_by_census.build();
  blocks_indexed.wait();
  storage_changes.build(blocks_by_storage, marks_by_storage, resizes);
}

void TraceData::index_blocks() {
  blocks_by_begin.reserve(blocks.size());
  blocks_by_end.reserve(blocks.size());
  blocks_by_storage.reserve(blocks.size());
  for (const Block& block : blocks) {
    blocks_by_begin.add(block.span.from_seq, &block);
    if (block.span.ended()) blocks_by_end.add(block.span.to_seq, &block);
    if (block.storage.valid()) blocks_by_storage.add(block.storage, &block);
  }
  blocks_by_begin.build();
  blocks_by_end.build();
  blocks_by_storage.build();
  lifetimes = LifetimeIndex({blocks_by_begin.begin(), blocks_by_begin.end()});
}

const Interval* TraceData::sums_only_in(Sequence from, Sequence to) const {
  auto interval = std::partition_point(intervals.begin(), intervals.end(),
                                       [&](const Interval& before) { return before.span.to_seq <= from; });
  for (; interval != intervals.end() && interval->span.from_seq < to; ++interval) {
    if (interval->kept == Kept::kNo) return &*interval;
  }
  return nullptr;
}

std::string_view TraceData::text(StringId id) const {
  if (id.value < 0) return own_texts_[static_cast<std::size_t>(-id.value - 1)];
  const StringRow* row = strings_.find(id);
  return row != nullptr ? std::string_view(row->text) : std::string_view();
}

StringId TraceData::intern(std::string_view text) {
  if (text.empty()) return {};
  if (const auto found = own_strings_.find(text); found != own_strings_.end()) return found->second;
  // Negative, so that they never equal an id of the file.
  const StringId id(-static_cast<std::int32_t>(own_texts_.size()) - 1);
  own_texts_.emplace_back(own_strings_.emplace(text, id).first->first);
  return id;
}

std::optional<std::int64_t> TraceData::meta_integer(std::string_view key) const {
  const auto found = meta.find(key);
  if (found == meta.end() || !found->second.is_integer) return std::nullopt;
  return found->second.integer;
}

std::string TraceData::meta_text(std::string_view key) const {
  const auto found = meta.find(key);
  return found != meta.end() ? found->second.text : std::string();
}

}  // namespace dcmt::analyzer

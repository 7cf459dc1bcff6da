#include "analyzer/trace_data.h"

#include <sys/mman.h>

#include <cstdint>

namespace dcmt::analyzer {

void ask_for_huge_pages(void* memory, std::size_t bytes) {
  constexpr std::uintptr_t kHugePage = std::uintptr_t{2} << 20;
  const auto from = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t begin = (from + kHugePage - 1) / kHugePage * kHugePage;
  const std::uintptr_t end = (from + bytes) / kHugePage * kHugePage;
  if (begin < end) static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
}

void TraceData::build_indexes() {
  operators.cut_circles();
  stacks.cut_circles();
  for (const Block& block : blocks) {
    if (block.storage.valid()) blocks_by_storage.add(block.storage, &block);
  }
  for (const Tensor& tensor : tensors) {
    if (tensor.storage.valid()) tensors_by_storage.add(tensor.storage, &tensor);
  }
  for (const Mark& mark : marks) {
    if (mark.storage.valid()) marks_by_storage.add(mark.storage, &mark);
    if (mark.parent.valid()) marks_by_parent.add(mark.parent, &mark);
  }
  for (const Edge& edge : edges) edges_by_census.add(edge.census, &edge);
  for (const Sample& sample : samples) samples_by_census.add(sample.census, &sample);
  blocks_by_storage.build();
  tensors_by_storage.build();
  marks_by_storage.build();
  marks_by_parent.build();
  edges_by_census.build();
  samples_by_census.build();
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
  // Below zero, so that they never meet an id of the file.
  const StringId id(-static_cast<std::int64_t>(own_texts_.size()) - 1);
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

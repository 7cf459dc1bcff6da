#include "analyzer/storages/live_set.h"

#include <algorithm>

namespace dcmt::analyzer {

std::vector<const Block*> live_blocks(const TraceData& data, StringId device, Sequence at) {
  std::vector<const Block*> live = data.lifetimes.at(at);
  std::erase_if(live, [&](const Block* block) { return block->device != device; });
  return live;
}

bool is_gathered(const TraceData& data, StorageId storage) {
  if (!storage.valid()) return false;
  const auto marks = data.marks_by_storage.of(storage);
  return std::any_of(marks.begin(), marks.end(), [](const Mark* mark) { return mark->gives_storage(); });
}

}  // namespace dcmt::analyzer

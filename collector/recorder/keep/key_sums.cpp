#include "collector/recorder/keep/key_sums.h"

#include "trace/sql/row_io.h"

namespace dcmt::recorder {

Status KeySums::resume(TraceWriter& writer) {
  return each_row_of<KeySumRow>(writer.database(), "", [this](const KeySumRow& row) {
    sums_[{row.graph, row.key}] = row;
  });
}

KeySumRow& KeySums::of(std::int64_t graph, std::int64_t key) {
  const Key id{graph, key};
  changed_.insert(id);
  KeySumRow& sum = sums_[id];
  sum.graph = graph;
  sum.key = key;
  return sum;
}

Status KeySums::commit(TraceWriter& writer) {
  for (const Key& key : changed_) DCMT_RETURN_IF_ERROR(writer.write(sums_[key]));
  changed_.clear();
  return {};
}

}  // namespace dcmt::recorder

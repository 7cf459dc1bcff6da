#include "collector/recorder/keep/key_sums.h"

namespace dcmt::recorder {

Status KeySums::resume(TraceWriter& writer) {
  return each_row(writer.database(),
                  "SELECT graph, key, gathers, releases, final, residual, residual_bytes, reads, empty_reads,"
                  " kernel_reads FROM key_sum",
                  [this](const Statement& row) {
                    sums_[{row.integer(0), row.integer(1)}] = {
                        row.integer(0), row.integer(1), row.integer(2), row.integer(3), row.integer(4),
                        row.integer(5), row.integer(6), row.integer(7), row.integer(8), row.integer(9)};
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

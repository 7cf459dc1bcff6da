// Blocks, storages and tensors together: the rows of what is alive, when a trace is continued and at each commit.
#include "collector/recorder/assemble/lifetimes.h"

#include <cstdio>
#include <unordered_set>

#include "collector/recorder/keep/interval_sums.h"
#include "trace/sql/row_io.h"

namespace dcmt::recorder {

Status Lifetimes::resume() {
  for (const IntervalCurveRow& curve : journal_.rows.sums().curves) {
    if (curve.active_end) traced_.insert(curve.device);
  }
  Database& database = journal_.writer.database();
  std::unordered_set<RowId> alive;
  DCMT_RETURN_IF_ERROR(each_row_of<StorageRow>(database, "WHERE to_seq IS NULL", [&](const StorageRow& storage) {
    alive.insert(storage.id);
    storages_.restore(static_cast<std::uint64_t>(storage.address), storage);
  }));
  DCMT_RETURN_IF_ERROR(each_row_of<MarkRow>(database, "WHERE kind = 'resize' ORDER BY id", [&](const MarkRow& mark) {
    if (alive.contains(mark.storage)) resized_[mark.storage] = mark.bytes.value_or(0);
  }));
  DCMT_RETURN_IF_ERROR(each_row_of<TensorRow>(database, "WHERE to_seq IS NULL", [this](const TensorRow& tensor) {
    tensors_.restore(static_cast<std::uint64_t>(tensor.address), tensor);
  }));
  return each_row_of<BlockRow>(database, "WHERE to_seq IS NULL OR wait_seq_length = 0", [&](const BlockRow& block) {
    const auto address = static_cast<std::uint64_t>(block.address);
    if (block.span.to.set()) {
      waiting_.restore(address, block);
      return;
    }
    if (block.address == 0) {
      blocks_.restore(key_of_small_blocks(block.gpu), block);
      return;
    }
    blocks_.restore(address, block);
    find_inside(address, block);
    if (alive.contains(block.storage)) block_of_[block.storage] = address;
  });
}

Expected<Place> Lifetimes::place(std::uint64_t stack) {
  DCMT_ASSIGN_OR_RETURN(RowId id, dictionary_.stack(stack));
  return Place{journal_.thread, operators_.running(), id};
}

Status Lifetimes::lost_death(const char* what, std::uint64_t address) {
  if (++lost_deaths_ > 1) return {};  // if records are lost, there can be one for each record
  char text[96];
  std::snprintf(text, sizeof text, "a %s began at %#llx while one lived there: its death was lost", what,
                static_cast<unsigned long long>(address));
  return journal_.diagnose("lost_death", text);
}

Status Lifetimes::commit() {
  DCMT_RETURN_IF_ERROR(storages_.commit(journal_.rows));
  DCMT_RETURN_IF_ERROR(tensors_.commit(journal_.rows));
  DCMT_RETURN_IF_ERROR(waiting_.commit(journal_.rows));
  return blocks_.commit(journal_.rows);
}

}  // namespace dcmt::recorder

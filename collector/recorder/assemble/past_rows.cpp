#include "collector/recorder/assemble/past_rows.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "trace/base/quantities.h"

namespace dcmt::recorder {

Status write_past(Journal& journal, Lifetimes& lifetimes, const std::vector<PastStorage>& past,
                  const std::vector<PastGpuBlock>& gpu_blocks, std::int64_t smallest, std::int64_t room,
                  bool& has_past) {
  std::int64_t blocks = 0;
  std::int64_t bytes = 0;
  std::int64_t left_out = 0;
  const auto next = [&] {
    ++journal.now.seq;
    if (!std::exchange(has_past, true)) journal.rows.start(journal.now);
  };
  std::int64_t bytes_of_gpus = 0;
  std::int64_t from_history = 0;
  for (const PastGpuBlock& each : gpu_blocks) {
    if (journal.now.seq + 1 >= room) {
      ++left_out;
      continue;
    }
    next();
    DCMT_RETURN_IF_ERROR(lifetimes.past_block(each.device, each.address, each.bytes, each.stack));
    bytes_of_gpus += static_cast<std::int64_t>(each.bytes);
    if (each.stack != 0) ++from_history;
  }
  for (const PastStorage& each : past) {
    if (journal.now.seq + 2 >= room) {
      ++left_out;
      continue;
    }
    if (each.is_block) {
      next();
      DCMT_RETURN_IF_ERROR(lifetimes.past_block(wire::kCpuDevice, each.data, each.bytes, 0));
      ++blocks;
      bytes += static_cast<std::int64_t>(each.bytes);
    }
    if (static_cast<std::int64_t>(each.bytes) < smallest) continue;
    next();
    DCMT_RETURN_IF_ERROR(lifetimes.past_storage(each.storage, each.data, each.bytes));
  }
  std::string text = fmt::format("the program was attached to: {} in {} blocks", rounded_bytes(bytes), blocks);
  if (!gpu_blocks.empty()) {
    text += fmt::format(", and {} in {} blocks of GPUs,", rounded_bytes(bytes_of_gpus), gpu_blocks.size());
  }
  text += " were there before, whose origin is not known";
  if (from_history != 0) text += fmt::format("; only {} of these have a stack, from torch's own history", from_history);
  if (left_out != 0) text += fmt::format("; {} of them found no room", left_out);
  return journal.diagnose("note", text);
}

}  // namespace dcmt::recorder

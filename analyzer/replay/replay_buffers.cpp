#include "analyzer/replay/replay_buffers.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace dcmt::analyzer {

void ReplayBuffers::add(const Cycle& cycle, const Mark& given, Bytes bytes, const Block* block) {
  ReplayBuffer buffer;
  buffer.key = cycle.key();
  buffer.storage = given.storage;
  buffer.bytes = bytes;
  buffer.rounding = Bytes(bytes.value - given.bytes.value_or(bytes).value);
  buffer.dtype = given.dtype;
  buffer.persistent = cycle.persistent;
  if (block != nullptr) {
    buffer.stream = block->stream;
    share(cycle, *block, buffer);
  }
  add_holders(cycle, buffer);
  buffers_.push_back(std::move(buffer));
}

/// Buffers in one storage refer to the first of them.
void ReplayBuffers::share(const Cycle& cycle, const Block& block, ReplayBuffer& buffer) {
  const auto [first, fresh] = first_in_.try_emplace(&block, buffers_.size());
  ReplayBuffer* other = fresh ? nullptr : &buffers_[first->second];
  if (other != nullptr && (other->shares || other->key != cycle.key())) {
    buffer.shares = other->shares = first->second;
    return;
  }
  first->second = buffers_.size();
  if (cycles_.of_pool(*cycle.gather)) buffer.shares = first->second;
}

void ReplayBuffers::add_holders(const Cycle& cycle, ReplayBuffer& buffer) const {
  for (const ReleaseRow* row : cycle.releases) {
    const Holders* holders = row->holders();
    if (holders == nullptr) continue;
    for (const HolderPath& path : holders->paths) {
      for (const HolderName& name : path.names) {
        buffer.holders.push_back(
            {name.kind, std::string(name.name.value_or("")), std::string(path.function.value_or(""))});
      }
    }
    buffer.unnamed = holders->unexplained() > 0 || buffer.holders.empty();
  }
}

void ReplayBuffers::number_parameters() {
  std::map<std::tuple<Key, Bytes, Bytes>, std::int64_t> ids;
  std::set<std::int64_t> used;
  std::int64_t next = 0;
  for (const ReplayBuffer& buffer : buffers_) next = std::max(next, buffer.key.key + 1);
  for (ReplayBuffer& buffer : buffers_) {
    const auto [id, fresh] = ids.try_emplace({buffer.key, buffer.bytes, buffer.rounding}, buffer.key.key);
    if (fresh && !used.insert(id->second).second) used.insert(id->second = next++);
    buffer.id = id->second;
  }
}

}  // namespace dcmt::analyzer

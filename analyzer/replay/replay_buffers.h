// The buffers of a plan: one for each storage that a replayed cycle received.
#pragma once

#include <cstddef>
#include <map>

#include "analyzer/replay/replay_cycles.h"
#include "analyzer/replay/replay_plan.h"

namespace dcmt::analyzer {

/// Appends to `buffers`. `buffers` and `cycles` must outlive this object.
class ReplayBuffers {
 public:
  ReplayBuffers(const TraceData& data, const ReplayCycles& cycles, std::vector<ReplayBuffer>& buffers)
      : data_(data), cycles_(cycles), buffers_(buffers) {}

  /// Adds the next buffer.
  /// @param given  the mark that gave the storage  @param bytes  the bytes of its block that belong to it
  /// @param block  nullptr: unknown
  void add(const Cycle& cycle, const Mark& given, Bytes bytes, const Block* block);
  /// Numbers the parameters; to be called after the last add(). In the replay, all graphs belong to one rank, where a
  /// parameter has only one size.
  void number_parameters();

 private:
  void add_holders(const Cycle& cycle, ReplayBuffer& buffer) const;
  void share(const Cycle& cycle, const Block& block, ReplayBuffer& buffer);

  const TraceData& data_;
  const ReplayCycles& cycles_;
  std::vector<ReplayBuffer>& buffers_;
  std::map<const Block*, std::size_t> first_in_;
};

}  // namespace dcmt::analyzer

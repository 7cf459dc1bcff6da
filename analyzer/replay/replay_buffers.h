// The buffers of a plan: one for each storage that a played cycle was given.
#pragma once

#include <cstddef>
#include <map>

#include "analyzer/replay/replay_cycles.h"
#include "analyzer/replay/replay_plan.h"

namespace dcmt::analyzer {

/// Adds to `buffers`, which must outlive it, as `cycles` must.
class ReplayBuffers {
 public:
  ReplayBuffers(const TraceData& data, const ReplayCycles& cycles, std::vector<ReplayBuffer>& buffers)
      : data_(data), cycles_(cycles), buffers_(buffers) {}

  /// The next buffer.
  /// @param given  gave the storage  @param bytes  of its block, as far as they are its own
  /// @param block  nullptr: not known
  void add(const Cycle& cycle, const Mark& given, Bytes bytes, const Block* block);
  /// Gives each parameter its number, once all buffers are there: all graphs are one rank's in the replay, whose
  /// parameters have one size each.
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

// The known defects, each behind a switch of the process. All are off unless a program turns them on.
#pragma once

#include <string>
#include <vector>

namespace dcmt::zero3 {

struct Switches {
  /// The final release empties the registered tensor; the storage keeps its bytes while another tensor refers to it.
  bool release_clears_tensor_only = false;
  /// A reduction reads W·ceil(N/W) elements of a slice that has N: the last rank gets its neighbour's values.
  bool padded_reduce_reads_past_its_slice = false;
  /// Reloaded activations stay in the executor's map until the end of the backward.
  bool reload_map_held_to_end_of_backward = false;
  /// Reduce buckets stay allocated while the optimizer runs.
  bool buckets_kept_into_optimizer = false;
  /// A gather in another dtype converts the gathered parameter; a cache that no release reaches keeps the copy to the
  /// end of the pass.
  bool cast_cache_keeps_gathered = false;

  // These concern the program that calls the operators. It queries them.

  /// The code that runs the graph keeps a second name for each gathered weight until the pass is over.
  bool wrapper_keeps_aliases = false;
  /// Weights gathered in a frame outside of the graph are never released.
  bool eager_gather_without_owner = false;
  /// Such weights are released at the end of the forward, and the backward reads them.
  bool early_release_before_backward = false;
  /// Graphs call overloads of wait and release whose schemas do not say that the result is the first argument.
  bool undeclared_alias = false;
};

const Switches& switches();

/// Turns a switch on or off. "as_published" stands for all defects of the published version. False if there is no such
/// switch.
bool set_switch(const std::string& name, bool on);

/// False also if there is no such switch.
bool switch_is_on(const std::string& name);

/// The switches that are on, by name.
std::vector<std::string> switches_on();

}  // namespace dcmt::zero3

// The known defects, each behind a switch of the process. All are off unless a program turns them on by name.
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
};

const Switches& switches();

/// Turns one on or off. "as_published" stands for all that the published version has.
/// False if there is none of that name.
bool set_switch(const std::string& name, bool on);

/// The switches that are on, by name.
std::vector<std::string> switches_on();

}  // namespace dcmt::zero3

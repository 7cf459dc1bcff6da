// Traces for the programs that fuzz their readers.
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/random.h"

namespace dcmt::fuzz {

/// A trace of whole steps with findings, written by hand.
void write_by_hand(const std::string& path, Random& random);

/// A trace as the recorder makes it of a spool in which every type of record occurs. False: none could be made.
bool write_by_recorder(const std::string& path, Random& random);

struct MadeTraces {
  std::vector<std::string> paths;  ///< one, or two that could be ranks of a run; empty: none could be made
  bool pristine = false;           ///< as a recorder would leave them
};

/// In the folder, of either kind, mostly mutated.
MadeTraces make_traces(const std::string& folder, Random& random);

}  // namespace dcmt::fuzz

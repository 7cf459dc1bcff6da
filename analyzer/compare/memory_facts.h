// What of one trace is compared with other runs: peaks with their composition, growth, what releases left, how often
// the paths ran. Points into no trace, so that traces can be read one after the other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/compare/graph_difference.h"
#include "analyzer/compare/lifetimes.h"
#include "analyzer/model/analysis.h"

namespace dcmt::analyzer {

/// What one line of the program had allocated at a peak.
struct AllocationLine {
  std::string function;  ///< "train.py step": the same after lines moved; "generated code call"
  std::string file;      ///< as the trace has it; empty: no Python frame
  std::int64_t line = 0;
  std::string caller;  ///< "train.py:30 main", the user's frame around it; empty: none
  std::string holder;  ///< of most of the bytes: "main: kept"; empty: not read
  std::int64_t blocks = 0;
  Bytes bytes;
};

/// The peak of one part of the run.
struct PeakFact {
  std::string name;  ///< of the phase, "first_step", "after"; see memory_facts()
  Bytes bytes;
  std::optional<std::int64_t> step;
  std::vector<AllocationLine> lines;  ///< by function, then line
  Sequence at = {};
  GraphFacts graph = {};  ///< see add_lives_and_graphs()
};

/// "cuda" of "cuda:0".
[[nodiscard]] std::string kind_of(const std::string& device);

struct DeviceFacts {
  std::string device;  ///< "cuda:0"
  Bytes peak;          ///< of the whole run
  std::optional<Bytes> reserved;
  std::vector<PeakFact> peaks;        ///< by when their parts began first
  std::vector<Bytes> step_peaks;      ///< of the steps that ended
  std::optional<Bytes> growth;        ///< a step, after the first one; nullopt: fewer than three steps
  std::vector<AllocationLine> grown;  ///< what of the steps after the first was alive at the end of the last one
  std::vector<LifetimeFact> lives;    ///< see add_lives_and_graphs()
};

/// An operator of a step.
struct OperatorFact {
  std::string name;
  Bytes bytes;  ///< allocated on the first device when it ended
};

struct FindingFact {
  FindingIdentity identity;
  std::int64_t number = 0;  ///< in its report
  std::string rule, title, holder, device;
  std::string file;  ///< where its storages were made; empty: not known
  std::int64_t line = 0;
  std::vector<std::pair<std::string, std::int64_t>> made;  ///< the same of all of them
  Bytes bytes;
  std::optional<Bytes> per_step;  ///< of memory that grows
  Bytes alive_at_peak;
  std::optional<Bytes> peak_without;  ///< of the device
  std::string fix;
};

struct MemoryFacts {
  std::string path;
  std::int64_t rank = -1;
  std::string torch;      ///< "2.11", its major and minor version
  std::string arguments;  ///< of the program, without its own name
  std::int64_t steps = 0, world_size = 1;
  std::optional<TimeNs> step_time;  ///< the median of those after the first; nullopt: there are none
  std::vector<std::string> unfit;   ///< why nothing can be concluded from this trace; empty: it can
  /// "gathers", "gathers.<origin>", "releases.final", "releases.persistent", "releases.unmatched".
  std::map<std::string, std::int64_t> counts;
  Bytes residual;                       ///< left by final releases, over the whole run
  std::vector<Bytes> sizes;             ///< of the largest blocks that steps make and free, distinct, largest first
  std::vector<Bytes> made;              ///< of all large blocks that steps after the first one make, distinct
  std::vector<OperatorFact> operators;  ///< of the last step that ended, in order
  std::vector<DeviceFacts> devices;     ///< as in a report
  std::vector<FindingFact> findings;    ///< about the training
};

/// Peaks of a device: "first_step" until the first step has ended; from there to the end of the last one by phase, and
/// "other" outside of phases; "after" to the end. A trace without steps has its phases alone. A trace of which rows
/// were not kept has one peak, "run".
[[nodiscard]] MemoryFacts memory_facts(const std::string& path, const Analysis& analysis);

/// What a comparison of two runs has besides, and a gate does not need: how long blocks lived, and what the
/// graph had saved at each peak. `facts`: of the same analysis.
void add_lives_and_graphs(const Analysis& analysis, MemoryFacts& facts);

/// The peaks of the devices other than `main`, one for each kind of device ("cpu", "cuda"), which is its name: the
/// highest, with its lines. `main`: one of `facts.devices`, or nullptr.
[[nodiscard]] std::vector<PeakFact> peaks_beside(const MemoryFacts& facts, const DeviceFacts* main);

}  // namespace dcmt::analyzer

// The facts of one trace that are compared with other runs: peaks with their composition, growth, bytes left by
// releases, and how often code paths ran. The facts point into no trace, so that traces can be read one after the
// other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/compare/allocation_lines.h"
#include "analyzer/compare/graph_difference.h"
#include "analyzer/compare/lifetimes.h"
#include "analyzer/model/analysis.h"

namespace dcmt::analyzer {

/// The peak of one part of the run.
struct PeakFact {
  std::string name;  ///< name of the phase, "first_step", "after"; see memory_facts()
  Bytes bytes;
  std::optional<std::int64_t> step;
  std::vector<AllocationLine> lines;  ///< by function, then line
  Sequence at = {};
  GraphFacts graph = {};  ///< see add_lives_and_graphs()
  /// By torch.nn.Module, "" for what none allocated; see add_lives_and_graphs().
  std::map<std::string, Bytes> modules = {};
};

/// "cuda" of "cuda:0".
[[nodiscard]] std::string kind_of(const std::string& device);

struct DeviceFacts {
  std::string device;  ///< "cuda:0"
  Bytes peak;          ///< of the whole run
  std::optional<Bytes> reserved;
  std::vector<PeakFact> peaks;        ///< in the order in which their parts began
  std::vector<Bytes> step_peaks;      ///< of the steps that ended
  std::optional<Bytes> growth;        ///< per step, after the first one; nullopt: fewer than three steps
  std::vector<AllocationLine> grown;  ///< made by steps after the first and alive at the end of the last one
  std::vector<LifetimeFact> lives;    ///< see add_lives_and_graphs()
};

/// An operator of a step.
struct OperatorFact {
  std::string name;
  Bytes bytes;  ///< allocated bytes on the first device when the operator ended
};

struct FindingFact {
  FindingIdentity identity;
  std::int64_t number = 0;  ///< the finding's number in its report
  std::string rule, title, holder, device;
  std::string file;  ///< where its storages were made, its release, gather or request; empty: unknown
  std::int64_t line = 0;
  std::vector<std::pair<std::string, std::int64_t>> made;  ///< of storages that live on: the places that made them
  Bytes bytes;
  std::optional<Bytes> per_step;  ///< for memory that grows
  Bytes alive_at_peak;
  std::optional<Bytes> peak_without;  ///< of the finding's device
  std::string fix;
};

struct MemoryFacts {
  std::string path;
  std::int64_t rank = -1;
  std::string torch;      ///< major and minor version, "2.11"
  std::string arguments;  ///< of the program, without the program's name
  std::int64_t steps = 0, world_size = 1;
  std::optional<TimeNs> step_time;  ///< median of the steps after the first; nullopt: there are none
  std::vector<std::string> unfit;   ///< why nothing can be concluded from this trace; empty: nothing prevents it
  /// "gathers", "gathers.<origin>", "releases.final", "releases.persistent", "releases.unmatched".
  std::map<std::string, std::int64_t> counts;
  Bytes residual;                       ///< bytes left by final releases, over the whole run
  std::vector<Bytes> sizes;             ///< distinct sizes of the largest blocks that steps make and free, descending
  std::vector<Bytes> made;              ///< distinct sizes of all large blocks that steps after the first one make
  std::vector<OperatorFact> operators;  ///< of the last step that ended, in order
  std::vector<DeviceFacts> devices;     ///< in the order of a report
  std::vector<FindingFact> findings;    ///< findings about the training
};

/// Parts of a device's run, each with a peak: "first_step" until the first step has ended; from there to the end of the
/// last step one part per phase, and "other" outside of phases; then "after". A trace without steps has only its
/// phases. A trace whose rows were not kept has one peak, "run".
[[nodiscard]] MemoryFacts memory_facts(const std::string& path, const Analysis& analysis);

/// Adds what a comparison of two runs needs and a gate does not: how long blocks lived, what the graph had saved at
/// each peak, and which modules its bytes are for. `facts` must come from the same analysis.
void add_lives_and_graphs(const Analysis& analysis, MemoryFacts& facts);

/// The peaks of the devices other than `main`: for each kind of device ("cpu", "cuda") the highest one, with its lines.
/// Each is named after its kind. `main`: one of `facts.devices`, or nullptr.
[[nodiscard]] std::vector<PeakFact> peaks_beside(const MemoryFacts& facts, const DeviceFacts* main);

}  // namespace dcmt::analyzer

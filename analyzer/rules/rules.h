// The rules. Each detects one kind of defect. One rule, one file.
#pragma once

#include <vector>

#include "analyzer/rules/finding.h"

namespace dcmt::analyzer::rules {

/// Final releases that left the storage's bytes. D19: the release cleared one tensor only. D20: a compiled wrapper
/// holds a local that is not deleted before the wrapper returns.
[[nodiscard]] std::vector<Finding> residual(const TraceData& data, const Releases& releases);

/// D16: gathered parameters that were never finally released and are alive at the end of their step. Without steps: at
/// the end of the trace's last operator. The open step of a killed program is not judged.
[[nodiscard]] std::vector<Finding> never_released(const TraceData& data, const Releases& releases);

/// D24: operators that read a parameter, and kernels that receive an address in its storage, after the final release
/// and before the next gather. Kernels are matched with released storages only while the bytes exist.
[[nodiscard]] std::vector<Finding> use_after_release(const TraceData& data, const Releases& releases);

/// Requests that an allocator could not satisfy, with the released storages that were still held at that time.
[[nodiscard]] std::vector<Finding> out_of_memory(const TraceData& data, const Releases& releases);

/// D08: blocks that the program had freed and that still waited for other streams at the peak of a device's active
/// bytes.
[[nodiscard]] std::vector<Finding> awaits_stream(const TraceData& data, const Releases& releases);

/// D25: blocks of a GPU that were used on a stream, freed, and used by their next owner on another stream, which
/// nothing orders after the first one. It needs a trace of `run --streams`.
[[nodiscard]] std::vector<Finding> reused_in_flight(const TraceData& data, const Releases& releases);

/// D09: devices of which torch's allocator reserved much more than was in use, where a setting or a change of the
/// program would give it back, or where memory ran out with as much free as was asked for.
[[nodiscard]] std::vector<Finding> fragmented(const TraceData& data, const Releases& releases);

/// Storages that a holder accumulates over all parts of the run, by steps. A program without steps may collect results
/// on purpose: there, only a holder of autograd graphs counts whose backward the program never calls. D01 (a value
/// keeps a graph), D11 (a hook's store), D12 (a cache).
[[nodiscard]] std::vector<Finding> grows(const TraceData& data, const Releases& releases);

/// Memory of the process that is not torch's and grows with each step.
[[nodiscard]] std::vector<Finding> grows_outside(const TraceData& data, const Releases& releases);

/// Collections of Python objects that have more entries after each part of the run.
[[nodiscard]] std::vector<Finding> grows_objects(const TraceData& data, const Releases& releases);

/// Memory that forked children do not share with their parent, because they count references to its objects, or add to
/// a collection.
[[nodiscard]] std::vector<Finding> grows_forked(const TraceData& data, const Releases& releases);
/// Places of C and C++ of whose allocations more and more are alive, by a sample of them.
[[nodiscard]] std::vector<Finding> grows_native(const TraceData& data, const Releases& releases);

/// D14: storages that outlived their step and that only the frames of a traceback hold. A reading of the memory must
/// have found them.
[[nodiscard]] std::vector<Finding> kept_by_traceback(const TraceData& data, const Releases& releases);

/// D02: what graphs have at a device's peak though no backward runs in its life: from the begin of the next forward on,
/// nothing needs it. What grows for another reason is left out.
/// @param peaks  one per device
/// @param others  the findings of the rules of releases and growth
[[nodiscard]] std::vector<Finding> graphs_without_backward(const TraceData& data, const std::vector<Peak>& peaks,
                                                           const std::vector<Finding>& others);

/// Storages that a peak has twice: beside each, a parameter, a buffer or an optimizer's state of the same size, or of a
/// half, a quarter, the double or fourfold, lives on. All of them end in the step of the peak (the call, where there
/// are no steps), in which the second of the two sets was made, and most steps make none there. Left out is what
/// modules' calls and backwards make, sets beside a third one of the same sizes, and sets on which something was
/// computed: the peak has more that was made after both.
/// @param peaks  one per device
[[nodiscard]] std::vector<Finding> duplicates(const TraceData& data, const std::vector<Peak>& peaks);

}  // namespace dcmt::analyzer::rules

// The rules: each looks for one kind of defect. One rule, one file.
#pragma once

#include <vector>

#include "analyzer/rules/finding.h"

namespace dcmt::analyzer::rules {

/// Final releases after which the storage kept its bytes: D19 the release cleared one tensor only, D20 a compiled
/// wrapper holds a local that is not deleted before its return.
[[nodiscard]] std::vector<Finding> residual(const TraceData& data, const Releases& releases);

/// D16: gathered parameters that were never finally released, and are alive at the end of their step. Without steps,
/// at the end of the trace's last operator. The open step of a killed program is not judged.
[[nodiscard]] std::vector<Finding> never_released(const TraceData& data, const Releases& releases);

/// D24: operators that read a parameter, and kernels that get an address in its storage, after its final release and
/// before its next gather. Kernels are matched with released storages only while their bytes are there.
[[nodiscard]] std::vector<Finding> use_after_release(const TraceData& data, const Releases& releases);

/// Requests that an allocator gave up, with the released storages that were still held at that moment.
[[nodiscard]] std::vector<Finding> out_of_memory(const TraceData& data, const Releases& releases);

/// D08: blocks that the program had freed and that still waited for other streams when a device's active bytes were
/// highest.
[[nodiscard]] std::vector<Finding> awaits_stream(const TraceData& data, const Releases& releases);

/// D09: devices of which torch's allocator reserved much more than was ever active at once.
[[nodiscard]] std::vector<Finding> reserved_beyond_active(const TraceData& data, const Releases& releases);

/// Storages that each part of the run adds to what one holder keeps, by steps. A program without steps may gather what
/// it computes on purpose: there, a holder counts that keeps autograd graphs of which the program never calls a
/// backward. D01 (a graph kept by a value), D11 (a hook's store), D12 (a cache).
[[nodiscard]] std::vector<Finding> grows(const TraceData& data, const Releases& releases);

/// Memory of the process that is not torch's, of which there is more after each step.
[[nodiscard]] std::vector<Finding> grows_outside(const TraceData& data, const Releases& releases);

/// D14: storages that outlived their step and that nothing holds but the frames of a traceback. A reading of the memory
/// has to have found them.
[[nodiscard]] std::vector<Finding> kept_by_traceback(const TraceData& data, const Releases& releases);

}  // namespace dcmt::analyzer::rules

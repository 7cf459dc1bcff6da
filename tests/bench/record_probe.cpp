// Loaded by stack_bench.py into a recorded Python process: makes records through the agent and the Python provider of
// that process, and times each of them.
#include <cstdint>

#include "collector/agent/provider.h"
#include "tests/bench/latency.h"

namespace {

using namespace dcmt;  // NOLINT(google-build-using-namespace)

/// A record about `block`, an object of the calling thread: allocation and free in turn, so that the trace stays
/// well-formed.
void make_record(std::uint64_t& block, bool with_stack) {
  if (!agent::recording()) return;
  const agent::Inside inside;
  const agent::PythonProvider* python = agent::python_provider();
  std::uint64_t module = 0;
  const std::uint64_t stack = with_stack && python != nullptr ? python->capture_stack(&module) : 0;
  const bool free = (++block & 1u) == 0;
  auto* record = static_cast<wire::BlockRecord*>(agent::begin_record(
      free ? wire::RecordType::kBlockFree : wire::RecordType::kBlockAlloc, sizeof(wire::BlockRecord), 0));
  if (record == nullptr) return;
  record->address = reinterpret_cast<std::uintptr_t>(&block);
  record->bytes = free ? 0 : 64;
  record->stack = stack;
  agent::commit_record(record);
}

}  // namespace

extern "C" {

/// Makes `count` (even) records and times each of them into `costs` (cycles), or, if that is null, all of them
/// together into `total`. Returns 0, or 1 if the process is not recorded.
DCMT_AGENT_API int dcmt_probe_records(int with_stack, std::uint32_t count, std::uint64_t* costs, std::uint64_t* total) {
  if (!agent::recording() || agent::python_provider() == nullptr) return 1;
  std::uint64_t block = 0;
  const auto record = [&block, with_stack] { make_record(block, with_stack != 0); };
  if (costs != nullptr) {
    bench::time_each(costs, count, record);
  } else {
    *total = bench::time_all(count, record);
  }
  return 0;
}

DCMT_AGENT_API double dcmt_probe_clock_cycles() { return bench::clock_cycles(); }
DCMT_AGENT_API double dcmt_probe_cycles_per_ns() { return bench::cycles_per_ns(); }

}  // extern "C"

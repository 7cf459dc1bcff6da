// The agent's implementation of the marks table in collector/include/dcmt/marks.h.
#include <string.h>

#include <atomic>

#include "collector/agent/asked_readings.h"
#include "collector/agent/cpu_memory.h"
#include "collector/agent/provider.h"
#include "collector/agent/spool_writer.h"
#include "dcmt/marks.h"

namespace dcmt::agent {
namespace {

constinit const TorchProvider* g_torch = nullptr;
constinit std::atomic<std::uint64_t> g_next_span{1};

void write_mark(wire::RecordType type, wire::MarkKind kind, const char* name, std::uint64_t id,
                std::int64_t value) noexcept {
  if (!recording()) return;
  Inside inside;
  if (g_torch != nullptr) g_torch->before_exact_point();
  const std::uint64_t text = name != nullptr ? intern(name, strlen(name)) : 0;
  std::uint64_t module = 0;
  const std::uint64_t stack = stack_of_thread(&module);
  auto* record =
      static_cast<wire::MarkRecord*>(begin_record(type, sizeof(wire::MarkRecord), static_cast<std::uint32_t>(kind)));
  if (record == nullptr) return;
  record->name = text;
  record->id = id;
  record->value = value;
  record->stack = stack;
  commit_record(record);
}

int is_recording() { return recording() ? 1 : 0; }
void mark(const char* name) { write_mark(wire::RecordType::kMarkPoint, wire::MarkKind::kUser, name, 0, 0); }
std::uint64_t phase_begin(const char* name) {
  const std::uint64_t id = g_next_span.fetch_add(1, std::memory_order_relaxed);
  write_mark(wire::RecordType::kMarkBegin, wire::MarkKind::kPhase, name, id, 0);
  return id;
}
void phase_end(std::uint64_t phase) {
  write_mark(wire::RecordType::kMarkEnd, wire::MarkKind::kPhase, nullptr, phase, 0);
}
void step(std::int64_t number) { write_mark(wire::RecordType::kMarkPoint, wire::MarkKind::kStep, nullptr, 0, number); }

void gather(std::int64_t graph, std::int64_t key, void* tensor, void* object) {
  if (g_torch != nullptr && recording()) g_torch->gather(graph, key, tensor, object);
}
void wait(std::int64_t graph, std::int64_t key, void* tensor, void* object) {
  if (g_torch != nullptr && recording()) g_torch->wait(graph, key, tensor, object);
}
void persist(std::int64_t graph, std::int64_t key) {
  if (g_torch != nullptr && recording()) g_torch->persist(graph, key);
}
void release_begin(std::int64_t graph, std::int64_t key, std::int32_t users) {
  if (g_torch != nullptr && recording()) g_torch->release_begin(graph, key, users);
}
void release_end(std::int64_t graph, std::int64_t key) {
  if (g_torch != nullptr && recording()) g_torch->release_end(graph, key);
}
void census(void* tensor, void* object) {
  if (g_torch != nullptr && recording()) g_torch->census(tensor, object);
}

int find_holders(std::uint64_t timeout_ns) { return await_reading(timeout_ns) ? 1 : 0; }

int cpu_memory(dcmt_cpu_memory* memory, std::uint64_t timeout_ns, int begins_anew) {
  CpuMemoryNow now;
  if (!ask_cpu_memory(now, timeout_ns, begins_anew != 0)) return 0;
  *memory = {now.allocated, now.peak, now.highest, now.complete ? std::uint64_t{1} : 0};
  return 1;
}

constinit const dcmt_marks g_marks = {sizeof(dcmt_marks),
                                      DCMT_MARKS_VERSION,
                                      is_recording,
                                      mark,
                                      phase_begin,
                                      phase_end,
                                      step,
                                      gather,
                                      wait,
                                      persist,
                                      release_begin,
                                      release_end,
                                      census,
                                      find_holders,
                                      cpu_memory};

}  // namespace

void register_torch_provider(const TorchProvider* provider) noexcept {
  g_torch = provider;
  at_thread_end(provider->thread_end);
}

const TorchProvider* torch_provider() noexcept { return g_torch; }

}  // namespace dcmt::agent

extern "C" __attribute__((visibility("default"))) const dcmt_marks* dcmt_get_marks(std::uint32_t version) {
  return version == DCMT_MARKS_VERSION ? &dcmt::agent::g_marks : nullptr;
}

// An agent for tests of a provider: it publishes into memory instead of a spool. It has the agent's library name, so
// that a provider that is loaded after it uses it.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "collector/agent/provider.h"

namespace dcmt::agent {
namespace {

// Leaked on purpose: code objects die after static destructors have run.
struct State {
  std::mutex mutex;
  std::vector<unsigned char> records;
  std::unordered_set<std::uint64_t> seen;
  std::uint64_t sequence = 0;
  std::atomic<bool> has_room{true};
  const PythonProvider* provider = nullptr;
  std::string diagnostic;
  std::string python_version;
};
State& state() {
  static State* const the = new State;
  return *the;
}
constinit thread_local std::uint64_t* t_record = nullptr;  ///< leaked, too: static TLS has little space

}  // namespace

constinit HotPage g_hot{static_cast<std::uint32_t>(GateState::kOpen), 0, 1, Detail::kLifetimes, {}, {}, {}, {}, {}, {}};
// It belongs to no session, so every record requests a chunk.
constinit thread_local ThreadState t_state __attribute__((tls_model("initial-exec"))) = {};
constinit std::atomic<std::uint64_t>* g_next_seq = nullptr;

void* begin_record_slowly(wire::RecordType type, std::size_t bytes, std::uint32_t aux) noexcept {
  if (bytes % 8 != 0 || bytes > wire::kMaxRecordBytes || !state().has_room.load()) return nullptr;
  if (t_record == nullptr) t_record = new std::uint64_t[wire::kMaxRecordBytes / 8];
  auto* const header = reinterpret_cast<wire::RecordHeader*>(t_record);
  *header = {type, static_cast<std::uint16_t>(bytes / 8), aux, 0, 0};
  return t_record;
}

void commit_record(void* record) noexcept {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  auto* const header = static_cast<wire::RecordHeader*>(record);
  header->seq = ++s.sequence;
  const auto* const bytes = static_cast<const unsigned char*>(record);
  s.records.insert(s.records.end(), bytes, bytes + header->words * 8u);
}

std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t seed) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325u ^ seed;
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001B3u;
  return hash != 0 ? hash : 1;
}

bool first_sight(std::uint64_t id) noexcept {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  return s.seen.insert(id).second;
}

void forget(std::uint64_t id) noexcept {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.seen.erase(id);
}

std::uint64_t intern(const char* text, std::size_t bytes) noexcept {
  if (bytes == 0) return 0;
  const std::uint64_t id = hash_bytes(text, bytes, 0);
  if (!first_sight(id)) return id;
  const std::size_t padded = (bytes + 7) & ~std::size_t{7};
  void* const room = begin_record(wire::RecordType::kString, sizeof(wire::StringRecord) + padded, 0);
  if (room == nullptr) {
    forget(id);
    return id;
  }
  auto* const record = static_cast<wire::StringRecord*>(room);
  record->id = id;
  record->bytes = bytes;
  std::memcpy(record + 1, text, bytes);
  commit_record(room);
  return id;
}

const char* operators_path() noexcept { return getenv("DC_MEMTRACE_OPERATORS"); }
void diagnose(wire::DiagnosticCode, const char* text) noexcept { state().diagnostic = text; }
std::uint32_t current_tid() noexcept { return static_cast<std::uint32_t>(gettid()); }
void await_last_reading() noexcept {
  if (getenv("DCMT_FAKE_AGENT_SAYS_END") != nullptr) puts("the program has ended");
}
void register_python_provider(const PythonProvider* provider) noexcept { state().provider = provider; }
const PythonProvider* python_provider() noexcept { return state().provider; }
void set_python_version(const char* version) noexcept { state().python_version = version; }

}  // namespace dcmt::agent

// The functions that the test calls.
using dcmt::agent::state;

namespace {

std::uint64_t capture() {
  std::uint64_t module = 0;
  return state().provider->capture_stack(&module);
}

}  // namespace

extern "C" {

DCMT_AGENT_API const char* fake_diagnostic() { return state().diagnostic.c_str(); }
DCMT_AGENT_API const char* fake_python_version() { return state().python_version.c_str(); }
/// 0: no record gets space, as with a full spool.
DCMT_AGENT_API void fake_room(int has_room) { state().has_room.store(has_room != 0); }
DCMT_AGENT_API int fake_registered() { return state().provider != nullptr ? 1 : 0; }
DCMT_AGENT_API const unsigned char* fake_records() { return state().records.data(); }
DCMT_AGENT_API std::size_t fake_records_bytes() { return state().records.size(); }
DCMT_AGENT_API std::uint64_t fake_capture() { return capture(); }

/// The module whose call is the innermost one on the calling thread's stack; 0: none.
DCMT_AGENT_API std::uint64_t fake_module() {
  std::uint64_t module = 0;
  state().provider->capture_stack(&module);
  return module;
}

/// The name of the parameter that a running function of the table releases by a resize; 0: unknown.
DCMT_AGENT_API std::uint64_t fake_released_name() {
  return state().provider->function_here(dcmt::agent::FunctionEvent::kResize, nullptr).name;
}

/// The stack of a thread that waits first, so that other threads can run meanwhile.
DCMT_AGENT_API std::uint64_t fake_capture_after_ms(int milliseconds) {
  usleep(static_cast<useconds_t>(milliseconds) * 1000);
  return capture();
}

DCMT_AGENT_API std::uint64_t fake_describe(const dcmt::agent::PythonPlace* places, std::uint32_t count) {
  return state().provider->describe_stack(places, count, false);
}

DCMT_AGENT_API std::uint64_t fake_visit(std::uint64_t census, const std::uint64_t* objects, std::uint32_t count,
                                        int other_threads) {
  const auto reach = state().provider->visit_locals(census, objects, count, other_threads != 0);
  return reach.found | (static_cast<std::uint64_t>(reach.frames) << 20) |
         (static_cast<std::uint64_t>(reach.other_threads_unseen) << 60);
}

DCMT_AGENT_API void fake_prepare_visit() { state().provider->prepare_visit(); }

/// Nanoseconds per capture.
DCMT_AGENT_API double fake_capture_cost(int rounds) {
  const auto now = [] {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
  };
  const double start = now();
  for (int i = 0; i < rounds; ++i) capture();
  return (now() - start) / rounds;
}

}  // extern "C"

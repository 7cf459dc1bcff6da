#include "collector/agent/start.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "collector/agent/arena.h"
#include "collector/agent/asked_readings.h"
#include "collector/agent/code_objects.h"
#include "collector/agent/cpp_stacks.h"
#include "collector/agent/environment.h"
#include "collector/agent/gate.h"
#include "collector/agent/import_state.h"
#include "collector/agent/load_providers.h"
#include "collector/agent/main_thread.h"
#include "collector/agent/provider.h"
#include "collector/agent/providers.h"
#include "collector/agent/seen.h"
#include "collector/agent/spool_writer.h"
#include "collector/agent/standby_protocol.h"

namespace dcmt::agent {

namespace {

constinit std::atomic<bool> g_started{false};
constinit const char* g_why_no_kernels = nullptr;
constinit const char* g_operators = nullptr;
constinit bool g_can_begin = true;
constinit bool g_has_tables = false;

/// Torch's compile workers import torch but never train, so they are not recorded.
bool is_compile_worker() noexcept {
  char line[4096];
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t bytes = read(fd, line, sizeof line - 1);
  close(fd);
  if (bytes <= 0) return false;
  line[bytes] = '\0';
  for (const char* word = line; word < line + bytes; word += strlen(word) + 1) {
    if (strstr(word, "/torch/_inductor/compile_worker/") != nullptr) return true;
  }
  return false;
}

/// Two agents would hook each other's hooks. Only the agent that comes first in symbol order records.
bool another_agent_is_here() noexcept {
  Dl_info first{};
  Dl_info own{};
  // In the program's scope: with RTLD_DEFAULT, the search would begin with this library, which is linked -Bsymbolic.
  void* const program = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
  return dladdr(dlsym(program, "dcmt_get_marks"), &first) != 0 &&
         dladdr(reinterpret_cast<void*>(is_compile_worker), &own) != 0 && first.dli_fbase != own.dli_fbase;
}

std::int32_t integer(const char* text, std::int32_t otherwise) noexcept {
  return text != nullptr && *text != '\0' ? static_cast<std::int32_t>(strtol(text, nullptr, 10)) : otherwise;
}

/// Lightning's own launcher numbers the processes of each node, and gives no rank. On the first node that is the rank.
std::int32_t rank_of_environment() noexcept {
  if (const char* rank = getenv("RANK")) return integer(rank, -1);
  const bool is_ranks = getenv("WORLD_SIZE") != nullptr && integer(getenv("NODE_RANK"), 0) == 0;
  return is_ranks ? integer(getenv("LOCAL_RANK"), -1) : -1;
}

/// Reports a refusal before there is a spool: a small file that the recorder reads.
void leave_note(const char* folder, const char* why) noexcept {
  char path[4096];
  snprintf(path, sizeof path, "%s/%ld.refused", folder, static_cast<long>(getpid()));
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, why, strlen(why));
  close(fd);
}

/// Returns nullptr, or why the tables could not be made.
const char* make_tables() noexcept {
  if (!make_gate()) return "the kernel cannot wipe a page on fork (MADV_WIPEONFORK): Linux 4.14 or newer is needed";
  return make_arena() && make_seen_table() ? nullptr : "there is no memory for the agent's tables";
}

void start() noexcept {
  const char* folder = getenv(kEnvSpool);
  const char* libraries = getenv(kEnvLibraries);
  if (folder == nullptr || libraries == nullptr || is_compile_worker() || another_agent_is_here()) return;
  const char* detail = getenv(kEnvDetail);
  g_hot.detail = detail_of(detail != nullptr ? detail : "").value_or(Detail::kLifetimes);
  g_hot.smallest_followed.store(kFollowedBytes, std::memory_order_relaxed);
  g_hot.streams = full_detail() && integer(getenv(kEnvStreams), 0) != 0;
  g_hot.gpu_work = full_detail() && integer(getenv(kEnvGpuWork), 0) != 0;

  set_exit_wait(integer(getenv(kEnvExitWait), kDefaultExitWait));
  std::int32_t chunks = integer(getenv(kEnvChunks), static_cast<std::int32_t>(spool::kDefaultChunks));
  if (chunks < 4 || chunks > static_cast<std::int32_t>(spool::kMaxChunks)) chunks = spool::kDefaultChunks;
  g_operators = getenv(kEnvOperators);
  const SpoolOptions options{folder, static_cast<std::uint32_t>(chunks), g_hot.detail, rank_of_environment(),
                             integer(getenv("WORLD_SIZE"), -1)};
  if (const char* why = make_tables(); why != nullptr) {
    leave_note(folder, why);
    return;
  }
  if (const char* why = open_spool(options); why != nullptr) {
    leave_note(folder, why);
    return;
  }
  // Providers publish strings and diagnostics while they start. Hooks that run meanwhile are inside the guard.
  open_gate();
  {
    Inside inside;
    load_providers(libraries, getenv(kEnvPrepared), nullptr, !only_blocks(), integer(getenv(kEnvNative), 0) != 0);
  }
  if (!refused()) spool_header()->state.store(static_cast<std::uint32_t>(spool::AgentState::kRecording));
  set_holds(integer(getenv(kEnvHolds), 1) != 0);
  const char* why = show_spool(folder);
  if (why != nullptr) leave_note(folder, why);
  if (why != nullptr || refused()) close_gate();
}

}  // namespace

void start_if_torch_is_here() noexcept {
  if (g_started.load(std::memory_order_relaxed) || getenv(kEnvSpool) == nullptr) return;
  if (is_loaded("libc10.so") && !g_started.exchange(true)) start();
}

bool standby_begins_here() noexcept {
  if (g_started.load(std::memory_order_relaxed) || getenv(kEnvSpool) != nullptr) return false;
  const char* mode = getenv(kEnvStandby);
  if (mode == nullptr || strcmp(mode, kStandby) != 0 || !is_loaded("libc10.so")) return false;
  return !g_started.exchange(true) && !is_compile_worker() && !another_agent_is_here();
}

namespace {

void empty_tables() { g_can_begin = empty_arena() && g_can_begin; }

/// Restores all hooks and forgets all state. Requires that the gate is closed.
void leave_all() noexcept {
  constexpr timespec kGracePeriod{0, 20'000'000};
  const Inside inside;
  drop_main_thread_work();
  const TorchProvider* torch = torch_provider();
  // Of the slots that both have redirected, its hooks came last.
  if (const NativeProvider* native = native_provider(); native != nullptr) native->leave();
  if (const CudaProvider* cuda = cuda_provider(); cuda != nullptr) cuda->leave();
  if (torch != nullptr) torch->leave();
  if (const PythonProvider* python = python_provider(); python != nullptr) python->leave();
  // Let threads that are inside a hook finish their records. A slower thread writes to memory that stays mapped.
  nanosleep(&kGracePeriod, nullptr);
  leave_spool();
  register_cuda_provider(nullptr);
  register_python_provider(nullptr);
  register_native_provider(nullptr);
  end_cpp_stacks();
  forget_ranges();
  forget_followed_sizes();
  if (torch != nullptr) {
    torch->forget(empty_tables);
  } else if (g_has_tables) {
    empty_tables();
  }
}

void write_gpu_blocks(bool recording) noexcept {
  if (const TorchProvider* torch = torch_provider(); torch != nullptr && !refused()) torch->write_gpu_blocks(recording);
}

/// Returns nullptr, or why launches and copies on GPUs are not observed.
const char* watch_kernels() noexcept {
  if (const CudaProvider* cuda = cuda_provider(); cuda != nullptr) return cuda->watch_from_now();
  if (has_cupti()) return "kernels are not seen: the provider for them does not start here, as the trace says";
  static constexpr char kNone[] = "kernels are not seen: this torch was built without CUDA, and brings no CUPTI";
  diagnose(wire::DiagnosticCode::kProviderOff, kNone);
  return kNone;
}

}  // namespace

const char* begin_session(const SessionOptions& options) noexcept {
  if (!g_can_begin) return "what an earlier recording left cannot be taken away";
  if (gate_open()) return "the process is recorded already";
  if (!is_loaded("libtorch_cpu.so")) return "the process has not loaded torch yet; attach again when it has";
  for (int i = 0; torch_is_being_imported(); ++i) {
    constexpr timespec kPause{0, 50'000'000};
    constexpr int kMostPauses = 1000;
    if (i == kMostPauses) return "the process is still importing torch; attach again when it has";
    nanosleep(&kPause, nullptr);
  }
  if (const char* why = make_tables(); why != nullptr) return why;
  g_hot.detail = options.detail;
  g_hot.streams = false;
  g_hot.gpu_work = false;
  g_hot.smallest_followed.store(kFollowedBytes, std::memory_order_relaxed);
  g_hot.every_block.store(true, std::memory_order_relaxed);
  set_exit_wait(options.exit_wait);
  g_operators = options.operators;
  const SpoolOptions spool{nullptr, options.chunk_count, options.detail, rank_of_environment(),
                           integer(getenv("WORLD_SIZE"), -1)};
  if (const char* why = adopt_spool(options.memory, spool); why != nullptr) return why;
  g_has_tables = true;
  set_holds(false);  // nobody expects pauses of a program that ran before
  // The session sees what the program loads, which otherwise begins a recording that the environment requests.
  g_started.store(true, std::memory_order_relaxed);
  // Other threads run torch meanwhile. Their events are recorded only once all hooks are in place: a block with a
  // recorded begin and a missed end would look as if it were never freed.
  set_starting(true);
  {
    const Inside inside;
    load_providers(options.libraries, options.prepared, start_on_main_thread, options.kernels, options.native);
    write_gpu_blocks(false);
    g_why_no_kernels = options.kernels && !refused() ? watch_kernels() : nullptr;
    close_thread_chunk();
  }
  set_starting(false);
  if (refused()) {
    const char* why = withdraw_refusal();
    leave_all();
    return why;
  }
  measure_clock();
  spool_header()->state.store(static_cast<std::uint32_t>(spool::AgentState::kRecording));
  open_gate();
  const Inside inside;
  write_gpu_blocks(true);
  close_thread_chunk();
  return nullptr;
}

const char* why_no_kernels() noexcept { return g_why_no_kernels; }

void past_is_known() noexcept { g_hot.every_block.store(false, std::memory_order_relaxed); }

void end_session() noexcept {
  if (!gate_open()) return;
  {
    const Inside inside;
    if (const TorchProvider* torch = torch_provider(); torch != nullptr) torch->before_exact_point();
    if (const CudaProvider* cuda = cuda_provider(); cuda != nullptr) cuda->before_end();
    close_thread_chunk();
  }
  spool_header()->state.store(static_cast<std::uint32_t>(spool::AgentState::kFinished));
  close_gate();
  leave_all();
}

const char* operators_path() noexcept { return g_operators; }

void make_way_for_cupti_user() noexcept {
  const CudaProvider* const cuda = cuda_provider();
  if (cuda == nullptr || !recording()) return;
  const Inside inside;
  cuda->step_aside();
}

void note_objects_changed() noexcept { g_hot.objects_changed.store(1, std::memory_order_relaxed); }
bool consume_objects_changed() noexcept {
  const bool own = t_state.has_loaded != 0;
  t_state.has_loaded = 0;
  const bool changed = g_hot.objects_changed.exchange(0, std::memory_order_relaxed) != 0 || own;
  if (!changed) return false;
  find_code_objects();
  if (const NativeProvider* native = native_provider(); native != nullptr) native->objects_changed();
  return true;
}

void set_torch_version(const char* version) noexcept {
  snprintf(spool_header()->torch_version, sizeof spool_header()->torch_version, "%s", version);
}
void set_python_version(const char* version) noexcept {
  snprintf(spool_header()->python_version, sizeof spool_header()->python_version, "%s", version);
}

namespace {
/// The process exits normally. Other threads may still write, so the recorder waits for the process itself.
__attribute__((destructor)) void on_exit() {
  if (gate_open() && !refused()) {
    if (const TorchProvider* torch = torch_provider(); torch != nullptr) {
      const Inside inside;
      torch->before_exact_point();
    }
    close_thread_chunk();
    spool_header()->state.store(static_cast<std::uint32_t>(spool::AgentState::kFinished));
  }
}
}  // namespace

}  // namespace dcmt::agent

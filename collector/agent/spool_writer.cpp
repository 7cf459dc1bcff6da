#include "collector/agent/spool_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/agent/clock.h"
#include "collector/agent/environment.h"
#include "collector/agent/forks.h"
#include "collector/agent/gate.h"
#include "collector/agent/limits.h"
#include "collector/agent/provider.h"
#include "collector/agent/spool_memory.h"
#include "collector/agent/thread_state.h"

namespace dcmt::agent {

constinit thread_local ThreadState t_state __attribute__((tls_model("initial-exec"))) = {};
constinit std::atomic<std::uint64_t>* g_next_seq = nullptr;

namespace {

constinit spool::Header* g_header = nullptr;
constinit spool::ChunkDescriptor* g_descriptors = nullptr;
constinit char* g_chunks = nullptr;
constinit std::uint32_t g_chunk_count = 0;
constinit pthread_key_t g_thread_end_key = 0;

constexpr std::size_t kMaxPath = 4096;
constinit char g_name[64] = {};  ///< name of the published file
constinit int g_memory = -1;     ///< descriptor of a spool without a file, until it is published
constinit bool g_has_key = false;
constinit void* g_range = nullptr;  ///< addresses that adopted spools use, one after the other
constinit std::size_t g_range_bytes = 0;
constinit std::atomic<bool> g_starting{false};

/// `<folder>/<before><g_name><after>`; false if it is too long.
bool spool_path(char (&out)[kMaxPath], const char* folder, const char* before, const char* after) noexcept {
  const int length = snprintf(out, kMaxPath, "%s/%s%s%s", folder, before, g_name, after);
  return length > 0 && static_cast<std::size_t>(length) < kMaxPath;
}
bool hidden_path(char (&out)[kMaxPath], const char* folder) noexcept { return spool_path(out, folder, ".", ".new"); }

/// Start time of this process in clock ticks since boot; 0 if /proc has no figure.
std::uint64_t process_start() noexcept {
  char line[1024];
  const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t bytes = read(fd, line, sizeof line - 1);
  close(fd);
  if (bytes <= 0) return 0;
  line[bytes] = '\0';
  // The name in parentheses may have any character, so count fields after its end. The start time is field 22.
  const char* field = strrchr(line, ')');
  for (int index = 2; field != nullptr && index < 22; ++index) {
    field = strchr(field, ' ');
    if (field != nullptr) ++field;
  }
  return field != nullptr ? strtoull(field, nullptr, 10) : 0;
}

/// Allocate all blocks now: a write to a hole on a full file system would raise SIGBUS in the job.
bool allocate(int fd, std::size_t bytes) noexcept {
  int failure = 0;
  do {
    failure = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  } while (failure == EINTR);
  return failure == 0;
}

bool may_write() noexcept { return gate_open() || (g_starting.load(std::memory_order_acquire) && t_state.inside != 0); }

using ThreadEndHook = void (*)() noexcept;
constinit ThreadEndHook g_at_thread_end = nullptr;

void on_thread_end(void*) {
  if (g_at_thread_end != nullptr) g_at_thread_end();
  close_thread_chunk();
}

// For tests: how many more times threads may reach a point in renew_chunk() before the process is killed; 0: no limit.
constinit std::atomic<std::int32_t> g_kill_when_closed{0};
constinit std::atomic<std::int32_t> g_kill_when_acquired{0};

void read_test_kill() noexcept {
  const char* point = getenv(kEnvTestKill);
  if (point == nullptr) return;
  if (strncmp(point, "closed:", 7) == 0) g_kill_when_closed.store(atoi(point + 7));
  if (strncmp(point, "taken:", 6) == 0) g_kill_when_acquired.store(atoi(point + 6));
}

void kill_if_due(std::atomic<std::int32_t>& left) noexcept {
  if (left.load(std::memory_order_relaxed) != 0 && left.fetch_sub(1) == 1) kill(getpid(), SIGKILL);
}

/// The value of given_back before a search that found no chunk. The initial value is larger than any count.
constinit std::atomic<std::uint64_t> g_full_since{~std::uint64_t{0}};

/// Acquires a chunk for this thread; -1 if none is free. While the recorder is stopped, all threads come here with each
/// record, so no thread searches until the recorder has freed chunks.
std::int64_t acquire_chunk() noexcept {
  const std::uint32_t given_back = g_header->given_back.load(std::memory_order_acquire);
  if (g_full_since.load(std::memory_order_relaxed) == given_back) return -1;
  const std::uint32_t start = g_header->chunk_hint.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < g_chunk_count; ++i) {
    const std::uint32_t index = (start + i) % g_chunk_count;
    std::uint32_t expected = static_cast<std::uint32_t>(spool::ChunkState::kFree);
    auto& state = g_descriptors[index].state;
    if (state.load(std::memory_order_relaxed) == expected &&
        state.compare_exchange_strong(expected, static_cast<std::uint32_t>(spool::ChunkState::kOpen),
                                      std::memory_order_acquire)) {
      g_header->chunk_hint.store(index + 1, std::memory_order_relaxed);
      return index;
    }
  }
  g_full_since.store(given_back, std::memory_order_relaxed);
  return -1;
}

void publish(const wire::RecordHeader* header) noexcept {
  t_state.used += header->words * 8u;
  t_state.descriptor->committed.store(t_state.used, std::memory_order_release);
}

/// Reads counter and clock at about the same time; repeats if the thread was interrupted in between.
void read_clock(wire::ClockRecord& clock) noexcept {
  constexpr std::uint64_t kMaxCycles = 5'000;
  ClockSample sample = sample_clock();
  for (int again = 0; again < 2 && sample.apart > kMaxCycles; ++again) sample = sample_clock();
  clock.header.tsc = sample.tsc;
  clock.monotonic_ns = sample.monotonic_ns;
}

/// The records that begin each chunk make it readable alone: the thread (once), the clock, earlier losses.
void write_chunk_preamble(bool first) noexcept {
  if (first) {
    auto* thread = reinterpret_cast<wire::ThreadRecord*>(
        append(wire::RecordType::kThread, sizeof(wire::ThreadRecord), t_state.number - 1));
    thread->tid = current_tid();
    memset(thread->name, 0, sizeof thread->name);
    prctl(PR_GET_NAME, thread->name);
    publish(&thread->header);
  }
  auto* clock = reinterpret_cast<wire::ClockRecord*>(append(wire::RecordType::kClock, sizeof(wire::ClockRecord), 0));
  clock->real_ns = nanoseconds(CLOCK_REALTIME);
  read_clock(*clock);
  publish(&clock->header);
  if (t_state.lost != 0) {
    auto* lost = reinterpret_cast<wire::LostRecord*>(append(wire::RecordType::kLost, sizeof(wire::LostRecord),
                                                            static_cast<std::uint32_t>(wire::LossReason::kNoRoom)));
    lost->count = t_state.lost;
    lost->since_tsc = t_state.lost_since;
    publish(&lost->header);
    t_state.lost = 0;
  }
}

/// The first record of this thread in the session.
void join_session() noexcept {
  t_state.session = g_hot.session;
  t_state.number = 0;
  t_state.chunk = nullptr;
  t_state.used = spool::kChunkBytes;
  t_state.lost = 0;
}

bool renew_chunk() noexcept {
  close_thread_chunk();
  kill_if_due(g_kill_when_closed);
  const std::int64_t index = acquire_chunk();
  if (index < 0) return false;
  kill_if_due(g_kill_when_acquired);
  const bool first = t_state.number == 0;
  if (first) t_state.number = g_header->threads.fetch_add(1, std::memory_order_relaxed) + 1;
  follow_thread_end();  // each time: a destructor of an ending thread may record again after on_thread_end()
  t_state.chunk = g_chunks + static_cast<std::size_t>(index) * spool::kChunkBytes;
  t_state.descriptor = &g_descriptors[index];
  t_state.descriptor->thread = t_state.number - 1;
  t_state.descriptor->tid = current_tid();
  t_state.used = 0;
  write_chunk_preamble(first);
  return true;
}

/// The addresses for an adopted spool. They stay the same as long as they are large enough.
void* map_at_range(int memory, std::size_t bytes) noexcept {
  if (bytes > g_range_bytes) {
    void* range = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) return MAP_FAILED;
    g_range = range;
    g_range_bytes = bytes;
  }
  return mmap(g_range, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE | MAP_FIXED, memory, 0);
}

bool make_thread_end_key() noexcept {
  g_has_key = g_has_key || pthread_key_create(&g_thread_end_key, on_thread_end) == 0;
  return g_has_key;
}

/// Initializes the header of new memory and the pointers into it. A new session begins.
void initialize_spool(void* base, const SpoolOptions& options, std::uint64_t first_seq) noexcept {
  auto* header = static_cast<spool::Header*>(base);
  memcpy(header->magic, spool::kMagic, sizeof header->magic);
  header->wire_version = wire::kWireVersion;
  header->chunk_count = options.chunk_count;
  header->chunk_bytes = spool::kChunkBytes;
  header->pid = static_cast<std::uint32_t>(getpid());
  header->parent_pid = static_cast<std::uint32_t>(getppid());
  // Read the clocks together, after the slow steps: the counter's rate is computed from here.
  header->start_tsc = cycles();
  header->start_monotonic_ns = nanoseconds(CLOCK_MONOTONIC);
  header->start_real_ns = nanoseconds(CLOCK_REALTIME);
  header->process_start = process_start();
  header->rank = options.rank;
  header->world_size = options.world_size;
  header->detail = static_cast<std::uint32_t>(options.detail);
  header->first_seq = first_seq;
  header->next_seq.store(first_seq, std::memory_order_relaxed);
  g_header = header;
  g_next_seq = &header->next_seq;
  g_descriptors = reinterpret_cast<spool::ChunkDescriptor*>(static_cast<char*>(base) + spool::kHeaderBytes);
  g_chunks = static_cast<char*>(base) + spool::chunks_offset(options.chunk_count);
  g_chunk_count = options.chunk_count;
  g_full_since.store(~std::uint64_t{0}, std::memory_order_relaxed);
  ++g_hot.session;
}

}  // namespace

const char* adopt_spool(int memory, const SpoolOptions& options) noexcept {
  const std::size_t bytes = spool::file_bytes(options.chunk_count);
  if (const char* why = limit_on_spool(bytes); why != nullptr) return why;
  void* base = map_at_range(memory, bytes);
  if (base == MAP_FAILED || !prepare_for_forks(memory, base, bytes) || !make_thread_end_key()) {
    return "the spool could not be mapped";
  }
  initialize_spool(base, options, spool::kRoomForPast);
  return nullptr;
}

void leave_spool() noexcept {
  mmap(g_range, g_range_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  leave_forks();
}

void set_starting(bool starting) noexcept { g_starting.store(starting, std::memory_order_release); }

const char* open_spool(const SpoolOptions& options) noexcept {
  snprintf(g_name, sizeof g_name, "%ld-%llx.spool", static_cast<long>(getpid()),
           static_cast<unsigned long long>(cycles()));
  char hidden[kMaxPath];
  if (!hidden_path(hidden, options.folder)) return "the spool folder's path is too long";
  int fd = open(hidden, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return "the spool could not be created";
  const std::size_t bytes = spool::file_bytes(options.chunk_count);
  if (const char* why = limit_on_spool(bytes); why != nullptr) {
    close(fd);
    unlink(hidden);
    return why;
  }
  if (!lies_in_memory(fd) || !has_room(fd, bytes) || !allocate(fd, bytes)) {
    close(fd);
    unlink(hidden);
    fd = g_memory = make_spool_memory(bytes);
    if (fd < 0) return "no room for the spool in memory; a smaller one is asked for with --spool-mib";
  }
  // Populate the pages now: the first access would cause a page fault inside a hook, sixteen in every chunk.
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  const bool shared = base != MAP_FAILED && prepare_for_forks(fd, base, bytes);
  if (fd != g_memory) close(fd);
  if (!shared || !make_thread_end_key()) {
    unlink(hidden);
    return "the spool could not be mapped";
  }
  initialize_spool(base, options, 1);
  read_test_kill();
  return nullptr;
}

void measure_clock() noexcept {
  const std::uint64_t elapsed = nanoseconds(CLOCK_MONOTONIC) - g_header->start_monotonic_ns;
  if (elapsed != 0) {
    const double hz = static_cast<double>(cycles() - g_header->start_tsc) * 1e9 / static_cast<double>(elapsed);
    g_header->tsc_hz = static_cast<std::uint64_t>(hz);
  }
}

const char* show_spool(const char* folder) noexcept {
  measure_clock();
  char hidden[kMaxPath];
  char shown[kMaxPath];
  if (!hidden_path(hidden, folder) || !spool_path(shown, folder, "", "")) return "the spool folder's path is too long";
  if (g_memory >= 0) return hand_over_memory(g_memory, shown, *g_header);
  return rename(hidden, shown) == 0 ? nullptr : "the spool could not be renamed";
}

const char* spool_name() noexcept { return g_name; }

spool::Header* spool_header() noexcept { return g_header; }

void at_thread_end(void (*hook)() noexcept) noexcept { g_at_thread_end = hook; }

void close_thread_chunk() noexcept {
  if (t_state.chunk == nullptr || t_state.session != g_hot.session || !may_write()) return;
  t_state.descriptor->state.store(static_cast<std::uint32_t>(spool::ChunkState::kFull), std::memory_order_release);
  t_state.chunk = nullptr;
  t_state.used = spool::kChunkBytes;
}

void count_lost() noexcept {
  if (t_state.lost++ == 0) t_state.lost_since = cycles();
  g_header->lost.fetch_add(1, std::memory_order_relaxed);
}

void* begin_record_slowly(wire::RecordType type, std::size_t bytes, std::uint32_t aux) noexcept {
  if (!may_write()) return nullptr;
  if (t_state.session != g_hot.session) join_session();
  if (t_state.used + bytes <= spool::kChunkBytes) return append(type, bytes, aux);
  if (bytes > wire::kMaxRecordBytes || !renew_chunk()) {
    count_lost();
    return nullptr;
  }
  return append(type, bytes, aux);
}

void follow_thread_end() noexcept { pthread_setspecific(g_thread_end_key, &t_state); }

void commit_record(void* record) noexcept { publish(static_cast<wire::RecordHeader*>(record)); }

std::uint32_t current_tid() noexcept {
  if (t_state.tid == 0) t_state.tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  return t_state.tid;
}

}  // namespace dcmt::agent

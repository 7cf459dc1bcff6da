// What the recorder costs: a process writes records in the proportions of a training step, this one records them into a
// trace as `run` does. Prints one JSON object.
//
//   recorder_bench drain N FOLDER       N records, as fast as they can be recorded
//   recorder_bench rate R S FOLDER      R records a second for S seconds
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <thread>

#include "collector/agent/gate.h"
#include "collector/agent/seen.h"
#include "collector/agent/spool_writer.h"
#include "collector/recorder/process/process_recorder.h"
#include "tests/bench/latency.h"
#include "tests/bench/training_mix.h"
#include "trace/sql/trace_file.h"

namespace {

using namespace dcmt;  // NOLINT(google-build-using-namespace)

/// Fewer than a default spool holds, so that nothing is lost however slow the recorder is.
constexpr std::int64_t kMostWaiting = 300'000;
/// As in `run`.
constexpr auto kPause = std::chrono::milliseconds(10);
constexpr std::size_t kManyRecords = 20'000;

struct Job {
  std::int64_t records = 0;
  std::int64_t per_second = 0;  ///< 0: no limit
};

/// Shared by both processes.
struct Shared {
  std::atomic<bool> go;
  std::atomic<std::int64_t> recorded;
};

[[noreturn]] void write_records(const std::string& folder, const Job& job, Shared& shared) {
  const bool open = agent::make_gate() && agent::make_seen_table() &&
                    agent::open_spool({folder.c_str(), spool::kDefaultChunks, Detail::kFull, -1, -1}) == nullptr;
  if (!open) _exit(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // show_spool() measures the counter's rate since
  if (agent::show_spool(folder.c_str()) != nullptr) _exit(1);
  agent::open_gate();
  while (!shared.go.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  bench::TrainingMix mix;
  const double start = bench::seconds();
  while (static_cast<std::int64_t>(mix.written()) < job.records) {
    for (int i = 0; i < 8; ++i) mix.advance();
    const auto written = static_cast<std::int64_t>(mix.written());
    while (written > shared.recorded.load() + kMostWaiting) std::this_thread::yield();
    if (job.per_second != 0) {
      const double due = static_cast<double>(written) / static_cast<double>(job.per_second);
      const double early = due - (bench::seconds() - start);
      if (early > 0.001) std::this_thread::sleep_for(std::chrono::duration<double>(early));
    }
  }
  _exit(0);
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

std::int64_t peak_rss_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// The single integer of a query; -1 if it cannot be answered.
std::int64_t query(Database& database, const char* sql) {
  Expected<Statement> statement = database.prepare(sql);
  if (!statement.ok()) return -1;
  const Expected<bool> row = statement->step();
  return row.ok() && *row ? statement->integer(0) : -1;
}

int fail(const std::string& why) {
  std::fprintf(stderr, "recorder_bench: %s\n", why.c_str());
  return 1;
}

int print_result(const std::string& trace, const Job& job, double drain_s, double finish_s, double cpu_s,
                 std::uint64_t lost) {
  Expected<Database> database = open_trace(trace);
  if (!database.ok()) return fail(database.error().message);
  const std::int64_t records = query(*database, "SELECT value FROM meta WHERE key = 'records'");
  const std::int64_t lifetimes =
      query(*database, "SELECT (SELECT count(*) FROM storage) + (SELECT count(*) FROM tensor) + count(*) FROM block");
  const std::int64_t operators = query(*database, "SELECT count(*) FROM operator");
  // dbstat is a compile-time choice of SQLite; -1 where it is missing.
  const std::int64_t lifetime_bytes =
      query(*database,
            "SELECT sum(pgsize) FROM dbstat WHERE aggregate = TRUE AND name IN"
            " (SELECT name FROM sqlite_schema WHERE tbl_name IN ('storage', 'tensor', 'block', 'pyramid'))");
  std::printf(
      "{\"records\": %lld, \"per_second\": %lld, \"drain_s\": %.6f, \"finish_s\": %.6f, \"cpu_s\": %.6f, "
      "\"lost\": %llu, \"lifetimes\": %lld, \"operators\": %lld, \"lifetime_bytes\": %lld, \"file_bytes\": %llu, "
      "\"peak_rss_kib\": %lld, \"trace\": \"%s\"}\n",
      static_cast<long long>(records), static_cast<long long>(job.per_second), drain_s, finish_s, cpu_s,
      static_cast<unsigned long long>(lost), static_cast<long long>(lifetimes), static_cast<long long>(operators),
      static_cast<long long>(lifetime_bytes), static_cast<unsigned long long>(std::filesystem::file_size(trace)),
      static_cast<long long>(peak_rss_kib()), trace.c_str());
  return 0;
}

/// The spool in a folder, or "" while it is hidden.
std::string shown_spool(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".spool") return entry.path().string();
  }
  return {};
}

int record(const Job& job, const std::string& folder) {
  std::string spools = "/dev/shm/dcmt-bench-XXXXXX";
  if (mkdtemp(spools.data()) == nullptr) return fail("no folder in /dev/shm");
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail("no memory");
  Shared& shared = *new (memory) Shared{};

  const pid_t writer = fork();
  if (writer == 0) write_records(spools, job, shared);
  int status = 0;
  std::string spool = shown_spool(spools);
  for (; spool.empty() && waitpid(writer, &status, WNOHANG) == 0; spool = shown_spool(spools)) {
    std::this_thread::sleep_for(kPause);
  }

  std::filesystem::create_directories(folder);
  const std::string trace = folder + "/recorder_bench.dcmt";
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(trace + suffix);
  recorder::RetentionOptions everything;  // what costs most
  everything.max_disk = std::int64_t{1} << 50;
  auto recorder = recorder::ProcessRecorder::start(spool, trace, {{"recorder_bench"}, {}}, everything);
  std::filesystem::remove_all(spools);
  if (!recorder.ok()) return fail(recorder.error().message);

  const double cpu_before = cpu_seconds();
  const double start = bench::seconds();
  shared.go.store(true);
  for (bool ended = false;;) {
    // Asked before the poll: what the writer published last is in it.
    if (!ended) ended = waitpid(writer, &status, WNOHANG) == writer;
    const Expected<std::size_t> drained = (*recorder)->poll();
    if (!drained.ok()) return fail(drained.error().message);
    shared.recorded.store((*recorder)->totals().records);
    if (ended && *drained == 0) break;
    if (*drained < kManyRecords) std::this_thread::sleep_for(kPause);
  }
  const double drain_s = bench::seconds() - start;
  const std::uint64_t lost = (*recorder)->spool().lost();
  if (const Status done = (*recorder)->finish("exit 0", "finished"); !done.ok()) return fail(done.error().message);
  const double finish_s = bench::seconds() - start - drain_s;
  const double cpu_s = cpu_seconds() - cpu_before;
  recorder->reset();
  return print_result(trace, job, drain_s, finish_s, cpu_s, lost);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "drain" && argc == 4) return record({std::atoll(argv[2]), 0}, argv[3]);
  if (what == "rate" && argc == 5) {
    const std::int64_t rate = std::atoll(argv[2]);
    return record({rate * std::atoll(argv[3]), rate}, argv[4]);
  }
  std::fputs("usage: recorder_bench drain RECORDS FOLDER | recorder_bench rate PER_SECOND SECONDS FOLDER\n", stderr);
  return 2;
}

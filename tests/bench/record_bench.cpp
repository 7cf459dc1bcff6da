// What one record costs the thread that makes it: gate, guard, room, fields, publication; no stack. A reader drains
// meanwhile. Threads wait for the reader between batches, outside of what is timed: a full spool is another matter.
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collector/agent/gate.h"
#include "collector/agent/provider.h"
#include "collector/agent/seen.h"
#include "collector/agent/spool_writer.h"
#include "tests/bench/latency.h"
#include "trace/spool/spool_reader.h"

namespace {

using namespace dcmt;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kBatch = 1024;
/// Records a spool of the default size holds, less a margin for what the reader has not given back.
constexpr std::uint64_t kMostWaiting = 600'000;

std::atomic<std::uint64_t> g_written{0};
std::atomic<std::uint64_t> g_drained{0};

/// The process's spool and the thread that drains it until the end.
class Spool {
 public:
  static std::unique_ptr<Spool> make() {
    std::string folder = "/dev/shm/dcmt-bench-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) return nullptr;
    const bool open = agent::make_gate() && agent::make_seen_table() &&
                      agent::open_spool({folder.c_str(), spool::kDefaultChunks, Detail::kFull, -1, -1}) == nullptr &&
                      agent::show_spool(folder.c_str()) == nullptr;
    Expected<spool::SpoolReader> reader = open ? spool::SpoolReader::open(folder + "/" + agent::spool_name())
                                               : Error{ErrorCode::kIo, "the spool could not be made"};
    std::filesystem::remove_all(folder);
    if (!reader.ok()) return nullptr;
    agent::open_gate();
    return std::unique_ptr<Spool>(new Spool(std::move(*reader)));
  }

  ~Spool() {
    stop_.store(true);
    thread_.join();
  }
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

 private:
  explicit Spool(spool::SpoolReader reader) : reader_(std::move(reader)), thread_([this] { drain(); }) {}

  void drain() {
    while (!stop_.load()) {
      if (reader_.read() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::uint64_t count = 0;
      while (reader_.next().header != nullptr) ++count;
      reader_.give_back();
      g_drained.fetch_add(count);
    }
  }

  spool::SpoolReader reader_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

void record_block(std::uint64_t address) {
  if (!agent::recording()) return;
  const agent::Inside inside;
  auto* record =
      static_cast<wire::BlockRecord*>(agent::begin_record(wire::RecordType::kBlockAlloc, sizeof(wire::BlockRecord), 0));
  if (record == nullptr) return;
  record->address = address;
  record->bytes = 4096;
  record->stack = 0;
  agent::commit_record(record);
}

void wait_for_reader() {
  while (g_written.load() > g_drained.load() + kMostWaiting) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// Of one thread of the benchmark that runs, in cycles; joined by thread 0 after the last batch.
struct Costs {
  std::vector<std::uint64_t> each;     ///< of single records
  std::vector<std::uint64_t> batches;  ///< of kBatch records
};
std::vector<Costs> g_costs;

/// Measured before anything else runs.
struct Clock {
  double per_ns = 0;  ///< cycles
  double cycles = 0;  ///< of one reading
};
Clock g_clock;

void record_without_stack(benchmark::State& state) {
  const auto index = static_cast<std::size_t>(state.thread_index());
  Costs& costs = g_costs[index];
  costs.batches.clear();
  costs.each.clear();
  costs.each.reserve(static_cast<std::size_t>(state.max_iterations) * kBatch);
  const std::uint64_t lost_before = agent::spool_header()->lost.load();
  const auto record = [index] { record_block(index); };
  for (auto _ : state) {
    wait_for_reader();
    const double start = bench::seconds();
    costs.batches.push_back(bench::time_all(kBatch, record));
    state.SetIterationTime(bench::seconds() - start);
    const std::size_t end = costs.each.size();
    costs.each.resize(end + kBatch);
    bench::time_each(&costs.each[end], kBatch, record);
    g_written.fetch_add(2 * kBatch);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
  if (index != 0) return;
  // The loop ends at a barrier: the other threads' arrays are complete.
  Costs all;
  for (int i = 0; i < state.threads(); ++i) {
    const Costs& part = g_costs[static_cast<std::size_t>(i)];
    all.each.insert(all.each.end(), part.each.begin(), part.each.end());
    all.batches.insert(all.batches.end(), part.batches.begin(), part.batches.end());
  }
  const auto ns = [&](double share) {
    return std::max(0.0, bench::percentile(all.each, share) - g_clock.cycles) / g_clock.per_ns;
  };
  state.counters["typical_ns"] = bench::percentile(all.batches, 0.5) / kBatch / g_clock.per_ns;
  state.counters["p50_ns"] = ns(0.50);
  state.counters["p99_ns"] = ns(0.99);
  state.counters["clock_ns"] = g_clock.cycles / g_clock.per_ns;
  state.counters["lost"] = static_cast<double>(agent::spool_header()->lost.load() - lost_before);
}

/// Every page of the spool is touched once before anything is timed: the first touch of a page is a page fault, which
/// a job pays once per page and not once per record.
void touch_the_spool() {
  std::thread([] {
    const std::uint64_t records = 3 * (spool::kDefaultChunks * spool::kChunkBytes / sizeof(wire::BlockRecord)) / 2;
    for (std::uint64_t i = 0; i < records; i += kBatch) {
      wait_for_reader();
      for (std::size_t j = 0; j < kBatch; ++j) record_block(0);
      g_written.fetch_add(kBatch);
    }
  }).join();
}

}  // namespace

int main(int argc, char** argv) {
  g_clock = {bench::cycles_per_ns(), bench::clock_cycles()};
  const std::unique_ptr<Spool> spool = Spool::make();
  if (spool == nullptr) {
    std::fputs("record_bench: no spool could be made in /dev/shm\n", stderr);
    return 1;
  }
  touch_the_spool();
  g_costs.resize(4);
  for (const int threads : {1, 4}) {
    benchmark::RegisterBenchmark("record_without_stack", record_without_stack)
        ->Threads(threads)
        ->Iterations(1000 / threads)
        ->UseManualTime();
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

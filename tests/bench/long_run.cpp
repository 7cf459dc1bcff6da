// A long run simulated into the recorder: HOURS of steps of 22 ms and about 7,500 records each, as fast as they can be
// recorded, straight into the Assembler. Checks what must hold (the bound, exact sums and peak, findings kept, flat
// memory) against what was generated, prints one JSON object, and exits 1 if something does not hold.
//
//   long_run HOURS MAX_DISK_BYTES FOLDER
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "collector/recorder/assemble/assembler.h"
#include "collector/recorder/testing/test_stream.h"
#include "trace/sql/trace_file.h"

namespace {

using namespace dcmt;  // NOLINT(google-build-using-namespace)
using recorder::testing::TestRecord;
using recorder::testing::TestStream;
using wire::RecordType;

constexpr std::uint64_t kStepNs = 22'000'000;
constexpr int kUnits = 535;
constexpr int kParameters = 500;
constexpr int kKeys = 12;
constexpr std::int64_t kParameterBytes = 1 << 20;
constexpr std::int64_t kSpikeBytes = 64 << 20;
/// As in the recorder: about twice a second of its own time; here, of the run's.
constexpr std::int64_t kStepsBetweenCommits = 45;

std::uint64_t bytes_of(int unit) { return static_cast<std::uint64_t>(1024 + unit % 97 * 4096); }

/// What every run begins with.
void begin_run(TestStream& s) {
  s.named_thread(100, "python");
  for (int i = 0; i < 144; ++i) s.text("aten::operator_" + std::to_string(i));
  for (int i = 0; i < 90; ++i) {
    const auto id = static_cast<std::uint64_t>(0xC0DE0000 + i);
    s.code(id, "/job/model/layer_" + std::to_string(i / 4) + ".py", "Layer" + std::to_string(i) + ".forward");
    s.stack(0x57AC0000u + static_cast<std::uint64_t>(i), {{id, 4, 12}, {0xC0DE0000, 8, 40}});
  }
  for (int i = 0; i < kParameters; ++i) {
    const auto base = 0x600000000000u + static_cast<std::uint64_t>(i) * 4096;
    s.alloc(base, kParameterBytes);
    s.birth(base + 64, base + 128, base, kParameterBytes, 0x57AC0000);
  }
}

/// One step: forward makes activations, backward frees them; a dozen gathers whose releases keep their bytes.
void add_step(TestStream& s, std::uint64_t ordinal, std::int64_t number, bool spike) {
  struct Live {
    std::uint64_t base;
    bool view;
  };
  std::vector<Live> kept;
  const auto free = [&](const Live& live) {
    s.death(live.base + 64);
    if (live.view) s.death(live.base + 192);
    s.storage_death(live.base + 128, 0x57AC0001);
    s.free(live.base);
  };
  for (int unit = 0; unit < kUnits; ++unit) {
    const auto name = [&](int offset) { return "aten::operator_" + std::to_string((unit + offset) % 144); };
    const std::uint64_t outer = ++ordinal;
    s.op_begin(name(0), outer);
    s.op_begin(name(1), ++ordinal);
    s.op_end(ordinal);
    const std::uint64_t inner = ++ordinal;
    s.op_begin(name(2), inner);
    const Live live{0x700000000000u + static_cast<std::uint64_t>(unit) * 4096, unit % 5 < 2};
    const auto stack = 0x57AC0000u + static_cast<std::uint64_t>(unit % 90);
    s.alloc(live.base, bytes_of(unit));
    s.birth(live.base + 64, live.base + 128, live.base, bytes_of(unit), stack);
    if (live.view) s.birth(live.base + 192, live.base + 128, live.base, bytes_of(unit), stack);
    if (unit == kUnits / 2 && spike) {
      s.alloc(0x780000000000, static_cast<std::uint64_t>(kSpikeBytes));
      s.free(0x780000000000);
    }
    s.op_end(inner);
    s.op_begin(name(3), ++ordinal);
    s.op_end(ordinal);
    s.op_end(outer);
    const bool forward = unit < kUnits / 2;
    if (forward && unit % 2 == 0) {
      kept.push_back(live);
    } else {
      free(live);
    }
    if (!forward && unit % 2 == 0 && !kept.empty()) {
      free(kept.back());
      kept.pop_back();
    }
  }
  for (const Live& live : kept) free(live);
  for (int key = 0; key < kKeys; ++key) {
    const auto base = 0x790000000000u + static_cast<std::uint64_t>(key) * 4096;
    s.alloc(base, 1 << 20);
    s.birth(base + 64, base + 128, base, 1 << 20, 0x57AC0002);
    s.key(RecordType::kGather, key, base + 128, 1 << 20, 0, base + 64);
    s.key(RecordType::kReleaseBegin, key, base + 128, 1 << 20);
    s.key(RecordType::kRelease, key, base + 128, 1 << 20, wire::kKeyFinal);
    s.key(RecordType::kReleaseSettled, key, base + 128, 1 << 20, wire::kKeyFinal);
    free({base, false});
  }
  s.mark(RecordType::kMarkPoint, wire::MarkKind::kStep, "step", 0, number);
}

/// A step's records, to be applied again and again under other sequences and times.
struct Step {
  std::vector<TestRecord> records;

  Status apply(recorder::Assembler& assembler, std::uint64_t& seq, std::int64_t number) {
    const std::uint64_t begin_ns = static_cast<std::uint64_t>(number + 1) * kStepNs;
    std::uint64_t at = 0;
    for (TestRecord& record : records) {
      auto* header = reinterpret_cast<wire::RecordHeader*>(record.words.data());
      header->seq = ++seq;
      header->tsc = begin_ns + ++at * (kStepNs / (records.size() + 1));
      DCMT_RETURN_IF_ERROR(assembler.apply(*header, 1));
    }
    return {};
  }
  void set_number(std::int64_t number) {
    auto* mark = reinterpret_cast<wire::MarkRecord*>(records.back().words.data());
    mark->value = number;
  }
};

/// The highest sum of live blocks in a stream.
std::int64_t peak_of(const std::vector<TestRecord>& records, std::int64_t before) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> live;
  std::int64_t bytes = before;
  std::int64_t peak = before;
  for (const TestRecord& record : records) {
    const auto& block = *reinterpret_cast<const wire::BlockRecord*>(record.words.data());
    if (block.header.type == RecordType::kBlockAlloc) {
      live.emplace_back(block.address, static_cast<std::int64_t>(block.bytes));
      bytes += static_cast<std::int64_t>(block.bytes);
      peak = std::max(peak, bytes);
    } else if (block.header.type == RecordType::kBlockFree) {
      const auto freed =
          std::find_if(live.begin(), live.end(), [&](const auto& b) { return b.first == block.address; });
      bytes -= freed->second;
      live.erase(freed);
    }
  }
  return peak;
}

std::int64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::atoll(line.c_str() + 6);
  }
  return -1;
}

std::int64_t query(Database& database, const std::string& sql) {
  Expected<Statement> statement = database.prepare(sql);
  if (!statement.ok()) return -1;
  const Expected<bool> row = statement->step();
  return row.ok() && *row ? statement->integer(0) : -1;
}

int failures = 0;
void expect(const char* what, std::int64_t actual, std::int64_t expected) {
  if (actual == expected) return;
  ++failures;
  std::fprintf(stderr, "long_run: %s: %lld, expected %lld\n", what, static_cast<long long>(actual),
               static_cast<long long>(expected));
}

int fail(const std::string& why) {
  std::fprintf(stderr, "long_run: %s\n", why.c_str());
  return 1;
}

int simulate(double hours, std::int64_t max_disk, const std::string& folder) {
  const auto steps = static_cast<std::int64_t>(hours * 3600e9 / static_cast<double>(kStepNs));
  std::filesystem::create_directories(folder);
  const std::string trace = folder + "/long_run.dcmt";
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(trace + suffix);
  Expected<Database> created = create_trace(trace);
  if (!created.ok()) return fail(created.error().message);
  Expected<TraceWriter> writer = TraceWriter::create(std::move(*created));
  if (!writer.ok()) return fail(writer.error().message);
  recorder::RetentionOptions retention;
  retention.max_disk = max_disk;
  auto assembler = recorder::Assembler::start(*writer, {1'000'000'000, 0, 0}, retention);
  if (!assembler.ok()) return fail(assembler.error().message);

  TestStream stream;
  begin_run(stream);
  Step setup{std::move(stream.records)};
  stream.records.clear();
  add_step(stream, 0, 0, false);
  Step plain{std::move(stream.records)};
  stream.records.clear();
  add_step(stream, 0, 0, true);
  Step spiked{std::move(stream.records)};
  // The highest step of the run, where it could be missed: neither regular nor near an end.
  const std::int64_t spike = steps * 2 / 3 | 1;

  const auto began = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(); };
  std::uint64_t seq = 0;
  if (const Status done = setup.apply(**assembler, seq, -1); !done.ok()) return fail(done.error().message);
  std::int64_t early_kib = 0;
  for (std::int64_t number = 0; number < steps; ++number) {
    Step& step = number == spike ? spiked : plain;
    step.set_number(number);
    if (const Status done = step.apply(**assembler, seq, number); !done.ok()) return fail(done.error().message);
    if (number % kStepsBetweenCommits != 0) continue;
    if (const Status done = (*assembler)->commit({}); !done.ok()) return fail(done.error().message);
    if (early_kib == 0 && number > steps / 4) early_kib = resident_kib();
    if (number % (kStepsBetweenCommits * 2000) == 0) {
      std::fprintf(stderr, "long_run: %.1f %% after %.0f s, %lld MiB\n",
                   100.0 * static_cast<double>(number) / static_cast<double>(steps), seconds(),
                   static_cast<long long>(std::filesystem::file_size(trace) >> 20));
    }
  }
  const double drain_s = seconds();
  const std::int64_t late_kib = resident_kib();
  if (const Status done = (*assembler)->finish(); !done.ok()) return fail(done.error().message);
  if (const Status done = finish_trace(writer->database()); !done.ok()) return fail(done.error().message);
  assembler->reset();

  Database& database = writer->database();
  const auto file_bytes = static_cast<std::int64_t>(std::filesystem::file_size(trace));
  const std::int64_t kept = query(database, "SELECT sum(steps) FROM interval WHERE kept IS NOT NULL");
  const auto allocs_per_step = static_cast<std::int64_t>(kUnits + kKeys);
  expect("file within its bound", file_bytes <= max_disk ? 1 : 0, 1);
  expect("steps", query(database, "SELECT sum(steps) FROM interval"), steps);
  expect("allocations", query(database, "SELECT sum(allocs) FROM interval_curve"),
         kParameters + steps * allocs_per_step + 1);
  expect("bytes at the end", query(database, "SELECT end_bytes FROM interval_curve ORDER BY interval DESC LIMIT 1"),
         kParameters * kParameterBytes);
  expect("peak", query(database, "SELECT max(peak_bytes) FROM interval_curve"),
         peak_of(spiked.records, kParameters * kParameterBytes));
  expect("peak's rows are kept",
         query(database,
               "SELECT step FROM interval JOIN interval_curve ON interval = id WHERE kept IS NOT NULL"
               " ORDER BY peak_bytes DESC LIMIT 1"),
         spike);
  expect("residual releases", query(database, "SELECT sum(residual) FROM key_sum"), steps * kKeys);
  expect("findings with rows",
         query(database, "SELECT count(DISTINCT key) FROM mark WHERE kind = 'release' AND bytes_settled > 0"), kKeys);
  expect("memory is flat", late_kib - early_kib < 8 * 1024 ? 1 : 0, 1);
  std::printf(
      "{\"hours\": %g, \"steps\": %lld, \"records\": %llu, \"seconds\": %.1f, \"file_bytes\": %lld, \"steps_kept\": "
      "%lld, "
      "\"rss_quarter_kib\": %lld, \"rss_end_kib\": %lld, \"failures\": %d}\n",
      hours, static_cast<long long>(steps), static_cast<unsigned long long>(seq), drain_s,
      static_cast<long long>(file_bytes), static_cast<long long>(kept), static_cast<long long>(early_kib),
      static_cast<long long>(late_kib), failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) return simulate(std::atof(argv[1]), std::atoll(argv[2]), argv[3]);
  std::fputs("usage: long_run HOURS MAX_DISK_BYTES FOLDER\n", stderr);
  return 2;
}

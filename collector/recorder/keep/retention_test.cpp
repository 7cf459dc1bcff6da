// Tests that a long run keeps exactly the rows that a full recording has in the same windows, and that the other sums
// equal those of a full recording.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "collector/recorder/assemble/assembler.h"
#include "collector/recorder/testing/test_stream.h"
#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace {

using testing::TestStream;
using wire::MarkKind;
using wire::OpScope;
using wire::RecordType;

constexpr ClockOrigin kOrigin{1'000'000'000, 0, 0};

/// A training loop: long-lived parameters, activations of every size, gathers and releases that sometimes leave bytes.
/// On a GPU, frees that wait for a stream, some of them longer than a step.
class TrainingLoop {
 public:
  explicit TrainingLoop(unsigned seed, bool gpu = false) : random_(seed), gpu_(gpu) {
    s.named_thread(100, "python");
    if (gpu) s.reserved(1 << 30, true);
    for (int i = 0; i < 5; ++i) allocate(true);
  }

  void step(int number) {
    s.op("aten::linear");
    const int events = 5 + pick(40);
    for (int i = 0; i < events; ++i) {
      if (pick(2) == 0) {
        allocate(pick(20) == 0);
      } else if (!live_.empty()) {
        release(pick(static_cast<int>(live_.size())));
      }
      if (pick(10) == 0) gather_and_release(pick(4));
      if (!waiting_.empty() && pick(6) == 0) {
        s.cuda_free_done(waiting_.front());
        waiting_.pop_front();
      }
    }
    s.op("AddmmBackward0", OpScope::kBackward);
    while (live_.size() > 12) release(0);
    s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, number);
  }

  TestStream s;

 private:
  struct Live {
    std::uint64_t tensor, storage, data;
  };

  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  void allocate(bool large) {
    const std::uint64_t id = ++next_;
    const Live live{0x10000 + id * 16, 0x20000000 + id * 16, 0x30000000 + id * 64};
    const auto bytes = static_cast<std::uint64_t>(large ? 100'000 + pick(100'000) : 64 + pick(1000));
    gpu_ ? s.cuda_alloc(live.data, bytes) : s.alloc(live.data, bytes);
    s.birth(live.tensor, live.storage, live.data, bytes);
    live_.push_back(live);
  }

  void release(int index) {
    const Live live = live_[static_cast<std::size_t>(index)];
    live_.erase(live_.begin() + index);
    s.death(live.tensor);
    s.storage_death(live.storage);
    if (!gpu_) {
      s.free(live.data);
      return;
    }
    const bool waits = pick(2) == 0;
    s.cuda_free(live.data, waits);
    if (waits) waiting_.push_back(live.data);
  }

  void gather_and_release(int key) {
    if (live_.empty()) return;
    const Live& live = live_[static_cast<std::size_t>(pick(static_cast<int>(live_.size())))];
    s.key(RecordType::kGather, key, live.storage, 64, 0, live.tensor);
    s.key(RecordType::kReleaseBegin, key, live.storage, 64);
    s.key(RecordType::kRelease, key, live.storage, 64, wire::kKeyFinal);
    s.key(RecordType::kReleaseSettled, key, live.storage, static_cast<std::uint64_t>(pick(3) == 0 ? 64 : 0));
  }

  std::mt19937 random_;
  bool gpu_;
  std::vector<Live> live_;
  std::deque<std::uint64_t> waiting_;
  std::uint64_t next_ = 0;
};

/// The sum of a stream's blocks after each of them, computed independently.
std::map<std::int64_t, std::int64_t> heights_of(const TestStream& stream) {
  std::map<std::int64_t, std::int64_t> heights;
  std::map<std::uint64_t, std::int64_t> live;
  std::int64_t bytes = 0;
  for (const testing::TestRecord& record : stream.records) {
    const wire::RecordHeader& header = record.header();
    const bool birth = header.type == RecordType::kBlockAlloc;
    if (!birth && header.type != RecordType::kBlockFree) continue;
    wire::BlockRecord block{};
    std::memcpy(&block, record.words.data(), sizeof block);
    bytes += birth ? live[block.address] = static_cast<std::int64_t>(block.bytes) : -live[block.address];
    heights[static_cast<std::int64_t>(header.seq)] = bytes;
  }
  return heights;
}

using Table = std::vector<std::vector<std::string>>;

Table read(Database& database, const std::string& sql) {
  Table table;
  Expected<Statement> query = database.prepare(sql);
  EXPECT_TRUE(query.ok()) << query.error().message;
  while (query.ok()) {
    Expected<bool> more = query->step();
    EXPECT_TRUE(more.ok()) << more.error().message;
    if (!more.ok() || !*more) break;
    auto& row = table.emplace_back();
    for (int column = 0; column < query->column_count(); ++column) {
      row.push_back(query->is_null(column) ? "-" : std::string(query->text(column)));
    }
  }
  return table;
}

class RetentionTest : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "dcmt_retention_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// @param commit_every  number of records
  Database record(const TestStream& stream, const RetentionOptions& options, int commit_every) {
    Expected<Database> database = create_trace((folder_ / std::to_string(files_++)).string());
    Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
    Expected<std::unique_ptr<Assembler>> assembler = Assembler::start(*writer, kOrigin, options);
    int since_commit = 0;
    for (const testing::TestRecord& r : stream.records) {
      EXPECT_TRUE((*assembler)->apply(r.header(), r.thread).ok());
      if (++since_commit < commit_every) continue;
      EXPECT_TRUE((*assembler)->commit({}).ok());
      since_commit = 0;
    }
    EXPECT_TRUE((*assembler)->finish().ok());
    EXPECT_TRUE(finish_trace(writer->database()).ok());
    assembler->reset();
    return std::move(writer->database());
  }

  std::filesystem::path folder_;
  int files_ = 0;
};

RetentionOptions everything() { return {}; }

RetentionOptions windows(std::vector<StepRange> steps, std::int64_t every, std::int64_t last) {
  RetentionOptions options;
  options.steps = std::move(steps);
  options.every = every;
  options.last = last;
  return options;
}

/// Rows of `table` in `full` that a trace with these windows must have.
Table expected_rows(Database& full, const Table& intervals, const std::string& table) {
  // A step begins right after the end of the one before.
  const std::string begin = table == "mark" ? "from_seq + (kind = 'step')" : "from_seq";
  // A block is in use until its wait is over.
  const std::string end = table == "block" ? "iif(wait_seq_length IS NULL, to_seq, done_seq)" : "to_seq";
  std::string touched = "0";
  for (const auto& interval : intervals) {
    if (interval[2] == "-") continue;
    const std::string& from = interval[3];
    const std::string& to = interval[4];
    touched += " OR (" + begin + " <= " + to + " AND coalesce(" + end + ", 1 << 60) > " + from + ")";
  }
  std::string point = "0";
  for (const auto& interval : intervals) {
    if (interval[2] != "-") point += " OR (from_seq > " + interval[3] + " AND from_seq <= " + interval[4] + ")";
  }
  std::string where = touched;
  if (table == "mark") {
    where = "(kind IN ('step', 'phase', 'user') AND (" + touched +
            ")) OR (kind NOT IN ('step', 'phase', 'user') AND (" + point + "))";
  }
  return read(full, "SELECT * FROM " + table + " WHERE " + where + " ORDER BY id");
}

TEST_P(RetentionTest, WindowsEqualTheFullRecording) {
  const bool gpu = GetParam() % 2 == 0;
  TrainingLoop loop(GetParam(), gpu);
  for (int step = 0; step < 60; ++step) loop.step(step);
  loop.s.op("aten::linear");
  Database full = record(loop.s, everything(), 1 << 30);
  const Table waits =
      read(full,
           "SELECT coalesce(sum(done_seq IS NOT NULL), 0) > 100, coalesce(sum(done_seq IS NULL), 0) > 0,"
           " coalesce(sum(EXISTS (SELECT 1 FROM interval i WHERE b.to_seq <= i.to_seq"
           "                      AND i.to_seq < b.done_seq)), 0) > 10"
           " FROM block b WHERE wait_seq_length IS NOT NULL");
  EXPECT_EQ(waits, (gpu ? Table{{"1", "1", "1"}} : Table{{"0", "0", "0"}})) << "done, still waiting, across steps";
  for (const RetentionOptions& options :
       {windows({{3, 6}}, 0, 3), windows({{100, 100}}, 7, 0), windows({{20, 20}, {59, 59}}, 10, 2)}) {
    for (const int commit_every : {1 << 30, 150, 7}) {
      Database kept = record(loop.s, options, commit_every);
      const Table intervals = read(kept, "SELECT id, step, kept, from_seq, to_seq FROM interval ORDER BY id");
      ASSERT_EQ(intervals.size(), 61u);
      for (const char* table : {"storage", "tensor", "block", "operator", "mark"}) {
        EXPECT_EQ(read(kept, std::string("SELECT * FROM ") + table + " ORDER BY id"),
                  expected_rows(full, intervals, table))
            << table << ", a commit every " << commit_every;
      }
    }
  }
}

TEST_P(RetentionTest, SumsEqualTheFullRecording) {
  TrainingLoop loop(GetParam());
  for (int step = 0; step < 40; ++step) loop.step(step);
  Database full = record(loop.s, everything(), 1 << 30);
  Database kept = record(loop.s, windows({{5, 6}}, 0, 2), 100);
  const std::string sums =
      "SELECT i.step, i.records, i.operators, i.storages, i.tensors, i.releases, i.residual, i.residual_bytes,"
      " i.from_seq, i.to_seq, i.from_ns, i.to_ns, c.* FROM interval i JOIN interval_curve c ON c.interval = i.id"
      " ORDER BY i.id";
  EXPECT_EQ(read(kept, sums), read(full, sums));
  EXPECT_EQ(read(kept, "SELECT * FROM key_sum"), read(full, "SELECT * FROM key_sum"));

  // The same from the rows of the full recording, only by SQL.
  for (const auto& row : read(full, "SELECT from_seq, to_seq, id FROM interval")) {
    const std::string inside = " > " + row[0] + " AND %s <= " + row[1];
    const auto within = [&](const std::string& column) {
      return column + " > " + row[0] + " AND " + column + " <= " + row[1];
    };
    const Table counted = read(full, "SELECT (SELECT count(*) FROM block WHERE " + within("from_seq") +
                                         "),"
                                         " (SELECT coalesce(sum(bytes), 0) FROM block WHERE " +
                                         within("from_seq") +
                                         "),"
                                         " (SELECT count(*) FROM block WHERE " +
                                         within("to_seq") +
                                         "),"
                                         " (SELECT coalesce(sum(bytes), 0) FROM block WHERE " +
                                         within("to_seq") +
                                         "),"
                                         " (SELECT count(*) FROM storage WHERE " +
                                         within("from_seq") +
                                         "),"
                                         " coalesce((SELECT bytes FROM allocated WHERE seq <= " +
                                         row[1] +
                                         " ORDER BY seq DESC LIMIT 1), 0),"
                                         " max(coalesce((SELECT max(bytes) FROM allocated WHERE " +
                                         within("seq") +
                                         "), 0),"
                                         "     coalesce((SELECT bytes FROM allocated WHERE seq <= " +
                                         row[0] + " ORDER BY seq DESC LIMIT 1), 0))");
    EXPECT_EQ(read(full,
                   "SELECT c.allocs, c.alloc_bytes, c.frees, c.free_bytes, i.storages, c.end_bytes, c.peak_bytes"
                   " FROM interval i JOIN interval_curve c ON c.interval = i.id WHERE i.id = " +
                       row[2]),
              counted);
  }
}

TEST_P(RetentionTest, TheHighestPeakAndTheFirstFindingsAreKept) {
  TrainingLoop loop(GetParam());
  for (int step = 0; step < 60; ++step) loop.step(step);
  Database full = record(loop.s, everything(), 1 << 30);
  Database kept = record(loop.s, windows({{1000, 1000}}, 0, 0), 64);
  const Table peak = read(kept,
                          "SELECT c.peak_bytes, i.kept IS NOT NULL FROM interval_curve c JOIN interval i"
                          " ON i.id = c.interval ORDER BY c.peak_bytes DESC, c.peak_seq LIMIT 1");
  EXPECT_EQ(peak, read(full, "SELECT max(bytes), 1 FROM allocated"));
  // For each key, the first three steps in which bytes were left.
  std::map<std::string, std::set<std::string>> shown;
  std::set<std::string> wanted;
  for (const auto& row : read(full,
                              "SELECT m.key, i.id FROM mark m JOIN interval i ON m.settled_seq > i.from_seq AND"
                              " m.settled_seq <= i.to_seq WHERE m.kind = 'release' AND m.bytes_settled > 0"
                              " ORDER BY m.id")) {
    auto& steps = shown[row[0]];
    if (steps.size() == 3 && !steps.contains(row[1])) continue;
    steps.insert(row[1]);
    wanted.insert(row[1]);
  }
  ASSERT_FALSE(wanted.empty());
  std::set<std::string> present;
  for (const auto& row : read(kept, "SELECT id FROM interval WHERE kept IS NOT NULL")) present.insert(row[0]);
  for (const std::string& interval : wanted) EXPECT_TRUE(present.contains(interval)) << interval;
}

TEST_P(RetentionTest, ThePyramidHasThePeaksOfTheFullRecording) {
  TrainingLoop loop(GetParam());
  for (int step = 0; step < 400; ++step) loop.step(step);
  const std::map<std::int64_t, std::int64_t> heights = heights_of(loop.s);
  const auto by_height = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto peak = std::max_element(heights.begin(), heights.end(), by_height);
  RetentionOptions bound;
  bound.max_disk = 1 << 19;  // an empty trace has 300 KiB
  for (const RetentionOptions& options : {everything(), windows({{3, 6}}, 0, 3), windows({}, 50, 0), bound}) {
    Database kept = record(loop.s, options, 100);
    EXPECT_EQ(read(kept, "SELECT device, highest, highest_seq FROM pyramid ORDER BY level DESC LIMIT 1"),
              (Table{{"cpu", std::to_string(peak->second), std::to_string(peak->first)}}));
    EXPECT_EQ(read(kept, "SELECT highest, highest_seq, last FROM pyramid ORDER BY level DESC LIMIT 1"),
              read(kept,
                   "SELECT bytes, seq, (SELECT bytes FROM allocated ORDER BY seq DESC LIMIT 1) FROM allocated"
                   " ORDER BY bytes DESC, seq LIMIT 1"));
    const Table sums_only = read(kept, "SELECT from_seq FROM interval WHERE kept IS NULL");
    EXPECT_EQ(sums_only.empty(), options.steps.empty() && options.max_disk > bound.max_disk);
    for (const auto& row : read(kept,
                                "SELECT from_seq, coalesce(lead(from_seq) OVER (PARTITION BY level ORDER BY from_seq),"
                                " 1 << 60), highest, lowest, sums_only, last FROM pyramid")) {
      const std::int64_t from = std::stoll(row[0]);
      const std::int64_t to = std::stoll(row[1]);
      const auto begin = heights.lower_bound(from);
      const auto end = heights.lower_bound(to);
      // A part without rows begins at the current height.
      std::int64_t highest = 0;
      std::int64_t intervals = 0;
      for (const auto& interval : sums_only) {
        const auto after = heights.upper_bound(std::stoll(interval[0]));
        if (std::stoll(interval[0]) + 1 < from || std::stoll(interval[0]) + 1 >= to) continue;
        ++intervals;
        if (after != heights.begin()) highest = std::max(highest, std::prev(after)->second);
      }
      if (begin != end) highest = std::max(highest, std::max_element(begin, end, by_height)->second);
      EXPECT_EQ(row[2], std::to_string(highest));
      EXPECT_EQ(row[4], std::to_string(intervals));
      EXPECT_EQ(row[5], std::to_string(std::prev(end)->second));
      if (begin == end) continue;
      const std::int64_t lowest = std::min_element(begin, end, by_height)->second;
      if (intervals == 0) {
        EXPECT_EQ(row[3], std::to_string(lowest));
      } else {
        EXPECT_GE(std::stoll(row[3]), lowest) << "it may have been lower";
      }
    }
  }
}

TEST_P(RetentionTest, ASmallBoundHolds) {
  TrainingLoop loop(GetParam());
  for (int step = 0; step < 3000; ++step) loop.step(step);
  RetentionOptions options;
  options.max_disk = 1 << 20;
  Database kept = record(loop.s, options, 400);
  EXPECT_LE(std::filesystem::file_size(kept.path()), 1u << 20);
  EXPECT_EQ(read(kept, "SELECT sum(steps), max(step) FROM interval"), (Table{{"3000", "2999"}}));
  EXPECT_NE(read(kept, "SELECT count(*) FROM interval WHERE kept = 'all'"), (Table{{"0"}}));
  EXPECT_EQ(read(kept, "SELECT kept IS NOT NULL FROM interval ORDER BY id DESC LIMIT 4"),
            (Table{{"1"}, {"1"}, {"1"}, {"1"}}));
  // There is no gap and no overlap.
  EXPECT_EQ(read(kept,
                 "SELECT count(*) FROM (SELECT from_seq, lag(to_seq) OVER (ORDER BY from_seq) AS before FROM interval)"
                 " WHERE before != from_seq"),
            (Table{{"0"}}));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RetentionTest, ::testing::Range(1u, 5u));

}  // namespace
}  // namespace dcmt::recorder

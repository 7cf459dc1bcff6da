#include "trace/sql/trace_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/sql/meta_keys.h"
#include "trace/sql/trace_file.h"

namespace dcmt {
namespace {

class TraceWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "dcmt_trace_writer_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = (folder_ / "t.dcmt").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static void check(const Status& status) { ASSERT_TRUE(status.ok()) << status.error().message; }
  static TraceWriter writer(Expected<Database> database) {
    EXPECT_TRUE(database.ok());
    Expected<TraceWriter> result = TraceWriter::create(std::move(*database));
    EXPECT_TRUE(result.ok());
    return std::move(*result);
  }
  static std::int64_t integer(Database& database, const std::string& sql) {
    Expected<Statement> query = database.prepare(sql);
    EXPECT_TRUE(query.ok()) << query.error().message;
    EXPECT_TRUE(*query->step());
    return query->integer(0);
  }
  static std::size_t count_rows(Database& database, const std::string& sql) {
    Expected<Statement> query = database.prepare(sql);
    EXPECT_TRUE(query.ok()) << sql << "\n" << query.error().message;
    if (!query.ok()) return 0;
    std::size_t count = 0;
    while (*query->step()) ++count;
    return count;
  }

  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(TraceWriterTest, InterningFindsWhatTheTraceHolds) {
  RowId text = 0;
  RowId frame = 0;
  RowId stack = 0;
  {
    TraceWriter first = writer(create_trace(path_));
    text = *first.intern("aten::add");
    EXPECT_EQ(*first.intern("aten::add"), text);
    EXPECT_NE(*first.intern(""), text);
    frame = *first.frame(text, text, 12);
    EXPECT_NE(*first.frame(text, text, 13), frame);
    stack = *first.stack(0, frame);
    EXPECT_NE(*first.stack(stack, frame), stack);
  }
  TraceWriter second = writer(reopen_trace(path_));
  EXPECT_EQ(*second.intern("aten::add"), text);
  EXPECT_EQ(*second.frame(text, text, 12), frame);
  EXPECT_EQ(*second.stack(0, frame), stack);
  EXPECT_GT(second.reserve_string(), text);
  EXPECT_GT(second.reserve_stack(), stack);
}

TEST_F(TraceWriterTest, ARowIsWrittenAgainUnderItsId) {
  TraceWriter w = writer(create_trace(path_));
  StorageRow row;
  row.id = 4;
  row.bytes = 100;
  row.first_seen = true;
  row.birth.thread = 0;
  row.span.from = {5, 50};
  check(w.write(row));
  EXPECT_EQ(integer(w.database(),
                    "SELECT to_seq IS NULL AND to_ns IS NULL AND thread = 0 AND operator IS NULL FROM"
                    " storage WHERE id = 4"),
            1);
  row.span.to = {9, 90};
  check(w.write(row));
  EXPECT_EQ(integer(w.database(), "SELECT to_seq * 100 + to_ns FROM storage"), 990);
}

TEST_F(TraceWriterTest, ManyRowsAreWrittenAsOneByOne) {
  const auto rows_of = [](std::int64_t count) {
    std::vector<MarkRow> rows;
    for (std::int64_t i = 1; i <= count; ++i) {
      MarkRow row;
      row.id = i < count ? i : 1;  // the last one is a later state of the first
      row.kind = i % 2 == 0 ? "step" : "user";
      row.value = i % 3 == 0 ? std::optional<std::int64_t>() : i;
      row.span.from = {i, 10 * i};
      rows.push_back(row);
    }
    return rows;
  };
  const std::string all = "SELECT group_concat(id || kind || coalesce(value, '-') || from_seq || from_ns) FROM mark";
  for (const std::int64_t count : {0, 1, 7, 8, 9, 16, 29}) {
    TraceWriter at_once = writer(create_trace(path_ + std::to_string(count)));
    TraceWriter one_by_one = writer(create_trace(path_ + "1" + std::to_string(count)));
    const std::vector<MarkRow> rows = rows_of(count);
    check(at_once.write(std::span<const MarkRow>(rows)));
    for (const MarkRow& row : rows) check(one_by_one.write(row));
    const std::size_t expected = count < 2 ? static_cast<std::size_t>(count) : static_cast<std::size_t>(count - 1);
    EXPECT_EQ(count_rows(at_once.database(), "SELECT id FROM mark"), expected);
    Expected<Statement> one = at_once.database().prepare(all), other = one_by_one.database().prepare(all);
    EXPECT_TRUE(*one->step() && *other->step());
    EXPECT_EQ(one->text(0), other->text(0)) << count;
  }
}

TEST_F(TraceWriterTest, ABlockThatWaitsSaysUntilWhen) {
  TraceWriter w = writer(create_trace(path_));
  BlockRow row;
  row.id = 4;
  row.span = {{4, 40}, {9, 90}};
  check(w.write(row));
  EXPECT_EQ(integer(w.database(), "SELECT wait_seq_length IS NULL AND wait_ns_length IS NULL FROM block"), 1);
  row.waits = true;
  check(w.write(row));
  EXPECT_EQ(integer(w.database(), "SELECT wait_seq_length = 0 AND done_seq IS NULL AND done_ns IS NULL FROM block"), 1);
  row.done = {12, 500};
  check(w.write(row));
  EXPECT_EQ(integer(w.database(), "SELECT done_seq * 1000 + done_ns FROM block"), 12'500);
}

TEST_F(TraceWriterTest, ReservedTextComesLater) {
  TraceWriter w = writer(create_trace(path_));
  const RowId id = w.reserve_string();
  EXPECT_NE(*w.intern("other"), id);
  check(w.define_string(id, "late"));
  EXPECT_EQ(*w.intern("late"), id);
}

TEST_F(TraceWriterTest, TextsThatAreTooLongAreCut) {
  TraceWriter w = writer(create_trace(path_));
  const std::string longest(kLongestText, 'x');
  const RowId id = *w.intern(longest + "y");
  EXPECT_EQ(*w.intern(longest), id);
  const RowId other = w.reserve_string();
  check(w.define_string(other, std::string(2 * kLongestText, 'z')));
  EXPECT_EQ(integer(w.database(), "SELECT max(length(text)) FROM string"), kLongestText);
}

/// A trace with rows in most tables: one defect release with its census, one step.
void write_small_trace(TraceWriter& w) {
  ASSERT_TRUE(w.begin().ok());
  ASSERT_TRUE(w.set_meta(meta::kState, "finished").ok());
  const RowId file = *w.intern("model.py");
  const RowId name = *w.intern("forward");
  const RowId stack = *w.stack(*w.stack(0, *w.frame(file, name, 3)), *w.frame(file, name, 9));
  ASSERT_TRUE(w.write(ThreadRow{1, 100, name, {1, 10}}).ok());
  ASSERT_TRUE(w.write(OperatorRow{1, 1, 0, *w.intern("aten::empty"), "function", 1, {{2, 20}, {6, 60}}}).ok());
  const Place place{1, 1, stack};
  ASSERT_TRUE(w.write(BlockRow{1, 0xD0, 4096, std::nullopt, 1, place, {}, {{3, 30}, {}}}).ok());
  BlockRow waited{2, 0xD1, 64, 1, 0, place, place, {{4, 40}, {5, 50}}};
  waited.waits = true;
  waited.done = {8, 80};
  ASSERT_TRUE(w.write(waited).ok());
  ASSERT_TRUE(w.write(StorageRow{1, 0xB0, 4096, true, place, {}, 0, {{4, 40}, {}}}).ok());
  ASSERT_TRUE(w.write(TensorRow{1, 1, 0xA0, 1, place, {{4, 40}, {}}}).ok());
  MarkRow step;
  step.id = 1;
  step.kind = "step";
  step.value = 0;
  step.span = {{1, 10}, {9, 90}};
  ASSERT_TRUE(w.write(step).ok());
  MarkRow phase = step;
  phase.id = 2;
  phase.kind = "phase";
  phase.name = name;
  phase.value.reset();
  ASSERT_TRUE(w.write(phase).ok());
  MarkRow release;
  release.id = 3;
  release.kind = "release";
  release.graph = release.key = 0;
  release.storage = 1;
  release.bytes = release.bytes_after = release.bytes_settled = 4096;
  release.settled = {8, 80};
  release.flags = "final,metadata_only";
  release.span = {{6, 60}, {7, 70}};
  ASSERT_TRUE(w.write(release).ok());
  MarkRow census = release;
  census.id = 4;
  census.kind = "census";
  census.trigger = "release";
  census.parent = 3;
  census.flags.reset();
  ASSERT_TRUE(w.write(census).ok());
  MarkRow read = release;
  read.id = 5;
  read.kind = "read";
  read.parent = 3;
  ASSERT_TRUE(w.write(read).ok());
  IntervalRow interval;
  interval.id = 1;
  interval.step = 0;
  interval.steps = 1;
  interval.kept = Kept::kAll;
  interval.span = {{0, 0}, {9, 90}};
  ASSERT_TRUE(w.write(interval).ok());
  IntervalCurveRow curve;
  curve.interval = 1;
  curve.device = "cpu";
  ASSERT_TRUE(w.write(curve).ok());
  ASSERT_TRUE(w.write(SampleRow{1, 4, "tensor", 1, 1, 2, 1, 1}).ok());
  ASSERT_TRUE(w.write(ResidentRow{1, {9, 90}, 8192, 4096, 0, 4096, {}}).ok());
  ASSERT_TRUE(w.write(ScanRow{.id = 1, .from_seq = 9, .from_ns = 90, .to_ns = 91}).ok());
  ASSERT_TRUE(w.write(CollectionRow{.scan = 1, .path = name, .type = name, .alike = 1, .entries = 2}).ok());
  ASSERT_TRUE(w.write(GpuMemoryRow{1, 90, 0, 8 << 20, 64 << 20, {}, 2 << 20}).ok());
  EdgeRow edge;
  edge.id = 1;
  edge.census = 4;
  edge.storage = 1;
  edge.held = "object";
  edge.holder = "local";
  edge.name = name;
  edge.confidence = "certain";
  edge.span.from = {8, 80};
  ASSERT_TRUE(w.write(edge).ok());
  ASSERT_TRUE(w.write(DiagnosticRow{1, {9, 90}, "note", name}).ok());
  ASSERT_TRUE(w.write(LossRow{1, "no_room", 2, 9, 9, 90}).ok());
  ASSERT_TRUE(w.write(SourceLineRow{file, 1, file, 2, name, name}).ok());
  ASSERT_TRUE(w.write(SourceRow{0, file, "text\n"}).ok());
  ASSERT_TRUE(w.commit().ok());
}

TEST_F(TraceWriterTest, EveryQueryOfTheSchemaPageFindsSomething) {
  TraceWriter w = writer(create_trace(path_));
  write_small_trace(w);
  check(finish_trace(w.database()));
  Expected<Database> trace = open_trace(path_);
  ASSERT_TRUE(trace.ok());

  std::ifstream file(std::string(DCMT_SOURCE_DIR) + "/docs/schema.md");
  std::string line;
  std::string sql;
  bool inside = false;
  int queries = 0;
  while (std::getline(file, line)) {
    if (line == "```sql") {
      inside = true;
      sql.clear();
    } else if (inside && line == "```") {
      inside = false;
      ++queries;
      EXPECT_GT(count_rows(*trace, sql), 0u) << sql;
    } else if (inside) {
      sql += line + "\n";
    }
  }
  EXPECT_GE(queries, 8);
}

}  // namespace
}  // namespace dcmt

#include "trace/sql/row_io.h"

#include <gtest/gtest.h>

#include <utility>

#include "trace/sql/schema.h"
#include "trace/tables/tables.h"

namespace dcmt {
namespace {

class RowIo : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(database_.execute(create_sql()).ok()); }

  /// The row as it is read after it was written.
  template <class Row>
  Row written(const Row& row, const std::string& condition) {
    Expected<Statement> insert = database_.prepare(insert_sql(Row::kTable, columns_of<Row>()));
    EXPECT_TRUE(insert.ok() && insert_row(*insert, row).ok());
    const std::string name(Row::kTable.name);
    EXPECT_EQ(count("SELECT count(*) FROM " + name + " WHERE " + condition), 1) << name;
    Row read;
    EXPECT_TRUE(each_row_of<Row>(database_, "", [&](const Row& each) { read = each; }).ok());
    return read;
  }
  std::int64_t count(const std::string& sql) {
    std::int64_t number = -1;
    EXPECT_TRUE(each_row(database_, sql, [&](const Statement& row) { number = row.integer(0); }).ok());
    return number;
  }

  Database database_ = std::move(*Database::open(":memory:", OpenMode::kCreate));
};

TEST_F(RowIo, OfABlock) {
  BlockRow row{40, 4096, 100, 1, 30, {0, 20, 5}, {2, 38, 6}, {{39, 390}, {50, 500}}, 3, 7, true, {60, 600}};
  BlockRow read = written(row,
                          "storage_back = 10 AND storage = 30 AND operator = 20 AND free_operator = 38 AND late = 1 AND"
                          " to_seq = 50 AND to_ns = 500 AND device = 'cuda:1' AND done_seq = 60 AND done_ns = 600");
  EXPECT_EQ(read.storage, 30);
  EXPECT_EQ(read.birth.thread, 0);
  EXPECT_EQ(read.birth.operator_id, 20);
  EXPECT_EQ(read.free.stack, 6);
  EXPECT_EQ(read.span.from.seq, 39);
  EXPECT_EQ(read.span.to.ns, 500);
  EXPECT_EQ(read.done.seq, 60);
  EXPECT_TRUE(read.waits);

  row = {};
  row.id = 40;
  row.span.from = {40, 400};
  read = written(row,
                 "gpu IS NULL AND device = 'cpu' AND storage IS NULL AND thread IS NULL AND stack IS NULL AND"
                 " to_seq IS NULL AND stream IS NULL AND owner IS NULL AND wait_seq_length IS NULL");
  EXPECT_FALSE(read.gpu || read.birth.thread || read.stream || read.waits || read.span.to.set() || read.done.set());

  row.span.to = {50, 500};
  row.waits = true;
  read = written(row, "wait_seq_length = 0 AND done_seq IS NULL");
  EXPECT_TRUE(read.waits && !read.done.set());
}

TEST_F(RowIo, OfAnOperatorAndATensor) {
  EXPECT_EQ(written(OperatorRow{9, 1, 4, 2, "backward", 5, {{9, 90}, {}}}, "scope = 'backward' AND parent = 4").scope,
            "backward");
  EXPECT_EQ(written(TensorRow{9, 9, 1, 0, {}, {{9, 90}, {}}}, "first IS NULL AND object = 9").object, 9);
  EXPECT_EQ(written(TensorRow{9, 3, 1, 0, {}, {{9, 90}, {}}}, "first = 3 AND object = 3").object, 3);
}

TEST_F(RowIo, OfAMark) {
  MarkRow row;
  row.id = 1;
  row.kind = "release";
  row.graph = 0;
  row.flags = "final";
  row.settled = {7, 70};
  row.trigger = "";
  row.dtype = 3;
  row.span = {{5, 50}, {6, 60}};
  MarkRow read = written(row, "trigger IS NULL AND name IS NULL AND key IS NULL AND settled_seq = 7 AND dtype = 3");
  const std::string_view kind = read.kind;
  EXPECT_EQ(kind, "release") << "is static text";
  EXPECT_EQ(read.graph, 0);
  EXPECT_EQ(read.flags, "final");
  EXPECT_EQ(read.settled.ns, 70);
  row.settled = {};
  row.flags = "";
  read = written(row, "settled_seq IS NULL AND settled_ns IS NULL AND flags IS NULL");
  EXPECT_FALSE(read.settled.set() || read.flags);
}

TEST_F(RowIo, OfSums) {
  EXPECT_EQ(written(IntervalRow{1, {}, 0, Kept::kPeak, 0, 0, 0, 0, 0, 0, 0, {{0, 0}, {9, 90}}}, "kept = 'peak'").kept,
            Kept::kPeak);
  EXPECT_EQ(written(IntervalRow{1, 4, 0, Kept::kNo, 0, 0, 0, 0, 0, 0, 0, {{0, 0}, {9, 90}}}, "kept IS NULL").step, 4);
  EXPECT_EQ(written(LossRow{1, "in_flight", 2, 3, 4, 5}, "from_ns IS NULL").reason, "in_flight");
  EXPECT_EQ(written(ContainerRow{1, 2, 0, 3, 4, 5, 6, 0, 0}, "place IS NULL AND small_bytes = 0").last_scan, 6);
  EXPECT_TRUE(written(ScanRow{1, 2, 3, 4, 5, 6, 7, 8, true}, "collecting = 1").collecting);
}

TEST_F(RowIo, EmptyTextIsAText) {
  written(StringRow{1, ""}, "text = ''");
  written(SourceRow{0, 1, ""}, "id = 1 AND text = ''");
}

}  // namespace
}  // namespace dcmt
